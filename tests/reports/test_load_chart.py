"""The curves of a load test have every step that was measured, and the bound."""

from dataclasses import replace
from typing import Any

import pytest

from harness.load.caller_error import CallerError
from harness.load.ceiling import LoadResult
from harness.load.result import LoadStep
from harness.reports.charts.load import charts
from harness.timing.quantiles import Quantiles

RESULT = LoadResult(
    (
        LoadStep(1, 1, 0, 0, 0.2, 0.3, 1.0, 0.2, Quantiles(p50=400), ()),
        LoadStep(50, 50, 0, 0, 6.5, 31.0, 1.0, 30.0, Quantiles(p50=900, p95=2_000), ("pacing p99 6.5 ms is over 5 ms",)),
        LoadStep(90, 90, 90, 0, 0.0, 0.0, 1.0, 0.0, Quantiles(), ("refused",)),
    ),
    "SCHED_FIFO 20",
)


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
    waits, own = (part.spec for part in charts(replace(RESULT, budget_ms=500.0)))
    assert {"value": 500.0} in [row for mark in waits["layer"] for row in mark.get("data", {}).get("values", [])]
    assert {"value": 1.0} in [row for mark in own["layer"] for row in mark.get("data", {}).get("values", [])]


@pytest.mark.parametrize(("calls", "shown"), [(70, 8.0), (5, 2.0)])
def test_the_callers_error_is_its_p95_and_of_few_calls_its_median(calls: int, shown: float) -> None:
    error = CallerError(calls, 0.0, 2.0, 8.0 if calls >= 60 else None, 9.0)
    own = charts(replace(RESULT, steps=(replace(RESULT.steps[0], caller_error=error),)))[-1].spec
    assert [row["ms"] for row in rows_of(own) if row["figure"] == "TTFA of a known agent"] == [shown]


def test_a_panel_without_a_point_is_left_out() -> None:
    assert charts(LoadResult(RESULT.steps[2:], "", None)) == []
