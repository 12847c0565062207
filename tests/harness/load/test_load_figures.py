"""The figures of a step, over stretches of time, and what several steps say together."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from harness.figures.load_knee import CurveStep, calls_within, knee
from harness.figures.steps import step_figures
from harness.statistics.drawn_quantiles import Drawn, drawn_quantile
from harness.statistics.interval import TAIL
from harness.turns.estimate import estimate
from harness.turns.of_run import rows_of_call
from harness.turns.table import TurnTable, stretches_of
from tests.harness.load.made_turns import queued, turn

RATES = (1.0, 2.0, 4.0, 6.0, 8.0, 9.0)


def test_a_stretch_holds_all_turns_of_its_time_and_each_turn_is_in_one() -> None:
    at_ns = np.array([call.started_ns for call in queued(4.0, 180.0, 1)])
    place = stretches_of(at_ns)
    assert set(place) == set(range(11)), "180 s in stretches of at least 15 s, from the first turn to the last"
    assert all(at_ns[place == one].max() < at_ns[place == one + 1].min() for one in range(10))


def test_turns_that_do_not_count_and_failures_of_the_harness_take_no_part() -> None:
    turns = [turn(k, k) for k in range(10)]
    more = [turn(10, 400, counted=False), turn(11, 11, None, failure="caller_died"), turn(12, 12, None, failure="no_history")]
    one, two = step_figures([*turns, *more]), step_figures(turns)
    assert (one.turns, one.stretches, one.ttfa_ms) == (two.turns, two.stretches, two.ttfa_ms) == (10, 1, one.ttfa_ms)
    assert step_figures([]).turns == 0


def test_an_agent_that_turns_callers_away_is_not_quicker_for_it() -> None:
    quick = [turn(k, k) for k in range(95)]
    refused = [turn(100 + k, k, None, failure="refused") for k in range(10)]
    found = step_figures([*quick, *refused])
    assert found.ttfa_ms.p95 is None
    assert found.ttfa_ms.p95_over_limit
    assert (found.failed.hits, found.failed.of) == (10, 105)
    assert (found.no_reply.hits, found.no_reply.of) == (10, 105)
    assert found.continuity.of == 95, "a call that failed has no reply that could have a gap"


def test_continuity_counts_replies_and_not_gaps() -> None:
    turns = [turn(0, 0), turn(1, 1, underruns=7), turn(2, 2), turn(3, 3, None), turn(4, 4, discarded="detectors disagree")]
    found = step_figures(turns)
    assert (found.continuity.hits, found.continuity.of) == (2, 3)
    assert found.continuity.value == pytest.approx(2 / 3)


def test_too_many_discarded_turns_leave_no_wait() -> None:
    turns = [turn(k, k) for k in range(20)]
    assert step_figures([*turns, turn(30, 30, discarded="x")]).ttfa_ms.n == 20
    assert step_figures([*turns, *(turn(30 + k, 30, discarded="x") for k in range(3))]).ttfa_ms.n == 0
    assert step_figures([*turns, *(turn(30 + k, 30, counted=False) for k in range(30))]).ttfa_ms.n == 20, "no fault of anybody"


def test_several_turns_of_a_call_are_one_call() -> None:
    twice = turn(0, 0)
    calls = [replace(twice, turn_timings=twice.turn_timings * 2), turn(1, 10, None, failure="refused")]
    assert (step_figures(calls).turns, step_figures(calls).failed.hits, step_figures(calls).failed.of) == (3, 1, 2)


def test_under_eight_stretches_there_is_no_interval() -> None:
    few = step_figures(queued(4.0, 100.0, 1)).ttfa_ms
    assert (few.p50_interval, few.p95_interval, few.p95_at_least) == (None, None, None)
    assert step_figures(queued(4.0, 180.0, 1)).ttfa_ms.p50_interval is not None


def test_a_row_has_the_bounds_that_the_gate_reads() -> None:
    calls = queued(4.0, 180.0, 1)
    found = estimate(
        TurnTable.of(row for call in calls for row in rows_of_call(call)).in_stretches(), "ttfa_ms.p95", {}, "stretch"
    )
    assert found is not None
    assert step_figures(calls).ttfa_ms.p95_interval == found.bounds(TAIL)


def test_near_the_knee_an_interval_over_calls_would_be_too_narrow() -> None:
    """Calls that queue together are slow together."""
    wider = []
    for seed in range(3):
        turns = queued(8.0, 150.0, seed)
        stretch = step_figures(turns).ttfa_ms.p50_interval
        table = TurnTable.of(row for call in turns for row in rows_of_call(call))
        each = {str(k): [ms] for k, ms in enumerate(table.given("ttfa").measured)}
        drawn = Drawn.quantile(each, 0.5, seed=1)
        assert drawn is not None
        call = drawn.bounds(0.025)
        assert stretch is not None
        wider.append((stretch[1] - stretch[0]) / (call[1] - call[0]))
    assert np.median(wider) > 1.5


@cache
def curve(*rates: float) -> list[CurveStep]:
    return [CurveStep(rate, 20 * rate, step_figures(queued(rate, 240.0, 1)).ttfa_by_stretch) for rate in rates]


def test_the_rate_within_a_budget_is_between_the_steps_around_it() -> None:
    found = calls_within(curve(*RATES), 1_000.0)
    assert found is not None
    # A queue of one server that serves ten a second: the p95 of its time is ln 20 / (10 − rate), so 700 ms at 5.7 a second.
    assert found.rate == pytest.approx(10 - math.log(20) / 0.7, abs=1.0)
    assert found.interval is not None
    assert found.interval[0] <= found.rate <= found.interval[1]
    assert found.at_once == pytest.approx(20 * found.rate)
    assert "calls a second [" in found.words


def test_a_rate_outside_of_what_was_played_is_a_bound_and_no_figure() -> None:
    above, below = calls_within(curve(*RATES), 60_000.0), calls_within(curve(*RATES), 301.0)
    assert above is not None
    assert below is not None
    assert above.words == "at least 9 calls a second [over 9]"
    assert below.words == "under 1 call a second [under 1]"
    assert above.to_json() == below.to_json() == {"rate": None, "interval": [None, None], "calls_at_once": None}
    assert calls_within([], 500.0) is None
    assert calls_within([CurveStep(1.0, 20.0, {"0": [400.0] * 59})], 500.0) is None, "59 turns have no p95"


def test_the_knee_is_where_a_further_caller_costs_more_than_it_brings() -> None:
    found = knee(curve(*RATES))
    assert found is not None
    assert found.rate in RATES[1:-1]
    rates = np.array(RATES)
    waits = [np.percentile([v for group in step.ttfa_ms.values() for v in group], 95) for step in curve(*RATES)]
    assert found.rate == rates[np.argmax(rates / np.array(waits))]
    assert found.interval is not None
    assert set(found.interval) <= {0.0, *RATES, math.inf}, "the knee is one of the steps in each draw"
    assert knee([*reversed(curve(*RATES))]) == found, "in whatever order they were played"


def test_without_three_steps_or_beyond_the_last_there_is_no_knee() -> None:
    assert knee(curve(1.0, 2.0)) is None
    free = knee(curve(0.5, 1.0, 1.5))
    assert free is not None
    assert math.isinf(free.rate)
    assert free.at_once is None
    full = knee(curve(9.0, 9.5, 9.9))
    assert full is not None
    assert full.rate == 0.0, "nor where the first step is beyond it"
    assert full.at_once is None
    silent = [CurveStep(rate, 1.0, {str(k): [math.inf] * 10 for k in range(10)}) for rate in (1.0, 2.0, 4.0)]
    assert knee(silent) is None, "a step that serves nobody has no power"


def test_an_end_between_a_played_rate_and_none_is_outside() -> None:
    """A half of the draws of the only step is over its budget."""
    mixed = {str(k): [400.0] * 20 if k % 2 else [400.0] * 17 + [600.0] * 3 for k in range(10)}
    found = calls_within([CurveStep(2.0, 40.0, mixed), CurveStep(4.0, 80.0, {k: [900.0] * 20 for k in mixed})], 500.0)
    assert found is not None
    assert found.interval is not None
    assert all(end == 0 or 2.0 <= end <= 4.0 for end in found.interval)


def test_a_step_of_which_many_have_no_reply_serves_nobody() -> None:
    silent = CurveStep(20.0, 400.0, {str(k): [math.inf] * 10 for k in range(10)})
    found, bend = calls_within([*curve(1.0, 2.0), silent], 1_000.0), knee([*curve(1.0, 2.0), silent])
    assert found is not None
    assert found.rate == 2.0, "on the way to infinity the last step within the budget counts"
    assert bend is not None
    assert bend.rate == 2.0


def test_few_stretches_have_no_bounds_and_equal_tests_no_change() -> None:
    few = Drawn.quantile({str(k): [400.0] * 20 for k in range(7)}, 0.95, seed=1)
    assert few is not None
    assert few.bounds(0.025) == (-math.inf, math.inf)
    same = Drawn.quantile({str(k): [math.inf] * 20 for k in range(9)}, 0.95, seed=1)
    assert same is not None
    assert same.less(same).bounds(0.01) == (0.0, 0.0)
    assert same.bounds(0.01) == (math.inf, math.inf)
    assert Drawn.quantile({}, 0.95, seed=1) is None


def test_an_early_answer_ranks_slowest_and_a_discarded_turn_is_unknown() -> None:
    early = [turn(k, k, 900.0, signed_ms=-200.0) for k in range(10)]
    found = step_figures([*(turn(100 + k, k) for k in range(90)), *early])
    assert found.ttfa_ms.p95_over_limit
    unknown = [turn(k, k, 10.0, discarded="detectors disagree") for k in range(2)]
    waits = step_figures([*(turn(10 + k, k) for k in range(90)), *unknown]).ttfa_by_stretch
    assert {value for group in waits.values() for value in group} == {400.0}


def test_cut_ins_are_turns_that_are_known() -> None:
    turns = [turn(0, 0), turn(1, 1, cut_in=True), turn(2, 2, cut_in=True, discarded="x"), turn(3, 3, None, failure="refused")]
    found = step_figures([*turns, *(turn(9 + k, 4) for k in range(60)), turn(4, 4, None, discarded="x")])
    assert (found.cut_ins.hits, found.cut_ins.of) == (1, 63)
    assert (found.no_reply.hits, found.no_reply.of) == (1, 63)
    assert (found.failed.hits, found.failed.of) == (1, 65), "a turn without reply is no failed call"


def test_a_difference_has_the_stretches_of_the_shorter_test() -> None:
    long, short = (Drawn.quantile({str(k): [400.0] * 20 for k in range(n)}, 0.95, seed=1) for n in (20, 7))
    assert long is not None
    assert short is not None
    assert long.less(short).contexts == short.less(long).contexts == long.ratio(short).contexts == 7


def test_draws_in_parts_are_the_draws_of_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {str(k): [400.0 + 10 * k, 500.0 - 7 * k] for k in range(12)}
    whole = drawn_quantile(values, 0.95, seed=3, draws=500)
    monkeypatch.setattr("harness.statistics.drawn_quantiles.CELLS_AT_ONCE", 7 * 24)
    assert (drawn_quantile(values, 0.95, seed=3, draws=500) == whole).all()
