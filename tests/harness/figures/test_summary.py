"""The summary of a run: names of its cells, and sessions that a later step could not use."""

from pathlib import Path
from random import Random

import pytest

from harness.figures.summarise import summarise, with_drawing
from harness.figures.summary import RunSummary
from harness.store.step_failure import StepFailure
from harness.timing.figures import TurnTiming
from tests.harness.figures.same_figures import cell
from tests.made_run import made_run, play


@pytest.mark.parametrize(
    ("conditions", "step", "name"),
    [
        (["clean"], "", "a"),
        (["clean", "noisy"], "", "a (clean)"),
        (["clean"], "s1", "a (s1)"),
        (["clean", "noisy"], "s1", "a (clean, s1)"),
    ],
)
def test_a_cell_is_named_by_what_tells_it_from_others(conditions: list[str], step: str, name: str) -> None:
    cells = [cell(Random(1), "a", condition=condition, step=step) for condition in conditions]
    summary = RunSummary(run="r", valid=True, invalid=[], cells=cells, judges=[])
    assert summary.name(cells[0]) == name


def test_a_session_that_could_not_be_drawn_is_listed_until_it_is(tmp_path: Path) -> None:
    store = made_run(tmp_path / "run", repeats=2)
    first, second = (play(store, repeat=repeat, timing=TurnTiming("m", 0.0, 300.0)) for repeat in range(2))
    before = summarise(store)
    assert with_drawing(before, store, []) is before
    failed = StepFailure(first.id, "drawing", "recording_unreadable", "no sound")
    once = with_drawing(before, store, [failed])
    assert [(f.kind, f.detail) for f in once.failures] == [("recording_unreadable", "drawing: no sound")]
    assert once.circumstances.not_analysed == {str(store.folder): 1}
    assert "not_analysed" in {caution.code for caution in once.cautions}
    store.set_step_failure(StepFailure(second.id, "timing", "analysis_failed", "odd"))
    assert with_drawing(once, store, [failed]).circumstances.not_analysed == {str(store.folder): 2}
    store.clear_step_failure(second.id, "timing")
    drawn = with_drawing(once, store, [])
    assert (drawn.failures, drawn.circumstances.not_analysed) == ([], {})
