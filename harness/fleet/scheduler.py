"""Who does what: each shard is somebody's task until all of it is kept, whoever is lost on the way.

A machine that is lost takes with it what it was doing at that moment, a call or a question. What it had finished has arrived,
so its shard is given to another machine with the names of that, and only the rest is done. A shard is given up when it was lost
so often in a row without anything coming of it: then it is the shard that ends its machines, and not chance.

A shard whose process gives a reason (an agent that cannot start, a weight that cannot be had) is not tried again: the reason is
told, the other shards go on, and the run can be gone on with once it is mended.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from harness.fleet.cluster import Needs, Stream
from harness.fleet.messages import Answered, Ended, Job, Lost, Message, NotPlayedThere, Played, Said
from harness.progress import RunProgress

FRUITLESS: Final = 3
"""Losses in a row without a result. Two can be one machine that takes a minute to be known as lost, and is given work again."""
LOOK_S: Final = 1.0
"""How long Ctrl-C may go unseen."""
ENDS_WITHIN_S: Final = 20.0
"""A run that is stopped ends within five seconds, its worker a little later; then Ray ends what is left."""

Task = Callable[..., Iterator[Message]]
"""Of a job, and of what all jobs share."""


class Cluster(Protocol):
    """What is asked of a cluster (`harness.fleet.cluster.RayCluster`)."""

    def begin(self, task: Task, job: Job, needs: Needs, /, *shared: Any) -> Stream: ...
    def messages(self, streams: Sequence[Stream], within_s: float, /) -> list[tuple[Stream, Message | Lost | None]]: ...
    def cancel(self, streams: Sequence[Stream], within_s: float, /) -> None: ...


class Ledger(Protocol):
    """What is kept of each shard, and so what is left of it."""

    def job(self, shard: int) -> Job:
        """What the task of a shard is told now."""
        ...

    def kept(self, shard: int) -> int:
        """How much of it has arrived."""
        ...

    def left(self, shard: int) -> str:
        """What is left of it, in words; empty where nothing is."""
        ...

    def take(self, shard: int, result: Played | Answered) -> str:
        """Keep what has arrived, and call it by name."""
        ...

    def end(self, shard: int, end: Ended) -> None:
        """Keep what came with its last message."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the shards ended. `errors`: shard → its one line; `lost`: tasks that were lost on the way, made good or given up."""

    errors: Mapping[int, str]
    not_played: tuple[NotPlayedThere, ...]
    lost: int


@dataclass
class _Shard:
    number: int
    before: int = 0
    """How much of it was kept when it was given out."""
    fruitless: int = 0
    over: bool = False


@dataclass
class _GivingOut:
    cluster: Cluster
    task: Task
    ledger: Ledger
    needs: Needs
    progress: RunProgress
    of: int
    shared: tuple[Any, ...] = ()
    under_way: dict[Stream, _Shard] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    not_played: list[NotPlayedThere] = field(default_factory=list)
    lost: int = 0

    def give(self, shard: _Shard) -> None:
        shard.before = self.ledger.kept(shard.number)
        stream = self.cluster.begin(self.task, self.ledger.job(shard.number), self.needs, *self.shared)
        self.under_way[stream] = shard

    def take(self, stream: Stream, message: Message | Lost | None) -> None:
        shard = self.under_way[stream]
        match message:
            case Said(line):
                self._say(shard, line)
            case Played() | Answered():
                self.progress.step(f"shard {shard.number} · {self.ledger.take(shard.number, message)}")
            case Ended(error, _, died, not_played):
                self.ledger.end(shard.number, message)
                self.not_played += not_played
                shard.over = not died
                if died:
                    self._lost(stream, shard, error)
                elif error:
                    self.errors[shard.number] = error
                    self.progress.note(f"shard {shard.number}/{self.of}: {error}")
            case Lost(reason):
                self._lost(stream, shard, reason)
            case None if shard.over:
                del self.under_way[stream]
            case None:
                self._lost(stream, shard, "it ended without a last word")

    def stop(self) -> None:
        """Cancel what is under way, and keep what had been finished."""
        self.cluster.cancel(list(self.under_way), ENDS_WITHIN_S)
        while self.under_way:
            came = self.cluster.messages(list(self.under_way), 0.0)
            for stream, message in came:
                if isinstance(message, Played | Answered):
                    self.ledger.take(self.under_way[stream].number, message)
                elif message is None or isinstance(message, Lost):
                    del self.under_way[stream]
            if not came:
                return

    def _lost(self, stream: Stream, shard: _Shard, reason: str) -> None:
        self.under_way.pop(stream, None)
        if shard.over:
            return
        self.lost += 1
        shard.fruitless = 0 if self.ledger.kept(shard.number) > shard.before else shard.fruitless + 1
        left = self.ledger.left(shard.number)
        self.progress.note(f"shard {shard.number}/{self.of}: lost ({reason}); {left or 'nothing'} left to do")
        if not left:
            return
        if shard.fruitless >= FRUITLESS:
            self.errors[shard.number] = f"lost {FRUITLESS} times in a row with nothing done ({reason})"
        else:
            self.give(shard)

    def _say(self, shard: _Shard, line: str) -> None:
        # Steps are told with the place that they have in their shard; a phase only says what is being done.
        if line.startswith("  "):
            self.progress.note(f"  shard {shard.number}/{self.of}: {line.strip()}")
        else:
            self.progress.status(f"shard {shard.number}/{self.of}: {line}")


def give_out(
    cluster: Cluster,
    task: Task,
    ledger: Ledger,
    needs: Needs,
    progress: RunProgress,
    *,
    of: int,
    shared: tuple[Any, ...] = (),
) -> Outcome:
    """Give out the shards of which something is left, until each is kept, has given a reason, or is given up.

    Args:
        shared: what every task is given beside its job.

    Raises:
        KeyboardInterrupt: the tasks have been cancelled, and what had been finished is kept.
    """
    giving = _GivingOut(cluster, task, ledger, needs, progress, of, shared)
    try:
        for number in range(1, of + 1):
            if ledger.left(number):
                giving.give(_Shard(number))
        while giving.under_way:
            for stream, message in cluster.messages(list(giving.under_way), LOOK_S):
                giving.take(stream, message)
    except BaseException:
        progress.phase("Stopping the shards")
        giving.stop()
        raise
    return Outcome(dict(giving.errors), tuple(giving.not_played), giving.lost)
