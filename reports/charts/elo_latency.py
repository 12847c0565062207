"""The joint chart: quality against latency, one point an agent, an interval on both axes.

Latency runs on a logarithmic axis, because what people feel is a ratio: 200 ms against 400 ms matters, 9.8 s against 10 s
does not. The budget and the comfort line are drawn so that "fast enough" is a place on the picture. Reference replies have
no latency of their own and are horizontal lines. The frontier joins agents that no other agent beats on both axes. Points of
other boards, the paper's among them, are not drawn: their Elo is of another pool, and not even on this scale (docs/report.md).

A picture shows one cell of each agent: one line condition, with the board and the latencies of that condition. Every
combination of condition, figure, percentile and subset is in the data, and parameters choose; so the page's switches, a
picture and a reader's own notebook all use this one specification.
"""

from collections.abc import Iterator

import altair as alt

from reports.charts.theme import Spec, latency_axis, to_spec
from reports.view import METRICS, SUBSETS, AgentView, Metric, PageView, Subset
from reports.wording import system_name

_LOG = alt.Scale(type="log", nice=False, padding=60)
"""The padding leaves room for the names beside the points."""

Row = dict[str, str | float | bool | None]
_ON_THIS_BOARD = "datum.condition == condition && datum.subset == subset"
_PERCENTILES = ("p50", "p95")
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"]


def rows(view: PageView) -> list[Row]:
    """One row per agent × condition × figure × percentile × subset that has both a rating and a latency."""
    return [row for agent in view.agents for subset in SUBSETS for row in _agent_rows(agent, subset)]


def _agent_rows(agent: AgentView, subset: Subset) -> Iterator[Row]:
    part = agent.slices.get(subset)
    if part is None or part.rating.elo.value is None:
        return
    for metric, figure in part.latency.items():
        for percentile in _PERCENTILES:
            x = figure.p50 if percentile == "p50" else figure.p95
            if x.value is None or x.value <= 0:
                continue
            rating = part.rating.elo
            yield {
                "agent": agent.name, "metric": metric, "percentile": percentile, "subset": subset,
                "condition": agent.condition,
                "latency": x.value, "latency_low": None if x.low is None else max(x.low, 1.0), "latency_high": x.high,
                "elo": rating.value, "elo_low": rating.low, "elo_high": rating.high,
                "frontier": _frontier_words(part.p_frontier),
            }  # fmt: skip


def _frontier_words(p: float | None) -> str:
    return "not known" if p is None else f"{100 * p:.0f} %"


def frontier(data: list[Row]) -> list[Row]:
    """The corners of each combination's Pareto frontier: fastest first, each rated higher than all faster ones."""
    found: list[Row] = []
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in data:
        groups.setdefault((row["condition"], row["metric"], row["percentile"], row["subset"]), []).append(row)
    for group in groups.values():
        best = float("-inf")
        for row in sorted(group, key=lambda r: (_number(r["latency"]), -_number(r["elo"]))):
            if _number(row["elo"]) > best:
                best = _number(row["elo"])
                found.append(row)
    return found


def default_metric(view: PageView) -> Metric:
    """TTFA, unless no agent speaks."""
    return "ttfa" if any(agent.spoken for agent in view.agents) or not view.agents else "ttft"


def spec(view: PageView) -> Spec | None:
    """The chart, or None where no agent has both a rating and a latency."""
    data = rows(view)
    if not data:
        return None
    choices = [
        alt.param(name="metric", value=default_metric(view)),
        alt.param(name="percentile", value="p50"),
        alt.param(name="subset", value="all"),
        alt.param(name="condition", value=view.conditions[0]),
    ]
    names = [agent.name for agent in view.agents]
    chosen = f"datum.metric == metric && datum.percentile == percentile && {_ON_THIS_BOARD}"
    base = alt.Chart(alt.InlineData(values=data)).transform_filter(chosen)
    x = alt.X("latency:Q", scale=_LOG, axis=latency_axis(None))
    y = alt.Y("elo:Q", scale=alt.Scale(zero=False, nice=True, padding=18), axis=alt.Axis(title="Elo (higher is preferred)"))
    colour = alt.Color("agent:N", scale=alt.Scale(domain=names), legend=None)
    shape = alt.Shape("agent:N", scale=alt.Scale(domain=names, range=_cycled(_SHAPES, len(names))), legend=None)
    tooltip = [
        alt.Tooltip("agent:N", title="Agent"),
        alt.Tooltip("latency:Q", title="Latency, ms", format=".0f"),
        alt.Tooltip("latency_low:Q", title="… from", format=".0f"),
        alt.Tooltip("latency_high:Q", title="… to", format=".0f"),
        alt.Tooltip("elo:Q", title="Elo", format=".0f"),
        alt.Tooltip("elo_low:Q", title="… from", format=".0f"),
        alt.Tooltip("elo_high:Q", title="… to", format=".0f"),
        alt.Tooltip("frontier:N", title="P(on the frontier)"),
    ]
    layers = [
        *_budget_lines(view),
        *_reference_lines(view),
        alt.Chart(alt.InlineData(values=frontier(data)))
        .transform_filter(chosen)
        .mark_line(interpolate="step-after", strokeDash=[2, 3], strokeWidth=1.5, opacity=0.75, color="#8793a1")
        .encode(x=x, y=y, order="latency:Q"),
        base.transform_filter("isValid(datum.latency_low)")
        .mark_rule(strokeWidth=2, opacity=0.7)
        .encode(x=alt.X("latency_low:Q", scale=_LOG), x2="latency_high:Q", y=y, color=colour),
        base.transform_filter("isValid(datum.elo_low) && isValid(datum.elo_high)")
        .mark_rule(strokeWidth=2, opacity=0.7)
        .encode(x=x, y=alt.Y("elo_low:Q"), y2="elo_high:Q", color=colour),
        base.mark_point(filled=True, size=130, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip),
        base.mark_text(align="left", dx=11, dy=-9, fontWeight=600).encode(x=x, y=y, text="agent:N", color=colour),
    ]
    chart = (
        alt.layer(*layers)
        .add_params(*choices)
        .properties(
            width="container",
            height=430,
            title=alt.Title(_axis_title(), orient="bottom", anchor="middle", fontSize=12.5, fontWeight=500, offset=8),
        )
    )
    result = to_spec(chart)
    result["description"] = "Elo against latency on a logarithmic axis, one point per agent with intervals on both axes."
    return result


def _number(value: str | float | bool | None) -> float:
    return float(value) if value is not None else float("nan")


def _axis_title() -> alt.ExprRef:
    """An axis cannot follow a parameter, a title can; so the title below the chart is the axis's."""
    words = "".join(f"metric == '{name}' ? '{label}' : " for name, label in METRICS.items())
    return alt.ExprRef(f"({words}'') + (percentile == 'p50' ? ', median' : ', 95th percentile')")


def _budget_lines(view: PageView) -> list[alt.Chart]:
    lines = [
        {"at": view.budget_ttfa_ms, "label": f"budget {view.budget_ttfa_ms:.0f} ms"},
        {"at": view.comfort_ms, "label": f"comfort {view.comfort_ms / 1000:g} s"},
    ]
    base = alt.Chart(alt.InlineData(values=lines))
    return [
        base.mark_rule(strokeDash=[6, 4], strokeWidth=1.5, color="#c2410c", opacity=0.85).encode(x="at:Q"),
        base.mark_text(align="left", baseline="top", dx=5, dy=3, color="#c2410c", fontSize=11).encode(
            x="at:Q", y=alt.value(0), text="label:N"
        ),
    ]


def _reference_lines(view: PageView) -> list[alt.Chart]:
    lines = [
        {"subset": subset, "condition": r.condition, "elo": rating.elo.value, "label": f"{system_name(r.system)}, {r.author}"}
        for r in view.references
        for subset, rating in r.ratings.items()
        if rating.elo.value is not None
    ]
    if not lines:
        return []
    base = alt.Chart(alt.InlineData(values=lines)).transform_filter(_ON_THIS_BOARD)
    return [
        base.mark_rule(strokeWidth=1, opacity=0.8).encode(y="elo:Q", tooltip=["label:N", alt.Tooltip("elo:Q", format=".0f")]),
        base.mark_text(align="right", baseline="bottom", dx=-4, dy=-3, fontSize=11, opacity=0.8).encode(
            x=alt.value("width"), y="elo:Q", text="label:N"
        ),
    ]


def _cycled(values: list[str], count: int) -> list[str]:
    return [values[k % len(values)] for k in range(count)]
