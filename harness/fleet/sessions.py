"""The ledger of a cluster's run: the sessions of each shard that its run folder has (`harness.fleet.collect`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.fleet.collect import Gathering
from harness.fleet.messages import Answered, Ended, Played, ShardJob
from harness.wording import counted


@dataclass(frozen=True, slots=True)
class SessionsKept:
    """The ledger of calls. `shards`: number → the ids of its sessions; `told`: (a shard's number, the ids of its stored
    sessions) → its job."""

    gathering: Gathering
    shards: Mapping[int, frozenset[str]]
    told: Callable[[int, tuple[str, ...]], ShardJob]

    def job(self, shard: int) -> ShardJob:
        """See `harness.fleet.scheduler.Ledger`, as for all below."""
        return self.told(shard, tuple(sorted(self.shards[shard] & self.gathering.finished)))

    def kept(self, shard: int) -> int:
        return len(self.shards[shard] & self.gathering.finished)

    def left(self, shard: int) -> str:
        left = self.shards[shard] - self.gathering.finished
        return counted(len(left), "session") if left else ""

    def take(self, _: int, result: Played | Answered) -> str:
        assert isinstance(result, Played)
        self.gathering.take(result.pack)
        return result.session

    def end(self, _: int, end: Ended) -> None:
        if end.pack is not None:
            self.gathering.take(end.pack)
