"""Machines that are lost at every instant of a run: each session arrives once, and nothing that arrived is played again.

The cluster is a stand-in that loses tasks where it is told to; what travels, the run folder and the rules are the real ones.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.experiment import Experiment
from harness.fleet.cluster import Needs, Node, Stream, refuse_without_room
from harness.fleet.collect import Gathering
from harness.fleet.messages import Ended, Job, Lost, Message, Played, Said, ShardJob
from harness.fleet.run import SessionsKept
from harness.fleet.scheduler import FRUITLESS, Outcome, Task, give_out
from harness.fleet.shipping import packed_rest, packed_session
from harness.progress import RunProgress
from harness.run.fixed_plan import fixed, fleet_of
from harness.run.plan import RunPlan, make_plan, new_manifest
from harness.shards.merge_checks import sessions_of
from harness.shards.split import Share
from harness.store.run_store import RunStore
from tests.harness.conftest import peer

OF = 3


def planned(shard: int | None, elsewhere: frozenset[str] = frozenset()) -> RunPlan:
    agents = (str(peer("raw-pcm-echo")), str(peer("pipecat-echo")))
    return make_plan(Experiment(agents=agents, limit=6), Share((shard, OF) if shard else None, elsewhere=elsewhere))


PLAN = planned(None)
FIXED = fixed(PLAN)
SHARDS = {k: frozenset(sessions_of(FIXED, [c.id for c in planned(k).contexts])) for k in range(1, OF + 1)}


@dataclass
class Fleet:
    """Plays shards into folders as a worker does, and loses a task after some of its messages where `loses` says so."""

    folder: Path
    loses: Callable[[int], int | None] = lambda _: None
    """Attempt → after how many messages it is lost; None: never."""
    ends: Callable[[int], Ended | None] = lambda _: None
    played: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    cancelled: bool = False
    interrupted_at: int | None = None

    def begin(self, _task: Task, job: Job, _needs: Needs, *_shared: Any) -> Stream:
        assert isinstance(job, ShardJob)
        self.attempts += 1
        return Stream(self._attempt(job, self.attempts))

    def messages(self, streams: Sequence[Stream], _within_s: float) -> list[tuple[Stream, Message | Lost | None]]:
        if self.interrupted_at is not None and sum(self.played.values()) >= self.interrupted_at and not self.cancelled:
            raise KeyboardInterrupt
        return [(stream, next(stream.generator, None)) for stream in streams]

    def cancel(self, _streams: Sequence[Stream], _within_s: float) -> None:
        self.cancelled = True

    def _attempt(self, job: ShardJob, attempt: int) -> Iterator[Message | Lost]:
        after = self.loses(attempt)
        for n, message in enumerate(self._messages(job, attempt)):
            if n == after:
                yield Lost("the node is gone")
                return
            if isinstance(message, Played):
                self.played[message.session] += 1
            yield message
            if self.cancelled:
                return

    def _messages(self, job: ShardJob, attempt: int) -> Iterator[Message]:
        if (end := self.ends(attempt)) is not None:
            yield end
            return
        plan = planned(job.shard, frozenset(job.elsewhere))
        manifest = new_manifest(plan).model_copy(
            update={"fleet": fleet_of(plan), "machine_id": f"m{attempt}", "created": f"2026-01-01T00:00:{attempt % 60:02}"}
        )
        store = RunStore.create(self.folder / f"attempt-{attempt}", manifest, plan.contexts)
        yield Said("Calls")
        sent = []
        for n, key in enumerate(plan.session_keys()):
            partial = store.partial_folder(key)
            (partial / "notes.txt").write_text(key.session_id)
            store.commit_session(key, partial=partial, started_ns=attempt * 1_000 + n)
            sent.append(key.session_id)
            yield Played(key.session_id, packed_session(store, key.session_id))
        for session in sent:
            store.set_heard(session, f"heard by {attempt}", ())
        (store.folder / "logs" / "caller.log").write_text(f"attempt {attempt}")
        store.close()
        yield Ended("", packed_rest(store.folder, sent))


def run(fleet: Fleet, out: Path) -> tuple[Outcome, Gathering]:
    out.mkdir(exist_ok=True)

    def job(shard: int, elsewhere: tuple[str, ...]) -> ShardJob:
        return ShardJob(shard, OF, ".", FIXED.model_dump_json(by_alias=True), elsewhere)

    def task(_: ShardJob) -> Iterator[Message]:
        raise AssertionError("the stand-in plays by itself")

    with Gathering(out, FIXED, OF) as gathering:
        ledger = SessionsKept(gathering, SHARDS, job)
        return give_out(fleet, task, ledger, Needs(), RunProgress(quiet=True), of=OF), gathering


def sessions(out: Path) -> Any:
    with closing(RunStore.open(out)) as store:
        return {s.id: (s.started_ns, s.heard_text, (s.folder / "notes.txt").read_text()) for s in store.sessions()}


def test_every_session_arrives_with_what_later_steps_said_of_it(tmp_path: Path) -> None:
    outcome, gathering = run(Fleet(tmp_path), tmp_path / "out")
    assert (outcome.errors, outcome.lost, gathering.twice) == ({}, 0, [])
    found = sessions(tmp_path / "out")
    assert found.keys() == set().union(*SHARDS.values())
    assert all(heard.startswith("heard by") and notes == name for name, (_, heard, notes) in found.items())
    store = RunStore.open(tmp_path / "out")
    fleet = store.manifest.fleet
    assert fleet is not None
    assert (fleet.shard, fleet.of, len(fleet.machines)) == (None, OF, OF)
    assert [c.id for c in store.contexts()] == list(FIXED.contexts)
    assert len(list((tmp_path / "out" / "logs").glob("shard-*/caller.log"))) == OF


@pytest.mark.parametrize("seed", range(3))
def test_losses_at_random_lose_nothing_and_play_nothing_twice(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    at = {attempt: chance.choice((0, 1, 2, 3, 4, None)) for attempt in range(1, 200)}
    fleet = Fleet(tmp_path, loses=at.get)
    out = tmp_path / "out"
    for _ in range(20):  # a shard may be given up; going on gives it another turn
        outcome, gathering = run(fleet, out)
        assert gathering.twice == []
        if not outcome.errors:
            break
    assert sessions(out).keys() == set().union(*SHARDS.values())
    assert set(fleet.played.values()) == {1}, "what had arrived was played again"


def test_a_shard_that_ends_its_machines_is_given_up_and_the_others_are_played(tmp_path: Path) -> None:
    given: list[int] = []

    def loses(attempt: int) -> int | None:
        given.append(attempt)
        return 0 if attempt == 1 or attempt > OF else None

    outcome, gathering = run(Fleet(tmp_path, loses=loses), tmp_path / "out")
    assert outcome.errors.keys() == {1}
    assert f"lost {FRUITLESS} times in a row" in outcome.errors[1]
    assert outcome.lost == FRUITLESS
    assert gathering.finished == SHARDS[2] | SHARDS[3]
    (tmp_path / "again").mkdir()
    _, gathering = run(Fleet(tmp_path / "again"), tmp_path / "out")
    assert gathering.finished == set().union(*SHARDS.values())


def test_a_shard_that_says_why_is_not_tried_again(tmp_path: Path) -> None:
    def ends(attempt: int) -> Ended | None:
        return Ended("weight x: cannot be had", None) if attempt == 2 else None

    fleet = Fleet(tmp_path, ends=ends)
    outcome, _ = run(fleet, tmp_path / "out")
    assert outcome.errors == {2: "weight x: cannot be had"}
    assert fleet.attempts == OF


def test_a_process_that_died_without_a_word_is_played_on_by_another(tmp_path: Path) -> None:
    def ends(attempt: int) -> Ended | None:
        return Ended("its process ended with code -9", None, died=True) if attempt == 2 else None

    fleet = Fleet(tmp_path, ends=ends)
    outcome, gathering = run(fleet, tmp_path / "out")
    assert (outcome.errors, outcome.lost, fleet.attempts) == ({}, 1, OF + 1)
    assert gathering.finished == set().union(*SHARDS.values())


def test_a_run_that_is_stopped_keeps_what_had_arrived_and_goes_on(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, interrupted_at=4)
    with pytest.raises(KeyboardInterrupt):
        run(fleet, tmp_path / "out")
    assert fleet.cancelled
    before = sessions(tmp_path / "out")
    assert len(before) >= 4
    (tmp_path / "again").mkdir()
    second = Fleet(tmp_path / "again")
    run(second, tmp_path / "out")
    assert not second.played.keys() & before.keys()
    assert sessions(tmp_path / "out").keys() == set().union(*SHARDS.values())


def test_what_another_playing_finished_as_well_is_left_out(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(Fleet(tmp_path), out)
    before = sessions(out)
    (tmp_path / "zombie").mkdir()
    zombie = Fleet(tmp_path / "zombie", attempts=50)
    (pack,) = [m.pack for m in zombie._messages(ShardJob(1, OF, ".", ""), 51) if isinstance(m, Ended)]
    assert pack is not None
    with Gathering(out, FIXED, OF) as gathering:
        assert gathering.take(pack) == 0
        assert set(gathering.twice) == SHARDS[1]
    assert sessions(out) == before


def test_runs_of_other_plans_and_other_dealings_are_refused(tmp_path: Path) -> None:
    run(Fleet(tmp_path), tmp_path / "out")
    other = fixed(make_plan(Experiment(agents=(str(peer("raw-pcm-echo")), str(peer("pipecat-echo"))), limit=6, seed=2)))
    for plan, of, said in (
        (other, OF, "seed is 1"),
        (FIXED, OF + 1, f"divided into {OF} shards, and is now divided into {OF + 1}"),
    ):
        with pytest.raises(UserError, match=said):
            Gathering(tmp_path / "out", plan, of).__enter__()
    with Gathering(tmp_path / "other", other, OF) as gathering, pytest.raises(UserError, match="cannot be read"):
        gathering.take(b"no pack")


def test_a_part_that_no_node_can_hold_is_refused_and_not_waited_for() -> None:
    nodes = [Node("a", "10.0.0.1", 4, 0, 8 * 2**30), Node("b", "10.0.0.2", 16, 1, 64 * 2**30)]
    assert [n.id for n in refuse_without_room(nodes, Needs(8, 1))] == ["b"]
    assert nodes[1].holds(Needs(4, 0.25, 2**30)) == 4
    with pytest.raises(UserError, match="no node of the cluster has 4 CPUs and 2 GPUs for a shard"):
        refuse_without_room(nodes, Needs(4, 2))
    with pytest.raises(UserError, match="it has no node"):
        refuse_without_room([], Needs())
