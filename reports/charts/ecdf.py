"""Every turn of every agent: the share answered by each latency, with the budgets drawn in.

A median hides the turn that took four seconds; this curve does not. A curve that stops below 100 % belongs to an agent that
left callers without a reply. Curves are thinned to a point a percentile, which no eye can tell from all points.
"""

import altair as alt
import numpy as np

from reports.charts.chart import Chart
from reports.charts.theme import latency_axis, to_spec
from reports.view import PageView

POINTS = 120


def chart(view: PageView) -> Chart | None:
    """None where no turn has a TTFA."""
    values: list[dict[str, str | float]] = []
    for agent in view.agents:
        turns = [
            t
            for c in view.contexts
            for t in c.turns
            if t.agent == agent.name and (t.no_reply or "ttfa" in t.figures_ms)
        ]
        known = np.sort([t.figures_ms["ttfa"] for t in turns if not t.no_reply and t.figures_ms.get("ttfa", 0.0) > 0])
        if not len(known):
            continue
        picked = np.unique(np.linspace(0, len(known) - 1, min(POINTS, len(known))).astype(int))
        values.append({"agent": agent.name, "latency": round(float(known[0]), 1), "share": 0.0})
        values += [
            {"agent": agent.name, "latency": round(float(known[k]), 1), "share": round((k + 1) / len(turns), 4)}
            for k in picked
        ]
    if not values:
        return None
    names = [agent.name for agent in view.agents]
    lines = [
        {"at": view.budget_ttfa_ms, "label": f"budget {view.budget_ttfa_ms:.0f} ms"},
        {"at": view.comfort_ms, "label": f"comfort {view.comfort_ms / 1000:g} s"},
    ]
    rules = alt.Chart(alt.InlineData(values=lines))
    highlight = alt.selection_point(name="who", fields=["agent"], bind="legend")
    curves = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("latency:Q", scale=alt.Scale(type="log", nice=False), axis=latency_axis("TTFA")),
            y=alt.Y(
                "share:Q",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(title="Share of turns answered by then", format="%"),
            ),
            color=alt.Color(
                "agent:N", scale=alt.Scale(domain=names), legend=alt.Legend(orient="bottom", title=None, columns=4)
            ),
            strokeDash=alt.StrokeDash("agent:N", scale=alt.Scale(domain=names)),
            opacity=alt.condition(highlight, alt.value(1), alt.value(0.12)),
            tooltip=[
                "agent:N",
                alt.Tooltip("latency:Q", format=".0f", title="ms"),
                alt.Tooltip("share:Q", format=".0%"),
            ],
        )
        .add_params(highlight)
    )
    layers = (
        rules.mark_rule(strokeDash=[6, 4], color="#c2410c", opacity=0.85).encode(x="at:Q")
        + rules.mark_text(align="left", baseline="top", dx=5, dy=3, color="#c2410c", fontSize=11).encode(
            x="at:Q", y=alt.value(0), text="label:N"
        )
        + curves
    )
    return Chart(
        name="ttfa_ecdf",
        title="How soon, over all turns",
        caption="Each curve climbs to the share of turns that were answered at all. Choose an agent in the legend.",
        spec=to_spec(layers.properties(width="container", height=340)),
    )
