"""The boards beside the primary one."""

from harness.ranking.question import RatingQuestion
from harness.ranking.quoted_board import of_verdicts
from harness.ranking.variants import variants
from harness.store.judgment_table import table_of
from tests.harness.conftest import Simulate
from tests.present import present


def test_variants_start_with_the_primary_and_label_the_rest(simulate: Simulate) -> None:
    rows = simulate(30, 3, 2, seed=4)
    found = variants(present(of_verdicts(table_of(rows), RatingQuestion())), {})
    assert found[0].name == "judges, all"
    assert found[0].kendall == 1
    assert {v.name for v in found if not v.exploratory} == {"judges, all", "judges, regular", "judges, adversarial"}
    assert all(v.exploratory == v.name.startswith("exploratory") for v in found)
    judges = next(v for v in found if v.name == "judges, all")
    assert judges.board.judgments == 180
    few = present(of_verdicts(table_of(simulate(9, 3, 1)), RatingQuestion()))
    assert not any("people" in v.name for v in variants(few, {}))
