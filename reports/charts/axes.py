"""Each agent's win rate on the five axes, as dots for comparison and as a radar for recognition.

Dots come first, because positions on a common scale are read exactly and areas of a radar are not. The radar is limited to
few agents; with more it is unreadable.
"""

import math

import altair as alt

from harness.reports.charts.chart import Chart, Table
from harness.reports.charts.theme import legend, of_subset, subset_spec, to_spec
from harness.reports.view import AXIS_NAMES, SUBSETS, AgentView, PageView
from harness.wording import share

MOST_IN_RADAR = 6


def dots(view: PageView) -> Chart | None:
    """The dots: one row per axis, one dot per agent; None if no axis was marked."""
    agents = _marked(view)
    if not agents:
        return None
    names = [agent.name for agent in view.agents]
    values = [
        {"agent": a.name, "axis": AXIS_NAMES[axis], "share": won, "subset": subset}
        for a in agents
        for subset in SUBSETS
        for axis, won in a.slices[subset].rating.axes.items()
    ]
    base = of_subset(values).encode(
        x=alt.X("share:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title="Share of comparisons won", format="%")),
        y=alt.Y("axis:N", sort=list(AXIS_NAMES.values()), axis=alt.Axis(title=None, grid=True)),
        color=alt.Color("agent:N", scale=alt.Scale(domain=names), legend=legend(names)),
        shape=alt.Shape("agent:N", scale=alt.Scale(domain=names)),
        tooltip=["agent:N", "axis:N", alt.Tooltip("share:Q", format=".0%")],
    )
    even = alt.Chart(alt.InlineData(values=[{"share": 0.5}])).mark_rule(strokeDash=[4, 4]).encode(x="share:Q")
    spec = subset_spec(even + base.mark_point(filled=True, size=110, opacity=0.9), alt.Step(42))
    rows = tuple((a.name, *(share(a.whole.rating.axes.get(axis)) for axis in AXIS_NAMES)) for a in agents)
    return Chart(
        name="axes",
        title="Axis profile",
        caption="Where an agent's dots spread, its strengths differ; where they bunch, judges liked or disliked it as a whole. "
        "The dashed line is an even record.",
        spec=spec,
        table=Table(("Agent", *AXIS_NAMES.values()), rows),
    )


def radar(view: PageView) -> Chart | None:
    """The radar of the same figures for the best few agents; None with fewer than three axes."""
    agents = sorted(_marked(view), key=lambda a: -(a.whole.rating.elo.value or 0.0))[:MOST_IN_RADAR]
    axes = [axis for axis in AXIS_NAMES if any(axis in agent.whole.rating.axes for agent in agents)]
    agents = [agent for agent in agents if all(axis in agent.whole.rating.axes for axis in axes)]
    if not agents or len(axes) < 3:
        return None
    corners = [(math.sin(2 * math.pi * k / len(axes)), math.cos(2 * math.pi * k / len(axes))) for k in range(len(axes))]
    rings = [
        {"ring": r, "order": k, "x": r * corners[k % len(axes)][0], "y": r * corners[k % len(axes)][1]}
        for r in (0.25, 0.5, 0.75, 1.0)
        for k in range(len(axes) + 1)
    ]
    shapes = [
        {"agent": a.name, "order": k, "x": won * corners[k % len(axes)][0], "y": won * corners[k % len(axes)][1]}
        for a in agents
        for k in range(len(axes) + 1)
        for won in [a.whole.rating.axes[axes[k % len(axes)]]]
    ]
    labels = [{"label": axis, "x": 1.13 * x, "y": 1.13 * y} for axis, (x, y) in zip(axes, corners, strict=True)]
    x = alt.X("x:Q", scale=alt.Scale(domain=[-1.2, 1.2]), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[-1.2, 1.2]), axis=None)
    colour = alt.Color(
        "agent:N",
        scale=alt.Scale(domain=[agent.name for agent in view.agents]),
        legend=alt.Legend(orient="bottom", title=None, columns=2, values=[a.name for a in agents]),
    )
    layers = alt.layer(
        alt.Chart(alt.InlineData(values=rings))
        .mark_line(strokeWidth=0.7, color="#8793a1", opacity=0.7)
        .encode(x=x, y=y, detail="ring:N", order="order:Q"),
        alt.Chart(alt.InlineData(values=shapes))
        .mark_line(strokeWidth=2.2, point=alt.OverlayMarkDef(size=40))
        .encode(x=x, y=y, color=colour, order="order:Q"),
        alt.Chart(alt.InlineData(values=labels)).mark_text(fontWeight=600).encode(x=x, y=y, text="label:N"),
    )  # fmt: skip
    shown = f" The best {MOST_IN_RADAR} by Elo." if len(_marked(view)) > len(agents) else ""
    return Chart(
        name="radar",
        title="The same as a radar",
        caption=f"Rings at 25, 50, 75 and 100 % of comparisons won.{shown}",
        spec=to_spec(layers.properties(width=330, height=330)),
        by_subset=False,
        narrow=True,
    )


def _marked(view: PageView) -> list[AgentView]:
    return [agent for agent in view.agents if agent.whole.rating.axes]
