"""A step's figures from its calls: which turns count, whose the failures are, and the caller's own error."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.agents.connections import ConnectionSpec, make
from harness.caller import CallerTurn, Limits, Pacer, SessionOutcome, SessionPlan, play_session
from harness.caller.exchange import write_raw
from harness.figures.steps import step_figures
from harness.load.arrivals import Arrivals
from harness.load.caller_error import MOST_MS, caller_error, too_inexact
from harness.load.measuring import Call, Offered, _at_once, _Measured, _record, _while_full, measured_step
from harness.load.result import Step
from harness.load.steps import numbered
from harness.store.load_part import FILLING, Used
from harness.store.session import UnrecordedCall
from tests.harness.load.made_turns import turn

S = 10**9
OPEN = Offered(arrivals=Arrivals("poisson", 1.0, 20.0, 1))


def used(_: float) -> Used:
    return Used(processes=1, cores_a_caller=0.01, busiest_process=0.2, machine=0.4, mib_a_caller=1.0)


def failed(number: int, kind: str, detail: str = "") -> Call:
    due_ns = (100 + number) * S
    return Call(number, numbered(number), SessionOutcome("failed", kind, detail, begun_ns=due_ns), Path("nowhere"), due_ns)


async def step_of(*calls: Call) -> tuple[Step, tuple[UnrecordedCall, ...]]:
    record, rows = await measured_step(OPEN, calls, None, used)
    return Step(record, step_figures(rows)), rows


async def test_an_agent_that_turns_every_caller_away_is_said_to_fail_and_not_left_out() -> None:
    step, rows = await step_of(*(failed(k, "refused", "no\nplace") for k in range(70)))
    assert step.record.says_of_agent
    assert step.record.out_of_bounds == ()
    assert all(row.turn_timings[0].no_reply for row in rows)
    entry = step.to_json()
    assert entry["failed_rate"]["value"] == 1.0
    assert entry["ttfa_ms"]["p95_over_limit"]
    limit = step.over()
    assert limit is not None
    assert limit.in_words() == "the agent: 70 of 70 calls failed (refused: no\u00b7place)"


async def test_calls_that_the_caller_itself_lost_are_no_fault_of_the_agent() -> None:
    for calls in ([failed(k, "caller_died", "exit -9") for k in range(10)], [failed(0, "caller_error"), failed(1, "refused")]):
        step, rows = await step_of(*calls)
        limit = step.over()
        assert not step.record.says_of_agent
        assert limit is not None
        assert limit.of == "caller"
        assert "failed in the caller itself" in limit.detail
        assert rows[0].turn_timings == ()
        assert step.to_json()["failed_rate"] is None


async def test_failures_of_which_nobody_knows_whose_they_are_leave_no_figure() -> None:
    step, _ = await step_of(*(failed(k, "unauthorised", "wrong key") for k in range(3)))
    assert not step.record.says_of_agent
    assert step.record.failure == "unauthorised: wrong key"


async def test_the_most_frequent_failure_is_the_reason() -> None:
    step, _ = await step_of(failed(0, "garbage", "x"), failed(1, "refused", "full"), failed(2, "refused", "later"))
    assert step.record.failure == "refused: full"


async def test_turns_that_a_caller_never_came_to_speak_are_counted_with_their_reason(tmp_path: Path) -> None:
    tone = (8_000 * np.sin(2 * np.pi * 200 * np.arange(8_000) / 16_000)).astype(np.int16)
    turns = (CallerTurn(tone), *(CallerTurn(tone, start="after_reply") for _ in range(2)))
    script = ConnectionSpec("scripted", options={"replies": []})
    plan = SessionPlan(script, turns, 16_000, lead_in_ms=100.0, limits=Limits(no_reply_s=0.3))
    recording, outcome = await play_session(plan, make(script), Pacer())
    write_raw(recording, tmp_path)
    record, (stored,) = await measured_step(Offered(callers=1), [Call(0, numbered(0), outcome, tmp_path)], None, used)
    assert (stored.key.step, stored.spoken_turns, stored.planned_turns, stored.ended) == ("1 at once", 1, 3, "no_reply")
    assert (record.spoken, record.unspoken) == ((1, 3), {"no reply": 2})


@pytest.mark.parametrize(
    ("errors_ms", "said"),
    [
        ([], ""),
        ([9.0, -9.0] * 40, ""),
        ([-11.0] * 5, "11 ms off (p50)"),
        ([1.0] * 55 + [-200.0] * 5, "200 ms off (p95)"),
        ([1.0] * 54 + [200.0] * 5, ""),
    ],
)
def test_the_callers_own_error_is_its_size_and_of_few_calls_the_median(errors_ms: list[float], said: str) -> None:
    words = too_inexact(caller_error(errors_ms))
    assert bool(words) == bool(said)
    assert said in words


def test_the_bias_of_the_caller_has_a_sign_and_its_size_none() -> None:
    found = caller_error([-4.0, 2.0])
    assert found is not None
    assert (found.bias_ms, found.p50_ms, found.p95_ms, found.max_ms) == (-1.0, 3.0, None, 4.0)
    assert MOST_MS == 10


def spoken(number: int, lasts_s: float, end_s: float = 1.0) -> _Measured:
    """A call that is due `number` seconds after the first, and whose caller ends `end_s` after it was dialled."""
    due_ns = (100 + number) * S
    stored = replace(turn(number, (due_ns / S) + end_s), due_ns=due_ns, begun_ns=due_ns)
    return _Measured(stored, due_ns, due_ns + round(lasts_s * S))


def counted(found: list[_Measured]) -> list[int]:
    rows = [each.stored for each in _while_full(OPEN, found)]
    return [row.key.repeat for row in rows if row.turn_timings[0].discarded != FILLING]


def test_turns_count_from_when_as_many_calls_end_as_begin_until_the_last_caller_comes() -> None:
    # Of 21 calls one lasts long: 95 % are over within 6 s. A caller who is still speaking when the last one comes is out.
    calls = [spoken(k, 15.0 if k == 3 else 6.0) for k in range(21)]
    assert counted(calls) == list(range(5, 20))
    assert counted([spoken(k, 100.0) for k in range(21)]) == list(range(9, 20)), "half of the step at most"
    assert _while_full(Offered(callers=21), calls) == calls, "a wave is full from its beginning"


def test_the_open_calls_are_their_mean_while_the_load_is_full() -> None:
    most, mean = _at_once([spoken(k, 4.0) for k in range(21)])
    assert most == 4, "one ends as the next begins"
    assert mean == pytest.approx(4.0)
    assert _at_once([spoken(0, 4.0)]) == (1, None), "one caller has no rate"


async def test_a_caller_who_is_inexact_sets_the_step_apart() -> None:
    step, _ = await measured_step(OPEN, [failed(k, "refused") for k in range(3)], None, used, caller_error([-50.0] * 5))
    assert not step.says_of_agent
    assert "50 ms off (p50)" in "; ".join(step.out_of_bounds)


@pytest.mark.parametrize(("late", "apart"), [(2, False), (8, True)])
def test_one_late_second_among_hundreds_sets_no_step_apart_and_many_do(late: int, apart: bool) -> None:
    lags = [(1.0,) * 10] * (40 - late) + [(1.0,) * 9 + (60.0,)] * late
    calls = [replace(spoken(k, 6.0), errors_ms=np.full(50, 0.2), loop_lag_ms=lag) for k, lag in enumerate(lags)]
    step = _record(OPEN, calls, used, None)
    assert bool(step.out_of_bounds) is apart
    assert step.loop_lag_p99_ms == (60.0 if apart else 1.0)


@pytest.mark.parametrize("off", [0.9, 1.1])
@pytest.mark.parametrize(("count", "apart"), [(1, False), (3, True)])
def test_one_call_out_of_pace_among_hundreds_sets_no_step_apart_and_some_do(count: int, apart: bool, off: float) -> None:
    ratios = [1.0001] * (200 - count) + [off] * count
    calls = [replace(spoken(k, 6.0), errors_ms=np.full(50, 0.2), realtime_ratio=ratio) for k, ratio in enumerate(ratios)]
    assert bool(_record(OPEN, calls, used, None).out_of_bounds) is apart


async def test_each_call_that_is_measured_is_shown() -> None:
    seen: list[tuple[int, int]] = []
    calls = [failed(k, "refused") for k in range(3)]
    await measured_step(OPEN, calls, None, used, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
