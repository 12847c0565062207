"""`harness run --ray`: the phases of a run, with the calls on a cluster and everything else here.

Errors are found before the first call: in the plan on this machine, then on every node, with the weights that it needs there.
The later phases read the run folder, which does not differ from that of a local run; figures and transcripts that a
lost machine did not deliver are computed here.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.errors import AgentError, UserError
from harness.experiment import Experiment
from harness.figures.summary import RunSummary
from harness.fleet.cluster import Needs, RayCluster, connected, refuse_without_room
from harness.fleet.collect import Gathering
from harness.fleet.messages import Answered, Ended, Played, ShardJob
from harness.fleet.scheduler import Outcome, give_out
from harness.fleet.worker import play_shard, prepare
from harness.local_programs import local_python
from harness.progress import RunProgress
from harness.run.disk_space import refuse_without_room as refuse_without_disk
from harness.run.fixed_plan import fixed, refuse_another_plan
from harness.run.phases import RunRequest, Votes, after_the_calls, no_votes
from harness.run.plan import RunPlan, default_folder, make_plan
from harness.run.sessions import not_played
from harness.run.stopping import stops_as_ctrl_c
from harness.shards.merge_checks import sessions_of
from harness.shards.split import deal
from harness.store.database import DATABASE, locked, nothing_but_a_killed_start
from harness.store.disk import storage_named
from harness.store.fleet import FixedPlan
from harness.store.run_store import RunStore
from harness.verdicts.judge import load_judges, weights_for
from harness.wording import command, counted


@dataclass(frozen=True, slots=True)
class OnCluster:
    """The cluster and the resources of a run. `shards`: their number; None: as many as can run at once. `cpus`: for each
    running shard; None: one, or as many as the busiest part of any agent has threads."""

    address: str
    shards: int | None = None
    cpus: float | None = None
    gpus: float = 0.0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class SessionsKept:
    """The ledger of calls: the sessions of each shard that the run folder has (`harness.fleet.collect`).

    `shards`: number → the ids of its sessions; `told`: (a shard's number, the ids of its stored sessions) → its job.
    """

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


def asked_of_gathered(folder: Path) -> Experiment:
    """The settings of a run that a cluster began in `folder`.

    Raises:
        UserError: there is none, or it was begun without a cluster.
    """
    with closing(RunStore.open(folder, to_resume=True)) as store:
        fleet = store.manifest.fleet
    if fleet is None or fleet.shard is not None:
        raise UserError(f"--resume: {folder} was not begun on a cluster; resume it without --ray")
    return fleet.plan.experiment


def run_on_cluster(
    request: RunRequest, where: OnCluster, progress: RunProgress, votes: Votes = no_votes
) -> tuple[RunStore, RunSummary]:
    """Play on a cluster; then time, transcribe, judge and rank here. The store stays open; the caller writes the report.

    Raises:
        UserError: the input is wrong, there is no cluster, or a node cannot play the plan; no call has been made.
        AgentError: nothing could be played.
        StorageError: the disk has no room for the run, or is full; finished sessions are saved.
    """
    plan = make_plan(request.options)
    here = fixed(plan)
    if request.fixed is not None:
        refuse_another_plan(plan, request.fixed, request.share.plan_file)
    local_python("hearing what agents said", progress)
    judges = request.options.judges if load_judges(request.options.judges) else ()
    folder = request.out or default_folder(plan, request.runs_folder)
    earlier = _dealt_before(folder, request.resume)
    again = command("run", "--ray", where.address, "--resume", "--out", folder)
    go_on = f"every session that arrived is saved; free some space, then: {again}"
    with connected(where.address) as cluster, stops_as_ctrl_c(), storage_named(folder, lambda: go_on):
        refuse_without_disk(plan, (), folder)
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            gathered, outcome = _gather(cluster, plan, here, where, earlier, folder, progress)
    if gathered is None:
        raise AgentError(f"no session could be finished; {_first(outcome)}")
    store = gathered
    with stops_as_ctrl_c(), store.lock(), storage_named(folder, lambda: go_on):
        for name in judges if any(not context.timing_alone for context in plan.contexts) else ():
            weights_for(name, progress)
        progress.phase("Pacing of all calls")
        summary = after_the_calls(store, plan.options, progress, votes)
    fleet = store.manifest.fleet
    assert fleet is not None
    return store, _with_unplayed(summary, plan, store, outcome, fleet.of)


def _dealt_before(folder: Path, resume: bool) -> int | None:
    """The number of shards of the run in `folder`; None if there is no run yet.

    Raises:
        UserError: the folder has something that cannot be resumed.
    """
    if not (folder / DATABASE).exists():
        if folder.exists() and not (folder.is_dir() and nothing_but_a_killed_start(folder)):
            raise UserError(f"--out {folder}: is not an empty directory; choose a new one")
        return None
    if not resume:
        raise UserError(f"--out {folder}: holds another run; add --resume to continue it, or choose another path")
    with closing(RunStore.open(folder, to_resume=True)) as store:
        fleet = store.manifest.fleet
    return fleet.of if fleet is not None else None


def _gather(
    cluster: RayCluster,
    plan: RunPlan,
    here: FixedPlan,
    where: OnCluster,
    earlier: int | None,
    folder: Path,
    progress: RunProgress,
) -> tuple[RunStore | None, Outcome]:
    needs = Needs(where.cpus or float(_threads(plan)), where.gpus, where.memory_bytes)
    nodes = refuse_without_room(cluster.nodes(), needs)
    of = earlier or where.shards or min(len(plan.whole), sum(node.holds(needs) for node in nodes))
    if earlier is not None and where.shards not in (None, earlier):
        raise UserError(f"--ray …,parts={where.shards}: {folder} already has {earlier} shards; leave it out")
    dealt = deal(plan.whole, of, plan.options.mode)
    job = partial(_job, here, of)
    with Gathering(folder, here, of) as gathering:
        shards = {k + 1: frozenset(sessions_of(here, [c.id for c in contexts])) for k, contexts in enumerate(dealt)}
        ledger = SessionsKept(gathering, shards, job)
        todo = [number for number in shards if ledger.left(number)]
        if todo:
            progress.phase(f"Preparing {counted(len(nodes), 'node')}")
            _refuse_unfit(cluster.on_each(nodes, prepare, job(1, ())))
        progress.phase(f"Calls on {counted(len(todo), 'shard')}", sum(len(shards[k]) - ledger.kept(k) for k in todo))
        outcome = give_out(cluster, play_shard, ledger, needs, progress, of=of)
    return gathering.store, outcome


def _job(plan: FixedPlan, of: int, shard: int, elsewhere: tuple[str, ...]) -> ShardJob:
    return ShardJob(shard, of, os.getcwd(), plan.model_dump_json(by_alias=True), elsewhere)


def _refuse_unfit(lines: dict[str, str]) -> None:
    if lines:
        address, line = next(iter(sorted(lines.items())))
        more = f" (and {counted(len(lines) - 1, 'more node')})" if len(lines) > 1 else ""
        raise UserError(f"node {address}{more} cannot play the plan: {line}")


def _threads(plan: RunPlan) -> int:
    """The number of processors that a shard keeps busy: its caller waits most of the time, only the agent in a call works, and
    the parts of that agent compute one after another."""
    busy = [threads for profile in plan.profiles if profile.runs_here for threads in profile.threads.values()]
    return max([1, *busy])


def _first(outcome: Outcome) -> str:
    if outcome.errors:
        number, line = next(iter(sorted(outcome.errors.items())))
        return f"shard {number}: {line}"
    return next((left.detail for left in outcome.not_played), "no shard gave a reason")


def _with_unplayed(summary: RunSummary, plan: RunPlan, store: RunStore, outcome: Outcome, of: int) -> RunSummary:
    """The summary with the sessions that were not played, each with the reason from its shard."""
    told = list(outcome.not_played)
    played = {session.id for session in store.sessions()}
    shard_of = {c.id: k + 1 for k, contexts in enumerate(deal(plan.whole, of, plan.options.mode)) for c in contexts}
    for key in plan.session_keys():
        line = outcome.errors.get(shard_of[key.context_id])
        if line is not None and key.session_id not in played:
            told.append(not_played(key, f"shard {shard_of[key.context_id]}: {line}"))
    return summary.model_copy(update={"failures": [*summary.failures, *told]}) if told else summary
