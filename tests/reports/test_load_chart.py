"""The curves of a load test have every step that was measured, and the bound."""

from dataclasses import replace
from typing import Any

import pytest

from harness.figures.steps import step_figures
from harness.load.result import LoadResult, Step
from harness.reports.charts.load import charts
from harness.store.load_part import CallerError, LoadPart, StepRecord
from harness.timing.quantiles import Quantiles


def step(callers: int, pacing_ms: float | None, lag_ms: float | None, ttfa: Quantiles, *out: str, **more: Any) -> Step:
    record = StepRecord(
        callers=callers, sessions=callers, pacing_p99_error_ms=pacing_ms, loop_lag_p99_ms=lag_ms, out_of_bounds=out,
        says_of_agent=not out, **more,
    )  # fmt: skip
    return Step(record, replace(step_figures([]), ttfa_ms=ttfa))


STEPS = (
    step(1, 0.2, 0.2, Quantiles(p50=400)),
    step(50, 6.5, 30.0, Quantiles(p50=900, p95=2_000), "pacing p99 6.5 ms is over 5 ms"),
    step(90, None, None, Quantiles(), "refused"),
)
RESULT = LoadResult(LoadPart(), STEPS)


def rows_of(part: Any) -> Any:
    """The rows of the first mark of a panel."""
    while "data" not in part:
        part = part["layer"][0]
    return part["data"]["values"]


def test_every_measured_step_is_drawn_and_failed_ones_are_not() -> None:
    waits, own = (rows_of(part.spec) for part in charts(RESULT))
    assert [(row["offered"], row["figure"]) for row in waits] == [(1, "TTFA p50")], "50 says nothing of it"
    assert [(row["offered"], row["ms"]) for row in own] == [(1, 0.2), (1, 0.2), (50, 6.5), (50, 30.0)]
    assert [row["value"] > 1 for row in own] == [False, False, True, True], (
        "each reason why a step says nothing is over its bound"
    )


def test_the_budget_and_the_callers_bounds_are_drawn() -> None:
    waits, own = (part.spec for part in charts(LoadResult(LoadPart(budget_ms=500.0), STEPS)))
    assert {"value": 500.0} in [row for mark in waits["layer"] for row in mark.get("data", {}).get("values", [])]
    assert {"value": 1.0} in [row for mark in own["layer"] for row in mark.get("data", {}).get("values", [])]


@pytest.mark.parametrize(("calls", "shown"), [(70, 8.0), (5, 2.0)])
def test_the_callers_error_is_its_p95_and_of_few_calls_its_median(calls: int, shown: float) -> None:
    error = CallerError(calls=calls, bias_ms=0.0, p50_ms=2.0, p95_ms=8.0 if calls >= 60 else None, max_ms=9.0)
    own = charts(LoadResult(LoadPart(), (step(1, 0.2, 0.2, Quantiles(p50=400), caller_error=error),)))[-1].spec
    assert [row["ms"] for row in rows_of(own) if row["figure"] == "TTFA of a known agent"] == [shown]


def test_a_panel_without_a_point_is_left_out() -> None:
    assert charts(LoadResult(LoadPart(), STEPS[2:])) == []
