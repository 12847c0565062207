"""What the kernel counted while a call was on: who had the processor, and who waited for it.

Counters only grow, so any stretch of the call is a difference of two samples, and a sample that came late under load takes
nothing from the next. The samples lie in the session's own folder beside the recording: they are raw facts of the call, as
the frames are, and whatever is made of them can be made again.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import UserError

MACHINE_FILE: Final = "machine.json"


@dataclass(frozen=True, slots=True)
class MachineSample:
    """Counters at one instant of the machine's monotonic clock, in ms since some beginning of their own."""

    at_ns: int
    busy_ms: float
    """Processor time of everybody, over all cores."""
    stolen_ms: float
    """What a hypervisor gave to other machines while this one had work, over all cores."""
    agent_ran_ms: float
    """Processor time of the agent's processes, over all cores and threads."""
    agent_waited_ms: float | None
    """How long the agent's threads stood ready to run and did not; None where the kernel does not count it."""
    harness_ran_ms: float
    """Processor time of the harness itself: the run and the caller."""
    stalled_ms: float | None = None
    """How long some thread of the machine waited for a processor (Linux pressure stall information); None where absent."""
    throttled: int | None = None
    """How often a core was slowed down for heat; None where the machine does not say."""
    slowest_mhz: float | None = None
    """The lowest frequency of any core just then; None where the machine does not say."""


@dataclass(frozen=True, slots=True)
class MachineTrack:
    """The samples of one call, oldest first, on a machine of so many cores."""

    cores: int
    samples: tuple[MachineSample, ...]


_Count = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Sample(BaseModel):
    model_config = ConfigDict(extra="forbid")

    at_ns: int
    busy_ms: _Count
    stolen_ms: _Count
    agent_ran_ms: _Count
    agent_waited_ms: _Count | None
    harness_ran_ms: _Count
    stalled_ms: _Count | None
    throttled: int | None
    slowest_mhz: _Count | None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    schema_version: Literal[1] = 1
    cores: Annotated[int, Field(ge=1)]
    samples: list[_Sample]


def save_machine_track(track: MachineTrack, folder: Path) -> None:
    """Write the track into a session's folder."""
    samples = [_Sample.model_validate({n: _rounded(getattr(s, n)) for n in _Sample.model_fields}) for s in track.samples]
    text = _File(cores=track.cores, samples=samples).model_dump_json()
    (folder / MACHINE_FILE).write_text(text, encoding="utf-8")


def load_machine_track(folder: Path) -> MachineTrack | None:
    """Read the track of a session; None where none was kept (an agent elsewhere, an older run).

    Raises:
        UserError: the file is damaged.
    """
    path = folder / MACHINE_FILE
    if not path.exists():
        return None
    try:
        found = _File.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise UserError(f"{path}: damaged ({str(error).splitlines()[0]})") from error
    return MachineTrack(found.cores, tuple(MachineSample(**sample.model_dump()) for sample in found.samples))


def _rounded(value: float | int | None) -> float | int | None:
    return round(value, 2) if isinstance(value, float) else value
