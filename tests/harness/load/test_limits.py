"""Who gave way, and how many callers are tried next: pure functions of what steps came to."""

from dataclasses import replace

import pytest

from harness.figures.steps import step_figures
from harness.load.result import LoadResult, Step, without_nan
from harness.load.steps import MOST, next_callers, rounds_for
from harness.statistics.interval import TURNS_FOR_P95
from harness.store.load_part import LoadPart, StepRecord, Used
from harness.timing.quantiles import Quantiles

BUDGET_MS = 500.0


def step(
    callers: int = 10,
    *,
    p95: float | None = 400.0,
    late: bool = False,
    machine: float = 0.4,
    process: float = 0.2,
    failed: int = 0,
    no_reply: int = 0,
    over_limit: bool = False,
) -> Step:
    out = ("pacing p99 6.5 ms is over 5 ms",) if late else ()
    used = Used(processes=1, cores_a_caller=0.01, busiest_process=process, machine=machine, mib_a_caller=1.0)
    ttfa = Quantiles(p50=300.0, p95=p95, p95_over_limit=over_limit, n=callers)
    record = StepRecord(
        callers=callers, sessions=callers, failed=failed, no_reply=no_reply, out_of_bounds=out, used=used, says_of_agent=not out
    )
    return Step(record, replace(step_figures([]), ttfa_ms=ttfa))


def played(*steps: Step) -> LoadResult:
    return LoadResult(LoadPart(budget_ms=BUDGET_MS), steps)


@pytest.mark.parametrize(
    ("found", "of", "said"),
    [
        (step(), None, ""),
        (step(p95=None), None, ""),
        (step(p95=640), "agent", "TTFA p95 640 ms is over 500 ms"),
        (step(p95=640, machine=0.94), "agent", "TTFA p95 640 ms"),
        (step(p95=640, machine=0.96), "machine", "while its cores were 96% busy"),
        (step(late=True, process=0.89), "machine", "its cores were 40% busy"),
        (step(late=True, process=0.91), "caller", "used 91% of a core"),
        (step(20, no_reply=1), None, ""),
        (step(20, no_reply=2), "agent", "2 of 20 calls had no reply"),
        (step(p95=640, machine=0.99), "machine", "while its cores were 99% busy"),
        (step(p95=None, over_limit=True), "agent", "TTFA p95 is a turn without reply or answered before its end"),
        (step(late=True, p95=640, process=0.96), "caller", "one of its processes used 96% of a core"),
        (step(late=True, p95=640, process=0.96, machine=0.98), "machine", "its cores were 98% busy"),
        (step(late=True, p95=640), "machine", "pacing p99 6.5 ms is over 5 ms; its cores were 40% busy"),
        (step(failed=2), "agent", "2 of 10 calls failed"),
        (step(failed=10), "agent", "10 of 10 calls failed"),
        (step(no_reply=1), "agent", "1 of 10 calls had no reply"),
    ],
)
def test_who_gave_way(found: Step, of: str | None, said: str) -> None:
    limit = found.over(BUDGET_MS)
    assert (limit.of if limit else None) == of
    assert said in (limit.in_words() if limit else "")


def test_without_a_budget_a_slow_agent_holds() -> None:
    assert step(p95=5_000).over() is None


def test_the_ceiling_is_the_most_that_held_below_the_first_that_did_not_in_whatever_order_they_were_played() -> None:
    result = played(step(4), step(8), step(16, p95=900), step(12), step(14, late=True))
    assert result.ceiling == 12
    assert result.limit is not None
    assert result.limit[0] == 14
    told = result.to_json()
    assert told["limit"]["of"] == "machine"
    assert told["steps"][0]["used"]["machine"] == 0.4
    assert played(step(4)).to_json()["limit"] is None


@pytest.mark.parametrize("stands", [0, 1, 2, 3, 4, 5, 9, 31, 64, 150, 997, 5_000])
def test_the_ladder_finds_what_an_agent_stands_to_a_tenth_in_few_steps(stands: int) -> None:
    held: dict[int, bool] = {}
    while (wanted := next_callers(held)) is not None:
        assert wanted not in held, "no step is tried twice"
        held[wanted] = wanted <= stands
    best = max((n for n, kept in held.items() if kept), default=0)
    assert best <= stands
    assert min(stands, MOST) - best <= max(1, round(0.1 * best))
    assert len(held) <= 14


def test_every_step_has_turns_enough_for_a_p95() -> None:
    assert all(callers * rounds_for(callers) >= TURNS_FOR_P95 for callers in range(1, 200))


def test_numbers_that_json_does_not_have_are_null_in_whatever_they_are() -> None:
    nan, infinite = float("nan"), float("inf")
    assert without_nan({"a": nan, "b": [infinite, 1.5, (2.0, nan)], "c": "nan"}) == {
        "a": None, "b": [None, 1.5, [2.0, None]], "c": "nan",
    }  # fmt: skip
