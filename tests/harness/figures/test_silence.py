"""Silence costs an agent the same where people rate as where a judge does, though nobody is asked about it."""

from pathlib import Path

import pytest

from harness.figures.rank import Place, rank_target
from harness.gate.evidence import Cells
from harness.ranking.board import SystemRating
from harness.ranking.question import RatingQuestion
from harness.store.judgment import Judgment
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.timing.figures import TurnTiming
from tests.judged import put
from tests.made_run import made_run, play
from tests.present import present
from tests.reports.conftest import context

CONTEXTS = 24
SILENT = 8


def _vote(context_id: str, subset: str, winner: str, judge: str = "votes/ada", rate: float = 1.0) -> Judgment:
    return Judgment.model_validate(
        {
            "context": context_id, "subset": subset, "system_a": "quiet", "system_b": "steady", "condition": "clean",
            "source": "human", "judge": judge, "winner": winner, "draw_rate": rate, "presentation": "heard_text",
        }
    )  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """`quiet` says nothing in a third of the conversations; of the others people prefer it in half. No judge was asked."""
    items = [context(n).model_copy(update={"references": ()}) for n in range(CONTEXTS)]
    made = made_run(tmp_path / "run", items, "quiet", "steady", seed=7)
    for n, item in enumerate(items):
        for name in ("quiet", "steady"):
            lost = name == "quiet" and n < SILENT
            timing = TurnTiming(method="m", spoken_end_ms=1000.0, ttfa_ms=None if lost else 400.0, no_reply=lost)
            play(made, item.id, name, timing=timing, written_text="" if lost else "I hear you.", started_ns=n)
    put(made, [_vote(item.id, item.subset, "ab"[n % 2]) for n, item in enumerate(items) if n >= SILENT])
    return made


def _quiet(store: RunStore) -> SystemRating:
    ranking = rank_target(store.folder, RatingQuestion(draws=50))
    assert present(ranking.people_votes).pairs == CONTEXTS
    return ranking.board["quiet"]


def test_an_agent_pays_for_silence_on_peoples_axis_of_a_run_without_a_judge(store: RunStore) -> None:
    quiet = _quiet(store)
    assert quiet.win_rate == pytest.approx((CONTEXTS - SILENT) / 2 / CONTEXTS)
    assert quiet.elo < 1450


def test_a_gate_sees_the_same_share_of_wins_as_the_board(store: RunStore) -> None:
    at = Place("clean", "heard_text")
    for figure in ("win_rate", "people.win_rate"):
        found = Cells(Selection(store)).evidence(figure, "quiet", at)
        assert present(found).value == pytest.approx(_quiet(store).win_rate)
        assert present(found).contexts == CONTEXTS


def test_a_gate_weighs_votes_by_their_rates_as_the_board_does(store: RunStore) -> None:
    more = [_vote(c.id, c.subset, "a", "votes/ben", 3.0) for c in store.contexts()[SILENT:]]
    put(store, more)
    found = present(Cells(Selection(store)).evidence("win_rate", "quiet", Place("clean", "heard_text")))
    assert found.value == pytest.approx(_quiet(store).win_rate)
    assert found.value == pytest.approx((CONTEXTS - SILENT) / CONTEXTS * (0.5 + 1 / 3) / (1 + 1 / 3))
