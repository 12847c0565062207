"""Who plays what: each shard is somebody's task until all of it is kept, whoever is lost on the way.

A machine that is lost takes the call with it that it was playing. What it had finished has arrived, so its shard is given to
another machine with the names of those sessions, and only the rest is played. A shard is given up when it was lost so often in
a row without one session coming of it: then it is the shard that ends its machines, and not chance.

A shard whose process gives a reason (an agent that cannot start, a weight that cannot be had) is not tried again: the reason is
told, the other shards go on, and the run can be gone on with once it is mended.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from harness.fleet.cluster import Needs, Stream
from harness.fleet.gathering import Gathering
from harness.fleet.job import Ended, Lost, Message, NotPlayedThere, Played, Said, ShardJob
from harness.progress import RunProgress
from harness.wording import counted

FRUITLESS: Final = 3
"""Losses in a row without a session. Two can be one machine that takes a minute to be known as lost, and is given work
again."""
LOOK_S: Final = 1.0
"""How long Ctrl-C may go unseen."""
ENDS_WITHIN_S: Final = 20.0
"""A run that is stopped ends within five seconds, its worker a little later; then Ray ends what is left."""

Task = Callable[[ShardJob], Iterator[Message]]


class Cluster(Protocol):
    """What playing asks of a cluster (`harness.fleet.cluster.RayCluster`)."""

    def begin(self, task: Task, job: ShardJob, needs: Needs, /) -> Stream: ...
    def messages(self, streams: Sequence[Stream], within_s: float, /) -> list[tuple[Stream, Message | Lost | None]]: ...
    def cancel(self, streams: Sequence[Stream], within_s: float, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the shards ended. `errors`: shard → its one line; `lost`: tasks that were lost on the way, and made good or given
    up."""

    errors: Mapping[int, str]
    not_played: tuple[NotPlayedThere, ...]
    lost: int


@dataclass
class _Shard:
    number: int
    sessions: frozenset[str]
    before: int = 0
    """Of its sessions, how many were kept when it was given out."""
    fruitless: int = 0
    over: bool = False


@dataclass
class _Playing:
    cluster: Cluster
    task: Task
    job: Callable[[int, tuple[str, ...]], ShardJob]
    gathering: Gathering
    needs: Needs
    progress: RunProgress
    of: int
    under_way: dict[Stream, _Shard] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    not_played: list[NotPlayedThere] = field(default_factory=list)
    lost: int = 0

    def give(self, shard: _Shard) -> None:
        kept = shard.sessions & self.gathering.finished
        shard.before = len(kept)
        stream = self.cluster.begin(self.task, self.job(shard.number, tuple(sorted(kept))), self.needs)
        self.under_way[stream] = shard

    def take(self, stream: Stream, message: Message | Lost | None) -> None:
        shard = self.under_way[stream]
        match message:
            case Said(line):
                self._say(shard, line)
            case Played(session, pack):
                self.gathering.take(pack)
                self.progress.step(f"shard {shard.number} · {session}")
            case Ended(error, pack, died, not_played):
                if pack is not None:
                    self.gathering.take(pack)
                self.not_played += not_played
                shard.over = not died
                if died:
                    self._lost(stream, shard, error)
                elif error:
                    self.errors[shard.number] = error
                    self.progress.note(f"shard {shard.number}/{self.of}: {error}")
            case Lost(reason):
                self._lost(stream, shard, reason)
            case None:
                del self.under_way[stream]
                if not shard.over:
                    self.under_way[stream] = shard
                    self._lost(stream, shard, "it ended without a last word")

    def stop(self) -> None:
        """Cancel what is under way, and keep what had been finished."""
        self.cluster.cancel(list(self.under_way), ENDS_WITHIN_S)
        while self.under_way:
            came = self.cluster.messages(list(self.under_way), 0.0)
            for stream, message in came:
                if isinstance(message, Played):
                    self.gathering.take(message.pack)
                elif message is None or isinstance(message, Lost):
                    del self.under_way[stream]
            if not came:
                return

    def _lost(self, stream: Stream, shard: _Shard, reason: str) -> None:
        self.under_way.pop(stream, None)
        if shard.over:
            return
        self.lost += 1
        kept = len(shard.sessions & self.gathering.finished)
        shard.fruitless = 0 if kept > shard.before else shard.fruitless + 1
        left = len(shard.sessions) - kept
        self.progress.note(f"shard {shard.number}/{self.of}: lost ({reason}); {counted(left, 'session')} to play again")
        if not left:
            return
        if shard.fruitless >= FRUITLESS:
            self.errors[shard.number] = f"lost {FRUITLESS} times in a row without finishing a session ({reason})"
        else:
            self.give(shard)

    def _say(self, shard: _Shard, line: str) -> None:
        # Steps are told with the place that they have in their shard; a phase only says what is being done.
        if line.startswith("  "):
            self.progress.note(f"  shard {shard.number}/{self.of}: {line.strip()}")
        else:
            self.progress.status(f"shard {shard.number}/{self.of}: {line}")


def play(
    cluster: Cluster,
    task: Task,
    shards: Mapping[int, frozenset[str]],
    job: Callable[[int, tuple[str, ...]], ShardJob],
    gathering: Gathering,
    needs: Needs,
    progress: RunProgress,
    *,
    of: int,
) -> Outcome:
    """Play the shards until each is kept, has given a reason, or is given up.

    Args:
        shards: number → the ids of its sessions.
        job: a shard's number, and the ids of those that are kept → what its task is told.

    Raises:
        KeyboardInterrupt: the tasks have been cancelled, and what had been finished is kept.
    """
    playing = _Playing(cluster, task, job, gathering, needs, progress, of)
    todo = {number: sessions for number, sessions in shards.items() if sessions - gathering.finished}
    progress.phase(f"Calls on {counted(len(todo), 'shard')}", sum(len(s - gathering.finished) for s in todo.values()))
    try:
        for number, sessions in todo.items():
            playing.give(_Shard(number, sessions))
        while playing.under_way:
            for stream, message in cluster.messages(list(playing.under_way), LOOK_S):
                playing.take(stream, message)
    except BaseException:
        progress.phase("Stopping the shards")
        playing.stop()
        raise
    return Outcome(dict(playing.errors), tuple(playing.not_played), playing.lost)
