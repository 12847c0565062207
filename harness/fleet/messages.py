"""Jobs and messages of tasks: plain data, because they travel between machines and Python processes."""

from dataclasses import dataclass

from harness.figures.cells import Failure


@dataclass(frozen=True, slots=True)
class _Job:
    shard: int
    of: int
    cwd: str
    """Folder to which the plan's paths are relative, if the node has it."""

    @property
    def name(self) -> str:
        """`2/8`."""
        return f"{self.shard}/{self.of}"


@dataclass(frozen=True, slots=True)
class ShardJob(_Job):
    """One shard, to be played once by one worker. `plan`: the fixed plan as JSON."""

    plan: str
    elsewhere: tuple[str, ...] = ()
    """Sessions that are already stored."""


@dataclass(frozen=True, slots=True)
class JudgeJob(_Job):
    """One shard of a judging. `arguments`: options of `harness judge run`, without the run; `known`: stored answers, as rows
    (key, verdict). The run itself is sent separately as a pack, because it is the same for all shards."""

    arguments: tuple[str, ...]
    known: tuple[tuple[str, bytes], ...] = ()


Job = ShardJob | JudgeJob


@dataclass(frozen=True, slots=True)
class Said:
    """A line of progress."""

    line: str


@dataclass(frozen=True, slots=True)
class Played:
    """A finished session, in `pack` (`harness.fleet.shipping`)."""

    session: str
    pack: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    """New answers of judges, as rows of (key, verdict)."""

    rows: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a shard's process. `error`: its one-line message, empty if it played to the end; `pack`: everything but the
    recordings sent before, None if it never began; `died`: it gave no reason, so another worker may play the rest;
    `not_played`: sessions that it left out, because their agent kept dying."""

    error: str
    pack: bytes | None
    died: bool = False
    not_played: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """The loss of a task with its process or machine; made by the side that waited for it."""

    reason: str


Message = Said | Played | Answered | Ended
