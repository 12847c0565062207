"""Percentiles, shares and intervals with an honest n."""

from dataclasses import replace

import numpy as np
import pytest

from harness.figures.latency import TurnFigures, turn_figures
from harness.timing.figures import TurnTiming
from harness.timing.quantiles import Quantiles, quantiles_of
from harness.timing.unknown_waits import NO_LATENCY

BLANK = TurnTiming(method="test", spoken_end_ms=0, ttfa_ms=None)


def _turn(ttfa_ms: float | None, **fields: object) -> TurnTiming:
    return replace(BLANK, ttfa_ms=ttfa_ms, ttft_ms=100.0, no_reply=ttfa_ms is None, **fields)  # type: ignore[arg-type]


def _timed(*ttfa_ms: float | None) -> list[tuple[str, TurnTiming]]:
    return [(f"c{k}", _turn(value)) for k, value in enumerate(ttfa_ms)]


def summarise(timed: list[tuple[str, TurnTiming]], seed: int = 1) -> TurnFigures:
    turns: dict[str, list[TurnTiming]] = {}
    for context, turn in timed:
        turns.setdefault(context, []).append(turn)
    return turn_figures(turns, budgets_ms={"ttft": 500, "ttfa": 500}, seed=seed)


def ttfa(summary: TurnFigures) -> Quantiles:
    return summary.ttfa_ms


def test_under_eight_conversations_there_is_no_interval() -> None:
    assert ttfa(summarise(_timed(*range(400, 407)))).p50_interval is None
    assert ttfa(summarise(_timed(*range(400, 408)))).p50_interval is not None


def test_a_p95_needs_sixty_turns() -> None:
    assert ttfa(summarise(_timed(*range(59)))).p95 is None
    assert ttfa(summarise(_timed(*range(60)))).p95 == pytest.approx(np.percentile(range(60), 95))


def test_no_reply_ranks_last_and_is_never_averaged_away() -> None:
    summary = summarise(_timed(400, None, 500, None, None))
    assert summary.no_reply == 3
    assert ttfa(summary).p50 is None
    assert ttfa(summary).p50_over_limit
    assert ttfa(summary).restricted_mean == pytest.approx((400 + 500 + 3 * 15_000) / 5)
    assert summary.within_budget.ttfa == pytest.approx(0.4)


def test_an_early_start_fails_the_budget_and_ranks_slowest() -> None:
    early = ("early", replace(BLANK, ttfa_ms=None, signed_ms=-200.0))
    summary = summarise([early, early, *_timed(400)])
    assert ttfa(summary).p50_over_limit
    assert summary.within_budget.ttfa == pytest.approx(1 / 3)


def test_discarded_turns_are_counted_and_too_many_leave_no_figure() -> None:
    discarded = ("d", replace(BLANK, ttfa_ms=None, discarded="detectors disagree"))
    few = summarise([*_timed(*[400.0] * 39), discarded])
    assert few.discarded == {"detectors disagree": 1}
    assert ttfa(few).p50 == 400
    many = summarise([*_timed(*[400.0] * 9), discarded])
    assert ttfa(many).p50 is None
    assert many.within_budget.ttfa is None


def test_a_page_whose_latency_is_not_known_says_nothing_against_the_other_waits() -> None:
    unknown = ("d", replace(BLANK, ttfa_ms=None, discarded=NO_LATENCY))
    found = summarise([*_timed(*[400.0] * 9), unknown, unknown, unknown])
    assert found.discarded == {NO_LATENCY: 3}
    assert ttfa(found).p50 == 400


@pytest.mark.parametrize("contexts", [10, 60])
def test_intervals_cover_the_truth_about_as_often_as_they_say(contexts: int) -> None:
    rng = np.random.default_rng(contexts)
    covered = 0
    for trial in range(40):
        effects = rng.normal(500, 50, contexts)
        values = {f"c{c}": list(effects[c] + rng.normal(0, 20, 2)) for c in range(contexts)}
        interval = quantiles_of(values, trial).p50_interval
        assert interval is not None
        covered += interval[0] <= 500 <= interval[1]
    assert covered / 40 > 0.85
