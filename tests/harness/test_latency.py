"""Percentiles, shares and intervals with an honest n."""

from dataclasses import replace

import numpy as np
import pytest

from harness.latency import paired_difference, summarise
from harness.turn_timing import TurnTiming

BLANK = TurnTiming(method="test", spoken_end_ms=0, ttfa_ms=None)


def _turn(ttfa_ms: float | None, **fields: object) -> TurnTiming:
    return replace(BLANK, ttfa_ms=ttfa_ms, ttft_ms=100.0, no_reply=ttfa_ms is None, **fields)  # type: ignore[arg-type]


def _timed(*ttfa_ms: float | None) -> list[tuple[str, TurnTiming]]:
    return [(f"c{k}", _turn(value)) for k, value in enumerate(ttfa_ms)]


def test_the_median_is_the_median() -> None:
    summary = summarise(_timed(400, 500, 600))
    assert summary.ttfa_ms.p50 == 500
    assert summary.within_budget.ttfa == pytest.approx(2 / 3)
    assert summary.ttft_ms.p50 == 100


def test_under_eight_conversations_there_is_no_interval() -> None:
    assert summarise(_timed(*range(400, 407))).ttfa_ms.p50_interval is None
    assert summarise(_timed(*range(400, 408))).ttfa_ms.p50_interval is not None


def test_turns_of_one_conversation_do_not_make_an_interval() -> None:
    timed = [(f"c{k % 4}", _turn(400.0 + k)) for k in range(100)]
    assert summarise(timed).ttfa_ms.p50_interval is None


def test_a_p95_needs_sixty_turns() -> None:
    assert summarise(_timed(*range(59))).ttfa_ms.p95 is None
    assert summarise(_timed(*range(60))).ttfa_ms.p95 == pytest.approx(np.percentile(range(60), 95))


def test_no_reply_ranks_last_and_is_never_averaged_away() -> None:
    summary = summarise(_timed(400, None, 500, None, None))
    assert summary.no_reply == 3
    assert summary.ttfa_ms.p50 is None
    assert summary.ttfa_ms.p50_over_limit
    assert summary.ttfa_ms.restricted_mean == pytest.approx((400 + 500 + 3 * 15_000) / 5)
    assert summary.within_budget.ttfa == pytest.approx(0.4 - 0.0)


def test_an_early_start_fails_the_budget_and_ranks_slowest() -> None:
    early = ("early", replace(BLANK, ttfa_ms=None, signed_ms=-200.0))
    summary = summarise([early, early, *_timed(400)])
    assert summary.early == 2
    assert summary.ttfa_ms.p50_over_limit
    assert summary.within_budget.ttfa == pytest.approx(1 / 3)


def test_discarded_turns_are_counted_and_too_many_leave_no_figure() -> None:
    discarded = ("d", replace(BLANK, ttfa_ms=None, discarded="detectors disagree"))
    few = summarise([*_timed(*[400.0] * 39), discarded])
    assert few.discarded == {"detectors disagree": 1}
    assert few.ttfa_ms.p50 == 400
    many = summarise([*_timed(*[400.0] * 9), discarded])
    assert many.ttfa_ms.p50 is None
    assert many.within_budget.ttfa is None


def test_pauses_are_counted_by_pause_and_by_length() -> None:
    turn = _turn(400, pause_durations_ms=(300.0, 900.0), pause_was_cut=(True, False), cut_in=True)
    summary = summarise([("a", turn), ("b", _turn(400))])
    assert summary.pauses_cut == (1, 2)
    assert summary.short_pauses_cut == (1, 1)
    assert summary.false_start_rate == 0.5
    assert summary.cut_in_rate == 0.5


def test_an_agent_without_marks_has_no_ttft_and_no_zero() -> None:
    summary = summarise([("a", replace(_turn(400), ttft_ms=None))])
    assert summary.ttft_ms.p50 is None
    assert summary.ttft_ms.n == 0
    assert summary.within_budget.ttft is None


@pytest.mark.parametrize("contexts", [10, 30, 100])
def test_intervals_cover_the_truth_about_as_often_as_they_say(contexts: int) -> None:
    rng = np.random.default_rng(contexts)
    covered = 0
    for trial in range(120):
        effects = rng.normal(0, 50, contexts)
        timed = [(f"c{c}", _turn(500 + effects[c] + rng.normal(0, 20))) for c in range(contexts) for _ in range(2)]
        interval = summarise(timed, draws=400, seed=trial).ttfa_ms.p50_interval
        assert interval is not None
        covered += interval[0] <= 500 <= interval[1]
    assert covered / 120 > 0.88


def test_pairing_sees_a_difference_that_two_intervals_hide() -> None:
    rng = np.random.default_rng(3)
    hard = rng.normal(0, 300, 30)
    slow = [(f"c{c}", _turn(1_000 + hard[c] + rng.normal(0, 5))) for c in range(30)]
    fast = [(f"c{c}", _turn(960 + hard[c] + rng.normal(0, 5))) for c in range(30)]
    difference = paired_difference(slow, fast)
    assert difference.contexts == 30
    assert difference.interval is not None
    assert difference.interval[0] > 0
    one, other = summarise(slow).ttfa_ms.p50_interval, summarise(fast).ttfa_ms.p50_interval
    assert one is not None
    assert other is not None
    assert one[0] < other[1]


def test_pairing_uses_only_conversations_that_both_have() -> None:
    assert paired_difference(_timed(1, 2, 3), _timed(1, 2)).contexts == 2
    assert paired_difference(_timed(1), [("other", _turn(1))]).value is None
