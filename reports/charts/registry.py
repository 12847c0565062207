"""All charts of a view, by the section they stand in."""

from collections.abc import Callable

from reports.charts import axes, differences, ecdf, elo_latency, endpointing, heatmap, interaction, over_run, stages, strategies
from reports.charts.chart import Chart
from reports.view import PageView

Section = str
Maker = Callable[[PageView], Chart | None]

JOINT_CAPTION = (
    "Up is preferred more often, left is sooner. Bars are 95 % intervals over conversations; a figure without a bar has too "
    "few of them. The dotted line joins agents that none beats on both."
)


def joint(view: PageView) -> Chart | None:
    """The joint chart, as one of all."""
    spec = elo_latency.spec(view)
    return None if spec is None else Chart("elo_latency", "Quality against latency", JOINT_CAPTION, spec)


_MAKERS: dict[Section, tuple[Maker, ...]] = {
    "joint": (joint,),
    "quality": (heatmap.chart, axes.dots, axes.radar),
    "latency": (ecdf.chart, stages.chart, differences.chart, over_run.latency, over_run.machine, over_run.telemetry),
    "endpointing": (endpointing.curves, endpointing.by_length),
    "interaction": (interaction.chart,),
    "strategies": (strategies.chart,),
}


def charts(view: PageView) -> dict[Section, tuple[Chart, ...]]:
    """Section → its charts; those without data are left out."""
    return {section: tuple(c for make in makers if (c := make(view)) is not None) for section, makers in _MAKERS.items()}
