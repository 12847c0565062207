"""`harness doctor`: checks of this machine before a measurement, in the order of the report, with a remedy for each problem.

A check changes nothing; one that fails reports that and does not stop the others. Bounds are the same as for a run.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from harness.doctor import gpus, installed, processor
from harness.doctor import storage_and_ports as room
from harness.doctor.result import Finding

Look = Callable[[], list[Finding]]

LOOKS: Final[Mapping[str, Look]] = MappingProxyType(
    {
        "versions": installed.versions,
        "processor": processor.processor,
        "memory": processor.memory,
        "other programs": processor.pressure,
        "clock": processor.clock,
        "models": installed.models,
        "GPU": gpus.gpus,
        "CUDA": gpus.cuda,
        "sound device": installed.sound,
        "ports": room.ports,
        "disk": room.disk,
        "calibration": installed.calibration,
    }
)


def examine(looks: Mapping[str, Look] = LOOKS, tell: Callable[[str], None] = lambda _: None) -> list[Finding]:
    """All findings. `tell` is called with the name of each check before it."""
    found: list[Finding] = []
    for name, look in looks.items():
        tell(name)
        try:
            found += look()
        except Exception as error:  # a machine that breaks one check must not hide the results of the others
            said = " ".join(str(error).split()) or type(error).__name__
            found.append(Finding(name, "disturbs", f"could not be checked ({said})", "report it, with --debug"))
    return found
