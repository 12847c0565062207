"""`harness judge run --ray`: the questions of a run asked by many machines, with each answer stored here on arrival.

The shards are those of `harness judge run --shard`: a question belongs to the shard that its key names, so none is asked twice,
and the answers are where a shard on this machine would have stored them. Judging the run as a whole then reads them. Only texts
travel.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import AgentError
from harness.fleet.cluster import Needs, connected, refuse_without_room
from harness.fleet.messages import Answered, Ended, JudgeJob, Played
from harness.fleet.run import OnCluster
from harness.fleet.scheduler import give_out
from harness.fleet.shipping import packed_texts
from harness.fleet.worker import judge_shard
from harness.judging import VerdictCache
from harness.progress import RunProgress
from harness.run.stopping import stops_as_ctrl_c
from harness.shards.judge_shards import dealt_before, folder_of
from harness.store.database import locked
from harness.store.paths import VERDICTS
from harness.wording import counted


@dataclass(frozen=True, slots=True)
class AnswersKept:
    """The ledger of questions: shard → the file with its answers. Only the shards know the number of their questions."""

    answers: Mapping[int, VerdictCache]
    arguments: tuple[str, ...]
    done: set[int] = field(default_factory=set)

    def job(self, shard: int) -> JudgeJob:
        """See `harness.fleet.scheduler.Ledger`, as for all below."""
        return JudgeJob(shard, len(self.answers), os.getcwd(), self.arguments, tuple(self.answers[shard].rows()))

    def kept(self, shard: int) -> int:
        return len(self.answers[shard].keys())

    def left(self, shard: int) -> str:
        return "" if shard in self.done else "its other questions"

    def take(self, shard: int, result: Played | Answered) -> str:
        assert isinstance(result, Answered)
        self.answers[shard].add_rows(result.rows)
        return counted(len(result.rows), "answer")

    def end(self, shard: int, end: Ended) -> None:
        if not end.died and not end.error:
            self.done.add(shard)


def ask_on_cluster(run: Path, arguments: Sequence[str], where: OnCluster, progress: RunProgress) -> None:
    """Ask the questions of a run on a cluster; the answers are stored in the run's folder, to be read later.

    Args:
        arguments: options of `harness judge run`, without the run and without a shard.

    Raises:
        UserError: there is no cluster, or the run is being judged by another process.
        AgentError: a shard could not be judged; every answer so far is saved, and the same command continues.
    """
    needs = Needs(where.cpus or 1.0, where.gpus, where.memory_bytes)
    with connected(where.address) as cluster, stops_as_ctrl_c(), contextlib.ExitStack() as open_now:
        nodes = refuse_without_room(cluster.nodes(), needs)
        of = where.shards or dealt_before(run) or sum(node.holds(needs) for node in nodes)
        answers: dict[int, VerdictCache] = {}
        for number in range(1, of + 1):
            folder = folder_of(run, (number, of))
            folder.mkdir(parents=True, exist_ok=True)
            open_now.enter_context(locked(folder))
            answers[number] = open_now.enter_context(VerdictCache(folder / VERDICTS))
        progress.phase(f"Questions on {counted(of, 'shard')}")
        ledger = AnswersKept(answers, tuple(arguments))
        outcome = give_out(cluster, judge_shard, ledger, needs, progress, of=of, shared=(cluster.share(packed_texts(run)),))
    if outcome.errors:
        number, line = next(iter(sorted(outcome.errors.items())))
        raise AgentError(f"shard {number}/{of} could not be judged: {line}; every answer is saved; the same command continues")
