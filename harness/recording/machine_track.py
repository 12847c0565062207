"""The kernel's counters during a call: the use of the processors, and the time spent waiting for them.

Counters only grow, so any stretch of the call is a difference of two samples, and a sample that came late under load does
not change the next. The samples are in the session's own folder beside the recording: they are raw facts of the call, as
the frames are, and everything derived from them can be computed again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.errors import UserError

MACHINE_FILE: Final = "machine.json"


@dataclass(frozen=True, slots=True)
class MachineSample:
    """Counters at one instant of the machine's monotonic clock, in ms since an arbitrary start."""

    at_ns: int
    busy_ms: float
    """Busy time of the processors that the agent may use, by any program, summed."""
    stolen_ms: float
    """Time that a hypervisor gave to other machines while these processors had work, summed."""
    agent_ran_ms: float
    """Processor time of the agent's processes, over all cores and threads."""
    agent_waited_ms: float | None
    """Time that the agent's threads were ready to run and did not; None where the kernel does not count it."""
    harness_ran_ms: float
    """Processor time of the harness itself, the run and the caller, where it was spent on these processors."""
    stalled_ms: float | None = None
    """Time that some process of the agent's control groups waited for a processor, or of the machine where they do not state it
    (Linux pressure stall information); None where absent."""
    throttled: int | None = None
    """Number of times that a core was slowed down for heat; None where the machine does not state it."""
    slowest_mhz: float | None = None
    """The lowest frequency of any core at that instant; None where the machine does not state it."""
    quota_ms: float | None = None
    """Time that a quota stopped the agent's control groups; None where that is not stated, or was not read (an older run)."""
    stolen_by_cpu_ms: tuple[float, ...] = ()
    """`stolen_ms` of each of `MachineTrack.cpus` from which a hypervisor took any time; empty in an older run."""
    reach_ms: float | None = None
    """How long before the sample before this one the waiting that was counted since can have begun: the kernel counts a wait
    when it ends. None in an older run: no longer than all of that waiting."""


@dataclass(frozen=True, slots=True)
class ProgramsTrack:
    """The busiest other programs of a call: the processor time of each, in ms, at some instants. Empty in an older run."""

    at_ns: tuple[int, ...] = ()
    ran_ms: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MachineTrack:
    """The samples of one call, oldest first, and the number of cores."""

    cores: int
    samples: tuple[MachineSample, ...]
    cpus: tuple[int, ...] = ()
    """Numbers of the processors that the agent may use, which the samples cover; empty: the whole machine."""
    stolen_counts_as_run: bool = True
    """True if `agent_ran_ms` and `harness_ran_ms` may contain stolen time; assumed where it was not checked."""
    grain_ms: float = 10.0
    """`busy_ms` may be too large by so much. An older run did not say; of all processors together it was 10 ms."""
    late_ms: float = 0.0
    """`busy_ms` may count so late what ran. Either this or `grain_ms` is 0, by the kind of the clock."""
    programs: ProgramsTrack = ProgramsTrack()


_Count = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_BY_CPU: Final = "stolen_by_cpu_ms"
_FIELDS: Final = tuple(column.name for column in fields(MachineSample) if column.name != _BY_CPU)


class _File(BaseModel):
    """A list for each counter: fifty objects a second would repeat its name every time, at three times the size."""

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal[1, 2, 3] = 1
    """1: counted over the whole machine, without quotas. 2: ten samples a second, without other programs' names."""
    cores: Annotated[int, Field(ge=1)]
    at_ns: list[int]
    busy_ms: list[_Count]
    stolen_ms: list[_Count]
    agent_ran_ms: list[_Count]
    agent_waited_ms: list[_Count | None]
    harness_ran_ms: list[_Count]
    stalled_ms: list[_Count | None]
    throttled: list[int | None]
    slowest_mhz: list[_Count | None]
    quota_ms: list[_Count | None] | None = None
    stolen_by_cpu_ms: list[list[_Count]] | None = None
    """A list for each processor that lost time."""
    cpus: list[Annotated[int, Field(ge=0)]] = Field(default_factory=list)
    stolen_counts_as_run: bool = True
    reach_ms: list[_Count] | None = None
    grain_ms: _Count = 10.0
    late_ms: _Count = 0.0
    programs_at_ns: list[int] = Field(default_factory=list)
    programs: dict[str, list[_Count]] = Field(default_factory=dict)


def save_machine_track(track: MachineTrack, folder: Path) -> None:
    """Write the track into a session's folder."""
    columns = {name: [_rounded(getattr(s, name)) for s in track.samples] for name in _FIELDS}
    by_cpu = [list(of_one) for of_one in zip(*(s.stolen_by_cpu_ms for s in track.samples), strict=True)]
    if None in columns["reach_ms"]:
        del columns["reach_ms"]
    facts = {
        "cores": track.cores,
        "cpus": list(track.cpus),
        "stolen_counts_as_run": track.stolen_counts_as_run,
        "grain_ms": track.grain_ms,
        "late_ms": track.late_ms,
        "programs_at_ns": list(track.programs.at_ns),
        "programs": {name: [_rounded(ms) for ms in ran] for name, ran in track.programs.ran_ms.items()},
    }
    text = _File.model_validate({"schema_version": 3, **facts, **columns, _BY_CPU: by_cpu}).model_dump_json()
    (folder / MACHINE_FILE).write_text(text, encoding="utf-8")


def load_machine_track(folder: Path) -> MachineTrack | None:
    """Read the track of a session; None where none was stored (an agent elsewhere, an older run).

    Raises:
        UserError: the file is damaged.
    """
    path = folder / MACHINE_FILE
    if not path.exists():
        return None
    try:
        found = _File.model_validate_json(path.read_bytes())
        looks = len(found.at_ns)
        columns = (getattr(found, name) or [None] * looks for name in _FIELDS)
        by_cpu = zip(*found.stolen_by_cpu_ms, strict=True) if found.stolen_by_cpu_ms else [()] * looks
        rows = (dict(zip(_FIELDS, row, strict=True)) for row in zip(*columns, strict=True))
        samples = (MachineSample(**row, stolen_by_cpu_ms=tuple(of_each)) for row, of_each in zip(rows, by_cpu, strict=True))
        ran_ms = {name: tuple(ms) for name, ms in found.programs.items() if len(ms) == len(found.programs_at_ns)}
        programs = ProgramsTrack(tuple(found.programs_at_ns), ran_ms)
        return MachineTrack(
            found.cores,
            tuple(samples),
            tuple(found.cpus),
            found.stolen_counts_as_run,
            found.grain_ms,
            found.late_ms,
            programs,
        )
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: damaged ({str(error).splitlines()[0]})") from error


def _rounded(value: float | int | None) -> float | int | None:
    return round(value, 2) if isinstance(value, float) else value
