"""The samples of a run's GPUs, reduced to what a reader of its latencies must know.

Clocks are compared under load alone (a utilisation of 30 % and more, not idling by the driver's word), as medians of ten parts
of it. A reason of the driver counts where the clock of its sample is lower than the GPU could have had: on an H200 the bit of
the power cap came with clocks lower by 2 to 4 % in bursts and by 28 % under steady load, so a statement has both clocks.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Final

from harness.foreign_files import FileFault, read_json
from harness.machine.gpu import OTHERS
from harness.machine.gpu_sampler import COST
from harness.store.machine_facts import GpuUse

LOADED_PERCENT: Final = 30
PARTS: Final = 10
LEAST_LOADED: Final = 100
"""Fewest samples under load to say anything of the clock: two seconds at 50 Hz."""
USED_PERCENT: Final = 10
"""Share of the GPU from which another program counts: a desktop takes a few percent."""
IDLE: Final = 0x1
SLOWED: Final[Mapping[str, int]] = MappingProxyType({"heat": 0x20 | 0x40, "power": 0x4 | 0x80 | 0x200, "hardware": 0x8})
"""Cause → the bits of NVML's reasons for a clock (nvml.h, nvmlClocksEventReasons). `hardware` is the general bit, which the
driver sets together with others: it counts where it is alone."""
_ANY: Final = SLOWED["heat"] | SLOWED["power"] | SLOWED["hardware"]
LOWERED: Final = 0.99
"""A clock is lower from here on, as a share of the highest. A choice: a step of the clock is 15 MHz of some 2,000, and no
latency shows one."""
_UTILISATION: Final = ".utilisation_percent"
_SHARE: Final = ".sm_percent"
_OF_A_LOOK: Final = (_SHARE, ".temperature_c", ".memory_clock_mhz")
"""Columns of a look at the processes. The driver lists those that used the GPU since the last look: of an idle GPU it lists
none, and the other two are read with them."""


def use_of_cards(samples_file: Path, facts: Mapping[str, str | int | float] = MappingProxyType({})) -> dict[str, GpuUse]:
    """GPU → its use, of a file of samples; empty without a GPU. Incomplete lines are left out. `facts`: of the machine's GPUs
    before."""
    by_card: dict[str, list[Mapping[str, float]]] = {}
    for sample in _samples(samples_file):
        for name in {column.split(".", 1)[0] for column in sample if column.startswith("gpu")} - {COST.split(".", 1)[0]}:
            by_card.setdefault(name, []).append(sample)
    chosen = {name: fact for name in by_card if isinstance(fact := facts.get(f"{name}_chosen_sm_clock_mhz"), int | float)}
    return {name: gpu_use_of(name, samples, chosen.get(name, 0)) for name, samples in sorted(by_card.items())}


def gpu_use_of(name: str, samples: Sequence[Mapping[str, float]], chosen_mhz: float = 0) -> GpuUse:
    """The use of the GPU of this name. `chosen_mhz`: the clock that was chosen for it; 0 where that is not known."""

    def column(what: str, of: Iterable[Mapping[str, float]] = samples) -> list[float]:
        return [sample[key] for sample in of if (key := f"{name}.{what}") in sample]

    loaded = [sample for sample in samples if under_load(name, sample)]
    highest_mhz = max((*column("sm_clock_mhz"), chosen_mhz))
    clocks = [(s[f"{name}.sm_clock_mhz"], int(s[f"{name}.clock_reasons"])) for s in loaded if _has_clock(name, s)]
    lowered = [(mhz, reasons if mhz < LOWERED * highest_mhz else 0) for mhz, reasons in clocks]
    slowed = _slowed([reasons for _, reasons in lowered])
    costs = sorted(sample[COST] for sample in samples if COST in sample)
    intervals = [b - a for a, b in pairwise([sample["at_ns"] for sample in samples]) if b > a]
    looks = sum(any(key.startswith(f"{name}.") and key.endswith(_OF_A_LOOK) for key in sample) for sample in samples)
    of_processes = any(key.startswith(f"{name}.") and key.endswith(_SHARE) for sample in samples for key in sample)
    return GpuUse(
        samples=len(samples),
        rate_hz=round(1e9 / median(intervals), 1) if intervals else None,
        sampling_ms=(median(costs), costs[min(len(costs) - 1, round(0.99 * len(costs)))]) if costs else None,
        loaded=len(loaded),
        sm_clock_mhz=_parts(column("sm_clock_mhz", loaded)),
        slowed=slowed,
        slowed_sm_clock_mhz=(median(mhz for mhz, reasons in lowered if reasons & _ANY), highest_mhz) if slowed else None,
        most_temperature_c=max(column("temperature_c"), default=None),
        most_power_w=max(column("power_w"), default=None),
        most_memory_mib=max(column("memory_mib"), default=None),
        others_share=_share(column(f"{OTHERS}{_SHARE}"), looks) if of_processes else None,
    )


def under_load(name: str, sample: Mapping[str, float]) -> bool:
    """True if this GPU computed when the sample was taken."""
    idle = int(sample.get(f"{name}.clock_reasons", 0)) & IDLE
    return sample.get(f"{name}{_UTILISATION}", 0) >= LOADED_PERCENT and not idle


def _has_clock(name: str, sample: Mapping[str, float]) -> bool:
    return f"{name}.sm_clock_mhz" in sample and f"{name}.clock_reasons" in sample


def _parts(clocks: Sequence[float]) -> tuple[float, ...]:
    """The medians of ten parts; empty if there are too few."""
    if len(clocks) < LEAST_LOADED:
        return ()
    bounds = [round(k * len(clocks) / PARTS) for k in range(PARTS + 1)]
    return tuple(round(median(clocks[a:b]), 1) for a, b in pairwise(bounds))


def _slowed(reasons: Sequence[int]) -> dict[str, float]:
    """Cause → its share of these samples; only those that occurred, and nothing if there are too few."""
    if len(reasons) < LEAST_LOADED:
        return {}
    shares = {}
    for cause, bits in SLOWED.items():
        others = 0 if cause != "hardware" else SLOWED["heat"] | SLOWED["power"]
        shares[cause] = round(sum(bool(r & bits) and not r & others for r in reasons) / len(reasons), 4)
    return {cause: share for cause, share in shares.items() if share}


def _share(used: Sequence[float], of: int) -> float:
    return round(sum(value >= USED_PERCENT for value in used) / of, 4)


def _samples(path: Path) -> Iterator[Mapping[str, float]]:
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            # Nine of ten machines have no GPU, and an hour of their samples need not be read as JSON. An agent may be called
            # `gpu-box`, so the name of a column alone says nothing.
            if f'"{COST}"' not in line:
                continue
            try:
                sample = read_json(line)
            except FileFault:
                continue
            if isinstance(sample, dict) and isinstance(sample.get("at_ns"), int):
                yield sample
