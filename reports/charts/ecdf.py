"""The cumulative distribution of each agent's latencies over all turns, with the budgets.

A median hides the turn that took four seconds; this curve does not. A curve that stops below 100 % belongs to an agent that
left callers without a reply. Curves are thinned to one point per percentile, which cannot be distinguished from all points.
"""

from collections.abc import Callable, Iterator
from typing import Any

import altair as alt
import numpy as np

from harness.reports.charts.chart import Chart
from harness.reports.charts.scale import latency_label
from harness.reports.charts.theme import LIMIT, latency_axis, legend, of_subset, subset_spec
from harness.reports.view import SUBSETS, PageView, Subset
from harness.reports.wording import shows
from harness.turns.bounded import Bounded

POINTS, HEIGHT_PX = 120, 340


def chart(view: PageView) -> Chart | None:
    """The chart; None if no turn has a latency."""
    figure, name, budget_ms = view.waits_by
    values = [
        {"agent": agent.name, "subset": subset, "latency": round(at, 1), "share": round(share, 4)}
        for agent in view.agents
        for subset in SUBSETS
        for at, share in _curve(_waits(view, figure, agent.name, subset), lambda wait: wait.high_ms)
    ]
    bands: list[dict[str, Any]] = [
        {
            "agent": agent.name,
            "subset": subset,
            "latency": round(high, 1),
            "low": round(low, 1),
            "share": round(at, 4),
            "px": px,
        }
        for agent in view.agents
        for subset in SUBSETS
        for low, high, at, px in _band(_waits(view, figure, agent.name, subset))
    ]
    if not values:
        return None
    names = [agent.name for agent in view.agents]
    lines = [
        {"at": budget_ms, "label": f"budget {latency_label(budget_ms)}"},
        {"at": view.comfort_ms, "label": f"comfort {latency_label(view.comfort_ms)}"},
    ]
    rules = alt.Chart(alt.InlineData(values=lines))
    highlight = alt.selection_point(name="who", fields=["agent"], bind="legend")
    curves = (
        of_subset(values)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("latency:Q", scale=alt.Scale(type="log", nice=False), axis=latency_axis(name)),
            y=alt.Y(
                "share:Q",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(title="Share of turns answered by then", format="%"),
            ),
            color=alt.Color("agent:N", scale=alt.Scale(domain=names), legend=legend(names)),
            strokeDash=alt.StrokeDash("agent:N", scale=alt.Scale(domain=names)),
            opacity=alt.condition(highlight, alt.value(1), alt.value(0.12)),
            tooltip=[
                "agent:N",
                alt.Tooltip("latency:Q", format=",.0f", title="ms"),
                alt.Tooltip("share:Q", format=".0%"),
            ],
        )
        .add_params(highlight)
    )
    layers = (
        rules.mark_rule(style=LIMIT, strokeDash=[6, 4], opacity=0.85).encode(x="at:Q")
        + _label(lines[0], 3)
        + _label(lines[1], 19)
    )
    layers += curves
    if bands:
        # Rules and no area, whose legend would lose the dashes of the curves.
        between = (
            of_subset(bands)
            .mark_rule(tooltip=None)
            .encode(
                x="latency:Q",
                x2="low:Q",
                y="share:Q",
                strokeWidth=alt.StrokeWidth("px:Q", scale=None, legend=None),
                color=alt.Color("agent:N", scale=alt.Scale(domain=names), legend=legend(names)),
                opacity=alt.condition(highlight, alt.value(0.22), alt.value(0.04)),
            )
        )
        layers += between
    return Chart(
        name=f"{figure}_ecdf",
        title="How soon, over all turns",
        caption="Each curve climbs to the share of turns that were answered at all. Choose an agent in the legend."
        + (" The band beside a curve reaches to where it would have been had the machine been its own." if bands else ""),
        spec=subset_spec(layers, HEIGHT_PX),
    )


def _label(line: dict[str, Any], down_px: int) -> alt.Chart:
    """The label of one limit; each has a row of its own, because the two are near each other on a phone."""
    text = alt.Chart(alt.InlineData(values=[line])).mark_text(
        style=LIMIT, align="left", baseline="top", dx=5, dy=down_px, fontSize=11
    )
    placed: alt.Chart = text.encode(x="at:Q", y=alt.value(0), text="label:N")
    return placed


def _waits(view: PageView, figure: str, agent: str, subset: Subset) -> list[Bounded]:
    """The wait of every turn, infinite where there was no answer."""
    return [
        wait
        for c in view.contexts
        if subset in ("all", c.subset)
        for session in c.sessions
        if session.agent == agent
        for turn in session.turns
        if not turn.discarded and (wait := turn.times_ms.get(figure)) is not None
    ]


def _curve(waits: list[Bounded], end: Callable[[Bounded], float]) -> list[tuple[float, float]]:
    """(wait in ms, share of turns answered by then), from the first reply on; empty if none was timed."""
    known = np.sort([at for wait in waits if 0 < (at := end(wait)) < np.inf])
    if not len(known):
        return []
    picked = np.unique(np.linspace(0, len(known) - 1, min(POINTS, len(known))).astype(int))
    return [(float(known[0]), 0.0), *((float(known[k]), (k + 1) / len(waits)) for k in picked)]


def _band(waits: list[Bounded]) -> Iterator[tuple[float, float, float, float]]:
    """(wait at the low end, at the high end, share of turns, height in px) by rank; nothing where no turn owes anything."""
    if any(shows(wait) for wait in waits):
        low, high = (np.sort([max(1.0, end) for end in ends]) for ends in zip(*waits, strict=True))
        answered = int(np.isfinite(high).sum())
        for k in np.unique(np.linspace(0, answered - 1, min(POINTS, answered)).astype(int)):
            yield float(low[k]), float(high[k]), (k + 0.5) / len(waits), round(HEIGHT_PX / min(POINTS, len(waits)), 1)
