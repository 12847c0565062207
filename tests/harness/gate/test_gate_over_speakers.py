"""A gate on recordings of known speakers: one speaker is one observation, and few speakers decide nothing."""

from pathlib import Path

from harness.figures.rank import Place
from harness.gate.budgets import Budgets
from harness.gate.check import CheckResult, check_run
from harness.gate.evidence import Cells
from harness.gate.words import reason, sentences
from harness.store.selection import HEARD, Selection
from tests.present import present
from tests.run_of_speakers import run_of_speakers

LIMITS = {"ttfa_ms.p50": 780.0, "pauses_cut_share": 0.5, "cut_in_rate": 0.5, "dead_air_ms.p50": 780.0}


def checked(folder: Path, *figures: str, speakers: int = 10, sourced: bool = True) -> CheckResult:
    limits = [{"figure": figure, "agent": "quick", "at_most": LIMITS[figure]} for figure in figures]
    budgets = Budgets.model_validate({"schema": 1, "limits": limits})
    return check_run(run_of_speakers(folder, speakers, sourced=sourced), budgets)


def test_limits_that_many_turns_would_pass_are_open_with_ten_speakers(tmp_path: Path) -> None:
    over_speakers, over_turns = checked(tmp_path / "a", *LIMITS), checked(tmp_path / "b", *LIMITS, sourced=False)
    for one, other in zip(over_speakers.checked, over_turns.checked, strict=True):
        assert (one.verdict, one.speakers) == ("cannot tell", 10), one.name
        assert (other.verdict, other.speakers) == ("pass", None), one.name
        assert present(one.decision).value == present(other.decision).value
        assert present(one.decision).interval[1] > present(other.decision).interval[1]


def test_a_speaker_is_one_observation_of_every_figure_but_a_rating(tmp_path: Path) -> None:
    cells = Cells(Selection(run_of_speakers(tmp_path / "run", 3, 4)))
    figures = ("ttfa_ms.p50", "unspoken_share", "win_rate", "elo_over.ref:plain")
    assert [cells.over_speakers(figure) for figure in figures] == [True, True, False, False]
    assert cells.conversations_a_speaker(Place("clean", HEARD)) == 4
    unknown = Cells(Selection(run_of_speakers(tmp_path / "unknown", 3, 4, sourced=False)))
    assert not any(unknown.over_speakers(figure) for figure in figures)


def test_more_of_the_same_speakers_is_not_asked_for(tmp_path: Path) -> None:
    result = checked(tmp_path / "run", "cut_in_rate")
    (one,) = result.checked
    more = present(present(one.decision).more_needed)
    assert more % 12 == 0, "whole speakers, in conversations of which each has twelve"
    assert reason(one).endswith(f"about {more} more conversations of new speakers would settle it.")
    assert f"About {more} more conversations of new speakers would settle it, if they are like these." in sentences(result)
    assert result.as_object()["limits"][0]["speakers"] == 10


def test_under_eight_speakers_nothing_is_decided_and_the_reason_is_said(tmp_path: Path) -> None:
    (one,) = checked(tmp_path / "run", "pauses_cut_share", speakers=7).checked
    assert one.verdict == "cannot tell"
    assert reason(one).startswith("7 speakers: under 8 there is no interval (")
