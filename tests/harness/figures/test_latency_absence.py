"""Silence is the slowest answer, and a figure that was never measured is absent: the two must not be mistaken."""

from io import StringIO

from rich.console import Console

from harness.commands.table import print_summary
from harness.figures.cells import Cell
from harness.figures.latency import TurnFigures, turn_figures
from harness.figures.summary import RunSummary
from harness.timing.figures import TurnTiming


def turn(ttfa_ms: float | None = None, **more: object) -> TurnTiming:
    return TurnTiming(method="m", spoken_end_ms=0.0, ttfa_ms=ttfa_ms, **more)  # type: ignore[arg-type]


def figures(*turns: TurnTiming) -> TurnFigures:
    by_context = {f"c{k}": [t] for k, t in enumerate(turns)}
    return turn_figures(by_context, budgets_ms={"ttft": 500.0, "ttfa": 500.0}, seed=1)


def test_a_run_stopped_while_transcribing_has_no_figure_of_words() -> None:
    """It knows of every silence and of one reply's words: the silences alone would be its figure."""
    silent, waiting = [turn(no_reply=True)] * 3, [turn(300.0)] * 16
    heard = turn(300.0, transcribed=True, first_word_ms=310.0, first_substance_ms=900.0)
    stopped = figures(*silent, *waiting, heard)
    for figure in ("first_word", "first_substance"):
        assert getattr(stopped, f"{figure}_ms").n == 0
        assert not getattr(stopped, f"{figure}_ms").p50_over_limit
        assert getattr(stopped, f"{figure}_ms").restricted_mean is None
    assert stopped.ttfa_ms.n == 20


def test_one_of_many_that_could_not_be_transcribed_is_unknown_and_no_loss() -> None:
    heard = [turn(300.0, transcribed=True, first_word_ms=310.0, first_substance_ms=900.0)] * 38
    found = figures(*heard, turn(300.0), turn(no_reply=True))
    assert found.first_substance_ms.n == 39
    assert found.first_substance_ms.p50 == 900
    assert figures(*heard[:10], turn(300.0)).first_substance_ms.n == 0


def test_a_reply_without_substance_or_words_is_over_the_limit() -> None:
    empty = [turn(300.0, transcribed=True, first_word_ms=310.0)] * 2
    assert figures(*empty, turn(300.0, transcribed=True)).first_word_ms.n == 3
    substance = figures(*empty, turn(300.0, transcribed=True, first_word_ms=310.0, first_substance_ms=400.0))
    assert substance.first_substance_ms.p50_over_limit


def test_silence_has_one_unit_in_the_terminal() -> None:
    silent = figures(turn(no_reply=True, transcribed=True)).first_substance_ms
    cell = Cell(
        agent="quiet", condition="clean", mode="seeded", presentation="heard_text", subset="all", turns=1, no_reply=1,
        common_opening=(1, 1), first_substance_ms=silent,
    )  # fmt: skip
    shown = StringIO()
    print_summary(RunSummary(run="run", judges=[], cells=[cell]), Console(file=shown, width=200), verbose=True)
    assert "first word of substance > 15 s (p50)" in shown.getvalue()
