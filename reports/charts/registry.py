"""All charts that Vega draws, by their section. The joint chart is drawn by `harness.reports.charts.elo_latency_chart`."""

from collections.abc import Callable

from harness.reports.charts import axes, differences, ecdf, endpointing, heatmap, interaction, over_run, stages, strategies
from harness.reports.charts.chart import Chart
from harness.reports.view import PageView

Section = str
Maker = Callable[[PageView], Chart | None]

_MAKERS: dict[Section, tuple[Maker, ...]] = {
    "quality": (heatmap.chart, axes.dots, axes.radar),
    "latency": (ecdf.chart, stages.chart, differences.chart, over_run.latency, over_run.machine, over_run.telemetry),
    "endpointing": (endpointing.curves, endpointing.by_length),
    "interaction": (interaction.chart, interaction.duplex),
    "strategies": (strategies.chart,),
}


def charts(view: PageView) -> dict[Section, tuple[Chart, ...]]:
    """Section → its charts; those without data are left out."""
    return {section: tuple(c for make in makers if (c := make(view)) is not None) for section, makers in _MAKERS.items()}
