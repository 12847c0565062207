"""The curves of a load test have every step that was measured, and the bound."""

from typing import Any

from harness.load.ceiling import LoadResult
from harness.load.result import LoadStep
from harness.ranking.percentiles import Quantiles
from harness.reports.charts.load import charts

RESULT = LoadResult(
    (
        LoadStep(1, 1, 0, 0, 0.2, 0.3, 1.0, 0.2, Quantiles(p50=400), ()),
        LoadStep(50, 50, 0, 0, 6.5, 30.0, 1.0, 9.0, Quantiles(p50=900, p95=2_000), ("pacing p99 6.5 ms is over 5 ms",)),
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
    assert [(row["offered"], row["ms"]) for row in own] == [(1, 0.2), (50, 6.5)]
    assert [row["value"] > 1 for row in own] == [False, True]


def test_a_panel_without_a_point_is_left_out() -> None:
    assert charts(LoadResult(RESULT.steps[2:], "", None)) == []
