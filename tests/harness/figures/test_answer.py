"""The answer beside TTFA: absent where it is not known, slowest where a filler was all, and shown where the two differ."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from harness.commands.table import print_summary
from harness.figures.cells import Cell
from harness.figures.latency import TurnFigures, turn_figures
from harness.figures.summary import RunSummary
from harness.timing.figures import TurnTiming, Utterance, UtteranceKind

INF = float("inf")


def turn(ttfa_ms: float | None, answer_ms: float | None = None, kind: UtteranceKind = "answer", **more: object) -> TurnTiming:
    """A turn whose first sound is of a kind, and whose answer begins then or later."""
    heard = () if ttfa_ms is None else (Utterance(ttfa_ms, ttfa_ms + 400, kind),)
    answer_ms = ttfa_ms if kind == "answer" and answer_ms is None else answer_ms
    base = TurnTiming("test", 0.0, ttfa_ms, answer_ms=answer_ms, utterances=heard, no_reply=ttfa_ms is None)
    return replace(base, **more)  # type: ignore[arg-type]


def late(ttfa_ms: float, answer_ms: float | None) -> TurnTiming:
    return turn(ttfa_ms, answer_ms, "filler")


def old(ttfa_ms: float) -> TurnTiming:
    """A turn as runs before fillers were known apart store it."""
    return turn(ttfa_ms, None, "speech")


def figures(*turns: TurnTiming) -> TurnFigures:
    return turn_figures({f"c{k}": [t] for k, t in enumerate(turns)}, budgets_ms={"ttft": 400, "ttfa": 500}, seed=1)


def test_a_filler_is_within_the_budget_and_its_answer_is_not() -> None:
    found = figures(*[late(300.0, 1_900.0)] * 9, turn(400.0))
    assert (found.ttfa_ms.p50, found.answer_ms.p50) == (300, 1_900)
    assert (found.within_budget.ttfa, found.within_budget.answer) == (1.0, 0.1)
    assert (found.filler_first, found.answer_differs) == ((9, 10), True)
    assert found.within_budget.answer_interval is not None


@pytest.mark.parametrize(("fillers", "differs"), [(1, False), (2, True)])
def test_answer_and_ttfa_differ_over_five_percent_of_the_replies(fillers: int, differs: bool) -> None:
    """Silent turns are no replies, and hide no filler."""
    found = figures(*[turn(300.0)] * (20 - fillers), *[late(300.0, 900.0)] * fillers, *[turn(None)] * 60)
    assert found.filler_first == (fillers, 20)
    assert found.answer_differs == differs


def test_a_reply_of_a_filler_alone_has_no_answer_and_ranks_as_no_reply() -> None:
    found = figures(*[late(300.0, None)] * 6, *[turn(400.0)] * 4)
    assert found.no_reply == 0
    assert found.ttfa_ms.p50 == 300
    assert found.answer_ms.p50_over_limit
    assert found.within_budget.answer == 0.4


def test_turns_timed_before_fillers_were_known_have_no_answer_and_no_zero() -> None:
    found = figures(*[old(300.0)] * 9, turn(None))
    assert (found.answer_ms.n, found.answer_ms.p50, found.within_budget.answer) == (0, None, None)
    assert (found.filler_first, found.answer_differs) == ((0, 0), False)
    assert found.within_budget.ttfa == 0.9


def printed(*cells: TurnFigures) -> str:
    named = [
        Cell(agent=f"agent-{k}", condition="clean", mode="seeded", presentation="heard_text", subset="all", **dict(found))
        for k, found in enumerate(cells)
    ]
    shown = StringIO()
    budgets = {"ttft": 400.0, "ttfa": 500.0}
    summary = RunSummary(run="run", judges=[], cells=named, budgets_ms=budgets)
    print_summary(summary, Console(file=shown, width=200), verbose=True)
    return shown.getvalue()


def test_the_terminal_has_the_answer_where_it_differs_and_nowhere_else() -> None:
    honest, filling = figures(*[turn(700.0)] * 9), figures(*[late(300.0, 1_900.0)] * 9)
    assert "answer" not in printed(honest).splitlines()[0]
    both = printed(filling, honest)
    row = next(line for line in both.splitlines() if line.startswith("agent-0"))
    assert row.split()[1:5] == ["300", "100%", "1,900", "0%"]
    assert "agent-0: with a filler: 300 ms; the answer begins at 1.90 s, within 500 ms on 0 % of 9 turns." in both
    assert "agent-1: with a filler" not in both
    lost = printed(figures(*[late(300.0, None)] * 9))
    assert "with a filler: 300 ms; on at least half of the turns no answer follows within 15 s." in lost
