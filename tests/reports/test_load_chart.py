"""The picture of a load measurement holds every step and the bound."""

from pathlib import Path

import pytest

from harness.errors import UserError
from harness.load.ceiling import LoadResult
from harness.load.result import LoadStep
from harness.ranking.percentiles import Quantiles
from harness.reports.charts.load import chart, write_chart

RESULT = LoadResult(
    (
        LoadStep(1, 1, 0, 0, 0.2, 0.3, 1.0, 0.2, Quantiles(p50=400), ()),
        LoadStep(50, 50, 0, 0, 6.5, 30.0, 1.0, 9.0, Quantiles(p50=900, p95=2_000), ("pacing p99 6.5 ms is over 5 ms",)),
        LoadStep(90, 90, 90, 0, 0.0, 0.0, 1.0, 0.0, Quantiles(), ("refused",)),
    ),
    "SCHED_FIFO 20",
)


def test_every_measured_step_is_drawn_and_failed_ones_are_not() -> None:
    drawn = chart(RESULT).to_dict()
    latency, paced = drawn["vconcat"][0]["data"]["values"], drawn["vconcat"][1]["layer"][0]["data"]["values"]
    assert [(row["callers"], row["percentile"]) for row in latency] == [(1, "p50"), (50, "p50"), (50, "p95")]
    assert [row["within"] for row in paced] == ["yes", "no"]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".html"])
def test_it_is_written_without_a_browser(tmp_path: Path, suffix: str) -> None:
    write_chart(RESULT, tmp_path / f"load{suffix}")
    assert (tmp_path / f"load{suffix}").stat().st_size > 2_000


def test_a_page_needs_no_network(tmp_path: Path) -> None:
    write_chart(RESULT, tmp_path / "new" / "load.html")
    page = (tmp_path / "new" / "load.html").read_text()
    assert "<script src=" not in page
    assert "cdn." not in page.split("vegaEmbed")[0]


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="svg"):
        write_chart(RESULT, tmp_path / "load.bmp")
