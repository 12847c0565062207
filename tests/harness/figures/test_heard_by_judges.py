"""Verdicts of judges that heard the replies: a board of their own, and nowhere a figure of quality of the run."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from harness.figures.rank import rank_target
from harness.figures.summarise import summarise
from harness.judging.validation.deliveries import unspoken
from harness.ranking.question import RatingQuestion
from harness.store.judgment import JudgeCheck, Judgment
from harness.store.run_store import RunStore
from harness.timing.figures import TurnTiming
from tests.judged import put
from tests.made_run import conversation, made_run, play

CONTEXTS = [f"c{n}" for n in range(12)]


def rows(
    winner: str, *, presentation: str, rater: str = "ear@1", source: str = "judge", contexts: Iterable[str] = CONTEXTS
) -> list[Judgment]:
    drawn = {"draw_rate": 1.0} if source == "human" else {}
    return [
        Judgment.model_validate(
            {
                "context": c, "subset": "regular", "system_a": "kind", "system_b": "curt", "source": source, "judge": rater,
                "winner": winner if n % 4 else "ab".replace(winner, ""), "strength": 3, "shown_first": "ab"[n % 2],
                "presentation": presentation, "condition": "clean", **drawn,
            }
        )
        for n, c in enumerate(contexts)
    ]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Any:
    made = made_run(tmp_path / "run", [conversation(c, f"Nobody rang. {c}") for c in CONTEXTS], "kind", "curt")
    for c in CONTEXTS:
        for name, ttfa_ms in (("kind", 700.0), ("curt", 300.0)):
            play(made, c, name, heard=f"{name} {c}", timing=TurnTiming("m", 1_000.0, ttfa_ms))

    class _Ear:
        id, family, fingerprint, concurrency, orders_itself = "ear@1", "none", "x", 1, False

    made.add_judge_check(unspoken(_Ear()))  # type: ignore[arg-type]
    yield made
    made.close()


def figures(store: RunStore) -> dict[str, Any]:
    return summarise(store).agents


HEARD = rows("b", presentation="audio")
VOTES = [row for rater in ("ann", "bob", "cem") for row in rows("a", presentation="audio", rater=rater, source="human")]
FEW = rows("a", presentation="audio", rater="ann", source="human", contexts=CONTEXTS[:2])
READ = rows("a", presentation="heard_text", rater="eye@1")


@pytest.mark.parametrize("others", [[], READ, FEW], ids=["nothing else", "a judge that reads", "too few votes"])
def test_no_figure_of_an_agent_changes_with_what_a_judge_heard(store: RunStore, others: list[Judgment]) -> None:
    put(store, others)
    before = figures(store)
    put(store, HEARD)
    after = summarise(store)
    assert after.agents == before
    assert after.quoted("clean") == "heard_text"


def test_it_is_a_board_of_its_own_and_an_opinion(store: RunStore) -> None:
    put(store, HEARD)
    summary = summarise(store)
    (board,) = summary.boards
    assert (board.presentation, board.quality_state) == ("audio", "opinion")
    assert any("--presentation audio" in text for text in summary.quality)
    assert summary.way_to_people in summary.quality
    for asked in (RatingQuestion(), RatingQuestion(presentation="audio")):
        ranking = rank_target(store.folder, asked)
        assert (ranking.quality_state, ranking.board.presentation) == ("opinion", "audio")
        assert ranking.judges == ("ear@1",)
        assert ranking.joint is None
        assert ranking.board.systems[0].system == "curt"
    put(store, READ)
    read = rank_target(store.folder)
    assert read.board.presentation == "heard_text"
    assert read.joint is not None


def test_it_may_predict_peoples_votes_and_cannot_turn_them(store: RunStore) -> None:
    put(store, [*HEARD, *VOTES])
    summary = summarise(store)
    board = summary.board("clean")
    assert board is not None
    assert (board.presentation, board.quality_state) == ("audio", "people")
    elo = {name: cell["elo"] for name, cell in summary.agents.items()}
    assert elo["kind"] > elo["curt"], "people prefer the other one than the judge does"


def test_what_it_heard_bears_nothing_out(store: RunStore) -> None:
    check = store.judge_checks()[0]
    sure = JudgeCheck.model_validate(
        check.model_dump() | {"trusted": True, "deliveries": {"n": 40, "accuracy": 1.0, "interval": (0.9, 1.0)}}
    )
    store.add_judge_check(sure)
    put(store, HEARD)
    (judge,) = summarise(store).judges
    assert not judge.trusted
    assert judge.trust == "hears"
    assert "hears deliveries: right on 100 %" in judge.standing
