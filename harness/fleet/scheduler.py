"""The scheduler of a cluster's run: each shard is assigned to a task until all of it is stored, even if machines are lost.

A lost machine loses only its current call or question: its shard is given to another one with a list of what has arrived. A
shard that is lost several times in a row without a result is given up, since the shard itself is the likely cause. One whose
process gives a reason (an agent that cannot start) is not tried again: the others continue, and the run can be resumed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from harness.figures.cells import Failure
from harness.fleet.cluster import Needs, Stream
from harness.fleet.messages import Answered, Ended, Job, Lost, Message, Played, Said
from harness.progress import RunProgress

FRUITLESS: Final = 3
"""Losses in a row without a result. Two can be the same machine, which gets work again before its loss is known."""
LOOK_S: Final = 1.0
"""Longest wait before Ctrl-C is noticed."""
ENDS_WITHIN_S: Final = 20.0
"""Time to stop: a run ends within five seconds, its worker a little later; then Ray ends the rest."""

Task = Callable[..., Iterator[Message]]
"""Called with a job, and with the values that all jobs share."""


class Cluster(Protocol):
    """The interface of a cluster (`harness.fleet.cluster.RayCluster`)."""

    def begin(self, task: Task, job: Job, needs: Needs, /, *shared: Any) -> Stream: ...
    def messages(self, streams: Sequence[Stream], within_s: float, /) -> list[tuple[Stream, Message | Lost | None]]: ...
    def cancel(self, streams: Sequence[Stream], within_s: float, /) -> None: ...


class Ledger(Protocol):
    """The record of what is stored of each shard, and so of what is left."""

    def job(self, shard: int) -> Job:
        """The current job of a shard's task."""
        ...

    def kept(self, shard: int) -> int:
        """The number of results that have arrived."""
        ...

    def left(self, shard: int) -> str:
        """The rest of the shard in words; empty if nothing is left."""
        ...

    def take(self, shard: int, result: Played | Answered) -> str:
        """Store a result, and return its name."""
        ...

    def end(self, shard: int, end: Ended) -> None:
        """Store the contents of the last message."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of the shards. `errors`: shard → its one-line error; `lost`: number of lost tasks, repeated or given up."""

    errors: Mapping[int, str]
    not_played: tuple[Failure, ...]
    lost: int


@dataclass
class _Shard:
    number: int
    before: int = 0
    """The number of results stored when it was assigned."""
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
    not_played: list[Failure] = field(default_factory=list)
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
                self._lost(stream, shard, "it ended without a message")

    def stop(self) -> None:
        """Cancel the running tasks, and store their finished work."""
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
        # Steps are printed with their position in the shard; a phase only shows the current activity.
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
    """Assign the unfinished shards until each is stored, has given a reason, or is given up.

    Args:
        shared: values for every task, in addition to its job.

    Raises:
        KeyboardInterrupt: the tasks have been cancelled, and finished work is saved.
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
