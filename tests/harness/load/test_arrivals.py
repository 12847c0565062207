"""Callers come by their law at instants that nothing moves, and nobody waits for anybody."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scipy.stats import expon, gamma, kstest

from harness.agents.connections import ConnectionSpec, make
from harness.calibrate.agent_process import metrology_agent
from harness.caller import CallerTurn, Limits, Pacer, SessionPlan, play_session
from harness.caller.pacer import precise_loop, until
from harness.clock import now_ns
from harness.errors import UserError
from harness.load.arrivals import Arrivals, Law, arrival_figures, arrive, late_arrivals, parse_law, parse_rates
from harness.load.result import LoadResult
from harness.load.steps import Load, load_rates
from harness.store.session import UnrecordedCall
from tests.virtual_time.clock import virtual_time

MOST_DISTANCE = 0.05
RATE, LASTS_S = 50.0, 24.0
TONE = (8_000 * np.sin(2 * np.pi * 200 * np.arange(1_600) / 16_000)).astype(np.int16)
SHORT = Limits(quiet_s=0.1, no_reply_s=0.2, total_s=1.0)
LAWS = {"poisson": expon(scale=1 / RATE), "burst": gamma(0.5, scale=2 / RATE)}


def silent(_: int = 0) -> SessionPlan:
    """A call of 0.4 s that is never answered: many are open at once, and none of them may delay another."""
    spec = ConnectionSpec("scripted", options={"replies": []})
    return SessionPlan(spec, (CallerTurn(TONE),), 16_000, limits=SHORT, lead_in_ms=100)


@pytest.mark.parametrize("law", get_args(Law))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_gaps_follow_their_law_at_the_rate_that_was_asked(law: Law, seed: int) -> None:
    at_s = np.array(Arrivals(law, RATE, 60.0, seed).offsets_ns()) / 1e9
    assert at_s.size >= 1_000
    assert (np.diff(at_s) >= 0).all()
    assert at_s.size / 60 == pytest.approx(RATE, rel=0.15)
    assert kstest(np.diff(at_s), LAWS[law].cdf).statistic <= MOST_DISTANCE
    other = "burst" if law == "poisson" else "poisson"
    assert kstest(np.diff(at_s), LAWS[other].cdf).statistic > 2 * MOST_DISTANCE, "the test can fail"


def test_a_seed_is_a_schedule_and_no_step_moves_another() -> None:
    drawn = Arrivals("poisson", 5.0, 60.0, 7).offsets_ns()
    assert drawn == Arrivals("poisson", 5.0, 60.0, 7).offsets_ns()
    assert drawn == tuple(at for at in Arrivals("poisson", 5.0, 60.0, 7).offsets_ns() if at < 60e9)
    assert drawn != Arrivals("poisson", 5.0, 60.0, 8).offsets_ns()
    half = Arrivals("poisson", 2.5, 60.0, 7).offsets_ns()
    assert drawn[:20] != pytest.approx([at / 2 for at in half[:20]], rel=1e-6), "no stretched copy of another rate"
    assert len(Arrivals("burst", 5.0, 60.0, -1).offsets_ns()) > 100, "any whole number is a seed"


@pytest.mark.parametrize("law", get_args(Law))
def test_a_thousand_calls_begin_by_the_law_though_every_one_is_waited_for(law: Law) -> None:
    """Whole calls with sound, in virtual time: what begins late here waits for another call."""
    arrivals = Arrivals(law, RATE, LASTS_S, seed=1)
    offsets = arrivals.offsets_ns()

    async def run() -> tuple[list[int], list[int], int]:
        pacer, open_calls, most = Pacer(), 0, 0

        async def call(_: int, due_ns: int) -> tuple[int, int]:
            nonlocal open_calls, most
            await until(due_ns)
            begun_ns = now_ns()
            open_calls += 1
            most = max(most, open_calls)
            plan = silent()
            recording, _outcome = await play_session(plan, make(plan.connection), pacer)
            assert len(recording.caller.departures_ns) > 15
            open_calls -= 1
            return due_ns, begun_ns

        both = await arrive(offsets, call)
        return [due for due, _ in both], [begun for _, begun in both], most

    with virtual_time() as loop, asyncio.Runner(loop_factory=loop) as runner:
        due, begun, most = runner.run(run())
    assert len(begun) >= 1_000
    found = arrival_figures(arrivals, due, begun)
    assert found is not None
    assert found.law_distance <= MOST_DISTANCE
    assert found.p99_error_ms < 1
    assert not late_arrivals(found)
    assert most > 2 * RATE * 0.4 / 2, "calls overlap: with a caller who waits there would be one"


@pytest.mark.long
@pytest.mark.alone
async def test_a_thousand_calls_begin_by_the_law_on_the_machine_s_own_clock(tmp_path: Path) -> None:
    rows: list[UnrecordedCall] = []
    result = await load_rates(
        Load(silent, finished=lambda calls, _: rows.extend(calls), within=tmp_path),
        [Arrivals("poisson", RATE, LASTS_S, seed=1)],
    )
    step = result.steps[0].record
    assert step.arrivals is not None
    assert step.arrivals.calls >= 1_000
    assert step.arrivals.law_distance <= MOST_DISTANCE
    assert len(rows) == step.sessions
    assert step.calls_at_once is not None
    assert step.calls_at_once > RATE * 0.3


async def test_a_caller_process_dials_at_the_instant_that_it_is_given(tmp_path: Path) -> None:
    """In real time, so what is held to is the order: an agent that dawdles with one call is called on time by the next."""
    rows: list[UnrecordedCall] = []
    async with metrology_agent(1, 16, keep_arrivals=False, delay_ms=200) as agent:
        calls = iter(range(1_000))
        limits = Limits(quiet_s=0.2, no_reply_s=2.0, total_s=4.0)
        each = Load(
            lambda _: SessionPlan(
                ConnectionSpec("raw-pcm", f"{agent.url}/{next(calls)}"), (CallerTurn(TONE),), 16_000, limits=limits
            ),
            finished=lambda calls, _: rows.extend(calls), within=tmp_path,
        )  # fmt: skip
        result = await load_rates(each, [Arrivals("poisson", 4.0, 3.0, seed=3)])
    step = result.steps[0].record
    begun = [row.begun_ns for row in rows]
    due = [row.due_ns for row in rows]
    assert None not in begun
    assert None not in due
    assert all(b >= d for b, d in zip(begun, due, strict=True) if b is not None and d is not None), "nobody comes early"
    gaps = np.diff(np.array(due, np.int64))
    assert (gaps > 0).all()
    assert step.rate == 4.0
    assert step.callers > 1, "calls overlap"
    assert result.to_json()["steps"][0]["rate"] == 4.0
    assert result.to_json()["arrivals"] == "poisson"
    assert os.listdir(tmp_path) == [], "recordings are gone once they are measured"


async def test_an_interrupted_test_has_its_finished_steps(tmp_path: Path) -> None:
    rows: list[UnrecordedCall] = []
    results: list[LoadResult] = []
    first = asyncio.Event()

    def finished(calls: Sequence[UnrecordedCall], result: LoadResult) -> None:
        rows.extend(calls)
        results.append(result)
        first.set()

    each = Load(silent, finished=finished, within=tmp_path)
    steps = [Arrivals("poisson", 8.0, 1.0, 1), Arrivals("poisson", 4.0, 3_600.0, 1)]
    playing = asyncio.create_task(load_rates(each, steps))
    await asyncio.wait_for(first.wait(), 120)
    await asyncio.sleep(0.5)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert [step.record.rate for step in results[-1].steps] == [8.0]
    assert {row.key.step for row in rows} == {"8 calls/s"}
    assert len(rows) == results[-1].steps[0].record.sessions
    assert os.listdir(tmp_path) == []


def test_an_error_in_one_call_ends_the_schedule() -> None:
    async def run() -> None:
        async def call(number: int, due_ns: int) -> int:
            await until(due_ns)
            if number == 2:
                raise OSError("the disk is full")
            await asyncio.sleep(3_600)
            return number

        await arrive([k * 10**9 for k in range(10)], call)

    with virtual_time() as loop, asyncio.Runner(loop_factory=loop) as runner, pytest.raises(OSError, match="disk"):
        runner.run(run())


def test_late_callers_are_said() -> None:
    arrivals = Arrivals("poisson", 1.0, 10.0, 1)
    due = [k * 10**9 for k in range(100)]
    late = arrival_figures(arrivals, due, [at + 50_000_000 for at in due])
    assert "late, p99 50 ms" in late_arrivals(late)
    assert late_arrivals(arrival_figures(arrivals, due, [at + 19_000_000 for at in due])) == ""
    assert late_arrivals(arrival_figures(arrivals, due, [at + 21_000_000 for at in due])), "a frame is the most"
    assert late_arrivals(arrival_figures(arrivals, due, [at - 50_000_000 for at in due])), "too early is no better"
    three = arrival_figures(arrivals, due, [at + 70_000_000 * (k in (7, 8, 9)) for k, at in enumerate(due)])
    assert three is not None
    assert (three.p99_error_ms, three.max_error_ms) == (70.0, 70.0), "three callers of a hundred are beyond a p99"
    crossed = arrival_figures(arrivals, due, [due[1], due[0], *due[2:]])
    assert crossed is not None
    in_order = arrival_figures(arrivals, due, due)
    assert in_order is not None
    assert crossed.law_distance == in_order.law_distance, "gaps are between callers as they came"
    assert arrival_figures(arrivals, due[:1], due[:1]) is None
    assert late_arrivals(None) == ""


@pytest.mark.parametrize("text", ["", "0", "-1", "1,1", "a", "1;2", "1001", "nan", "inf"])
def test_rates_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(UserError, match=r"write calls a second"):
        parse_rates(text)


def test_rates_and_laws_are_read() -> None:
    assert parse_rates("0.5,1,2") == (0.5, 1.0, 2.0)
    assert parse_law("burst") == "burst"
    with pytest.raises(UserError, match="choose one of poisson, burst"):
        parse_law("uniform")


def test_the_loop_of_a_caller_wakes_at_its_instant_and_not_before() -> None:
    async def run() -> int:
        at_ns = now_ns() + 20_000_000
        await until(at_ns)
        return now_ns() - at_ns

    with asyncio.Runner(loop_factory=precise_loop) as runner:
        assert runner.run(run()) >= 0
