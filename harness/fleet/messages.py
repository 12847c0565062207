"""What a task is told and what it says back: plain data, because it travels between machines and Python processes."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ShardJob:
    """One shard, to be played once by whoever takes it. `plan`: the fixed plan as JSON."""

    plan: str
    shard: int
    of: int
    cwd: str
    """Where paths of the plan begin, if the node has that folder."""
    elsewhere: tuple[str, ...] = ()
    """Sessions that are kept already."""

    @property
    def name(self) -> str:
        """`2/8`."""
        return f"{self.shard}/{self.of}"


@dataclass(frozen=True, slots=True)
class JudgeJob:
    """One shard of a judging. `arguments`: of `harness judge`, without the run; `known`: answers that are kept, as rows (key,
    verdict). The run itself is a pack beside the job, because it is the same for all shards."""

    arguments: tuple[str, ...]
    shard: int
    of: int
    cwd: str
    known: tuple[tuple[str, bytes], ...] = ()

    @property
    def name(self) -> str:
        """`2/8`."""
        return f"{self.shard}/{self.of}"


Job = ShardJob | JudgeJob


@dataclass(frozen=True, slots=True)
class Said:
    """A line of progress."""

    line: str


@dataclass(frozen=True, slots=True)
class Played:
    """A session is finished; `pack` holds it (`harness.fleet.shipping`)."""

    session: str
    pack: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    """Answers of judges have come, as rows of (key, verdict)."""

    rows: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class NotPlayedThere:
    """A session that a shard left out, because its agent could not be kept alive."""

    context: str
    agent: str
    condition: str
    detail: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The shard's process has ended. `error`: its one line, empty where it played to the end; `pack`: all but the recordings
    that were sent before, None where it never began; `died`: it said no last word, so another may do what it left."""

    error: str
    pack: bytes | None
    died: bool = False
    not_played: tuple[NotPlayedThere, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Lost:
    """The task is gone with its process or its machine; made where it was waited for."""

    reason: str


Message = Said | Played | Answered | Ended
