"""A board of more systems than can be compared is refused with the reason, before anything grows with their square."""

import tracemalloc

import pytest

from harness.errors import UserError
from harness.figures.rank import rank_rows
from harness.ranking.columns import MOST_CELLS, MOST_SYSTEMS, must_fit
from harness.store.judgment import Judgment
from harness.store.judgment_table import table_of


def rows(systems: int, contexts: int, source: str) -> list[Judgment]:
    return [
        Judgment.model_validate(
            {
                "context": f"c{k % contexts}", "subset": "regular", "system_a": f"s{k % systems}",
                "system_b": f"s{(k + 1) % systems}", "source": source, "judge": "j", "winner": "ab"[k % 2],
            }
        )
        for k in range(max(systems, contexts))
    ]  # fmt: skip


@pytest.mark.parametrize("source", ["judge", "human"])
@pytest.mark.parametrize("method", [None, "plain"])
def test_five_thousand_systems_are_refused_in_one_line_and_little_memory(source: str, method: str | None) -> None:
    from harness.ranking.model import RatingModel
    from harness.ranking.question import RatingQuestion

    given = rows(5_000, 20, source)
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=f"5,000 systems, and a board rates at most {MOST_SYSTEMS}") as error:
            rank_rows(given, RatingQuestion(model=None if method is None else RatingModel("plain")))
        assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    finally:
        tracemalloc.stop()
    assert "\n" not in str(error.value)


def test_systems_in_too_many_contexts_are_refused() -> None:
    with pytest.raises(UserError, match=r"100 systems in 1,001 contexts"):
        must_fit(table_of(rows(100, MOST_CELLS // 100**2 + 1, "judge")))
    must_fit(table_of(rows(100, MOST_CELLS // 100**2, "judge")))
