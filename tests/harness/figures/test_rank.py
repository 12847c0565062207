import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.figures.rank import measured, pairs_of, rank_target
from harness.ranking.question import RatingQuestion
from harness.ranking.ranking_object import as_object
from harness.store.judgment import Judgment
from harness.store.judgment_files import write
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.timing.figures import TurnTiming
from tests.harness.conftest import Simulate
from tests.judged import put
from tests.made_run import agent, conversation, made_run, play

CONTEXTS = 40


def _timing(number: int) -> TurnTiming:
    base: dict[str, Any] = {"method": "m", "spoken_end_ms": 1000.0, "ttft_ms": 200.0}
    if number == 0:
        return TurnTiming(**base, ttfa_ms=None, no_reply=True)
    if number == 1:
        return TurnTiming(**base, ttfa_ms=300.0, signed_ms=-50.0, cut_in=True)
    if number == 2:
        return TurnTiming(**base, ttfa_ms=100.0, discarded="detectors disagree")
    return TurnTiming(**base, ttfa_ms=400.0 + number, first_word_ms=600.0)


def _verdicts(simulate: Simulate, condition: str) -> list[Judgment]:
    rows = simulate(CONTEXTS, 2, 3, seed=1)
    return [r.model_copy(update={"system_a": "ref:s0", "condition": condition}) for r in rows]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    contexts = [conversation(f"c{k:03}", references={"s0": "That sounds hard."}, author="human:p1") for k in range(CONTEXTS)]
    store = made_run(tmp_path_factory.mktemp("made") / "run", contexts, "s1", conditions=["clean", "noisy"])
    for condition in store.manifest.conditions:
        for number, context in enumerate(contexts):
            play(store, context.id, "s1", condition, timing=_timing(number), written_text="I hear you.", started_ns=number)
    store.close()
    return store.folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> RunStore:
    """A copy of a run of one agent in two conditions."""
    return RunStore.open(Path(shutil.copytree(made, tmp_path / "run")))


def test_early_and_missing_replies_rank_slowest_and_discarded_ones_are_unknown(store: RunStore) -> None:
    found = measured(Selection(store), "clean", "written")
    ttfa = found.latencies["ttfa"]["s1"]
    assert ttfa["c000"] == ttfa["c001"] == [math.inf]
    assert "c002" not in ttfa
    assert ttfa["c003"] == [403.0]
    assert found.cut_ins["s1"] == {f"c{k:03}": [k == 1] for k in range(CONTEXTS) if k != 2}
    assert found.latencies["first_word"]["s1"]["c000"] == [math.inf]
    assert set(found.latencies["ttft"]["s1"]) == {f"c{k:03}" for k in range(CONTEXTS) if k != 2}
    assert found.texts["c000", "ref:s0", 0] == "That sounds hard."


def test_an_agent_with_too_many_turns_discarded_is_at_no_point_of_the_chart(store: RunStore, simulate: Simulate) -> None:
    for session in store.sessions():
        if session.key.context_id in ("c003", "c004") and session.key.condition == "clean":
            store.set_timing(session.id, [replace(_timing(3), discarded="detectors disagree")])
    put(store, _verdicts(simulate, "clean"))
    found = as_object(rank_target(store.folder, RatingQuestion(condition="clean", draws=50)))
    assert found["systems"]["s1"]["elo"] is not None
    assert found["joint"] == {}


def test_a_run_of_two_conditions_needs_a_choice_and_each_has_its_own_board(store: RunStore, simulate: Simulate) -> None:
    put(store, _verdicts(simulate, "clean"))
    lost = [r.model_copy(update={"winner": "a"}) for r in _verdicts(simulate, "noisy")]
    put(store, lost)
    with pytest.raises(UserError, match=r"clean, noisy.*--condition"):
        rank_target(store.folder)
    with pytest.raises(UserError, match=r"telephone: .* clean, noisy"):
        rank_target(store.folder, RatingQuestion(condition="telephone"))
    clean, noisy = (rank_target(store.folder, RatingQuestion(condition=c, draws=50)).board["s1"] for c in ("clean", "noisy"))
    assert noisy.win_rate == 0.0
    assert clean.win_rate > 0.2


def test_a_run_is_ranked_with_its_latencies_and_people(store: RunStore, simulate: Simulate) -> None:
    put(store, _verdicts(simulate, "clean"))
    store.close()
    found = as_object(rank_target(store.folder, RatingQuestion(condition="clean", draws=100)))
    assert set(found["systems"]) == {"ref:s0", "s1"}
    assert set(found["joint"]) == {"s1"}
    assert found["joint"]["s1"]["turns"] == CONTEXTS - 1
    assert found["joint"]["s1"]["others"]["ttft"]["p50"] == 200.0
    assert found["joint"]["s1"]["elo"] == found["systems"]["s1"]["elo"]
    assert found["people"]["random"]["elo"] == pytest.approx(found["systems"]["ref:s0"]["elo"])
    json.dumps(found, allow_nan=False)


def test_a_run_without_verdicts_and_a_file_of_them(store: RunStore, simulate: Simulate, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="harness judge"):
        rank_target(store.folder, RatingQuestion(condition="clean"))
    with pytest.raises(UserError, match=r"nobody has voted.*harness listen"):
        rank_target(store.folder, RatingQuestion(condition="clean", by_people=True))
    path = tmp_path / "rows.csv"
    write(simulate(9, 3, 1), path)
    assert len(rank_target(path).board.systems) == 3


def test_a_run_judged_in_two_presentations_needs_a_choice(store: RunStore, simulate: Simulate) -> None:
    rows = [r.model_copy(update={"condition": "clean"}) for r in simulate(CONTEXTS, 2, 1)]
    put(store, [*rows, *(r.model_copy(update={"presentation": "heard_text"}) for r in rows)])
    store.close()
    with pytest.raises(UserError, match="heard_text, written"):
        rank_target(store.folder, RatingQuestion(condition="clean"))
    asked = RatingQuestion(condition="clean", presentation="heard_text", draws=50)
    assert rank_target(store.folder, asked).board.presentation == "heard_text"


def test_a_text_agent_is_in_no_pair_that_can_be_heard(store: RunStore) -> None:
    selection, every = Selection(store), frozenset(f"c{k:03}" for k in range(CONTEXTS))
    (one,) = store.manifest.agents
    other = agent("s2")
    for kind, heard in (("cascade", frozenset()), ("text", {"s1"})):
        agents = [one.model_copy(update={"kind": kind}), other]
        selection.manifest = store.manifest.model_copy(update={"agents": agents})
        found = pairs_of(selection, "clean", every)
        assert found.unheard == heard
        assert found.read == CONTEXTS


@pytest.mark.parametrize("by_people", [True, None])
def test_votes_of_readers_and_listeners_need_no_choice_and_a_choice_is_taken(store: RunStore, by_people: bool | None) -> None:
    reads = {
        "source": "human", "judge": "votes/ada", "condition": "clean", "draw_rate": 1.0, "subset": "regular", "system_a": "s1",
    }  # fmt: skip
    for presentation, other in (("heard_text", "ref:s0"), ("audio", "s2")):
        put(store, [
            Judgment.model_validate(
                {**reads, "context": f"c{k:03}", "system_b": other, "winner": "ab"[k % 2], "presentation": presentation}
            )
            for k in range(2, 20)
        ])  # fmt: skip
    asked = RatingQuestion(condition="clean", draws=50, by_people=by_people)
    assert rank_target(store.folder, asked).board.presentation == "audio"
    read = rank_target(store.folder, replace(asked, presentation="heard_text"))
    assert (read.board.presentation, read.quality_state) == ("heard_text", "people")
