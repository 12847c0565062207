"""TTFA turn by turn over the run, and the run's own pacing, to show disturbances of the machine.

A drift, a step or a burst that all agents share comes from the machine, not from an agent; a figure from such a run
describes the machine. Pacing error and event-loop lag are measured by the run itself in every session.
"""

import altair as alt

from harness.reports.charts.chart import Chart
from harness.reports.charts.theme import LIMIT, TURN_IN_SUBSET, latency_axis, legend, of_subset, subset_spec, to_spec
from harness.reports.view import PageView
from harness.reports.wording import shows

MOST_POINTS = 3_000
"""Most points of a readable chart; with more, only every n-th turn is drawn, and the caption says so."""


def latency(view: PageView) -> Chart | None:
    """The chart of waits over the run; None if no turn has both a start and a wait."""
    figure, name, budget_ms = view.waits_by
    values = [
        {
            "agent": s.agent,
            "minute": minute,
            "latency": round(wait_ms, 1),
            "context": c.id,
            "subset": c.subset,
            **({"low": round(max(1.0, turn.times_ms[figure].low_ms), 1)} if shows(turn.times_ms[figure]) else {}),
        }
        for c in view.contexts
        for s in c.sessions
        for turn in s.turns
        if (minute := s.minute(turn)) is not None and (wait_ms := turn.ms(figure) or 0.0) > 0 and not turn.discarded
    ]
    if not values:
        return None
    step = -(-len(values) // MOST_POINTS)
    names = [agent.name for agent in view.agents]
    base = of_subset(values[::step], TURN_IN_SUBSET).encode(
        x=alt.X("minute:Q", axis=alt.Axis(title="Minutes since the first session", grid=False)),
        y=alt.Y("latency:Q", scale=alt.Scale(type="log"), axis=latency_axis(name)),
        color=alt.Color("agent:N", scale=alt.Scale(domain=names), legend=legend(names)),
        shape=alt.Shape("agent:N", scale=alt.Scale(domain=names)),
        tooltip=["agent:N", "context:N", alt.Tooltip("latency:Q", format=",.0f", title=f"{name}, ms")],
    )
    budget = alt.Chart(alt.InlineData(values=[{"at": budget_ms}])).mark_rule(style=LIMIT, strokeDash=[6, 4]).encode(y="at:Q")
    points, more = base.mark_point(size=45, opacity=0.8), f" Every {step}th turn is drawn." if step > 1 else ""
    if any("low" in row for row in values[::step]):
        bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5, opacity=0.45)
        points = bars.encode(y2="low:Q", shape=alt.Undefined) + points
        more += " A bar reaches down to what the turn would have taken at least, had the machine been its own."
    return Chart(
        name=f"{figure}_over_run",
        title="Over the run",
        caption=f"A step or drift shared by all agents is the machine's. The dashed line is the budget.{more}",
        spec=subset_spec(budget + points, 260),
    )


def machine(view: PageView) -> Chart | None:
    """The chart of pacing error and loop lag per session; None if neither was stored."""
    values = [
        {"minute": round(s.started_s / 60, 3), "what": what, "ms": round(value, 3), "context": c.id, "agent": s.agent}
        for c in view.contexts
        for s in c.sessions
        if s.started_s is not None
        for t in (s.last,)
        for what, value in (("pacing error, p99", t.pacing_p99_error_ms), ("event-loop lag, worst", t.loop_lag_max_ms))
        if value is not None
    ]
    if not values:
        return None
    step = -(-len(values) // MOST_POINTS)
    spec = to_spec(
        alt.Chart(alt.InlineData(values=values[::step]))
        .mark_point(size=28, opacity=0.75)
        .encode(
            x=alt.X("minute:Q", axis=alt.Axis(title="Minutes since the first session", grid=False)),
            y=alt.Y("ms:Q", axis=alt.Axis(title="ms")),
            color=alt.Color("what:N", legend=legend(sorted({str(row["what"]) for row in values}))),
            shape="what:N",
            tooltip=["what:N", "agent:N", "context:N", alt.Tooltip("ms:Q", format=".2f")],
        )
        .properties(width="container", height=170)
    )
    return Chart(
        name="machine_over_run",
        title="The caller's pacing over the run",
        caption="Delay of frames (p99 per session) and lag of the caller's event loop (worst per session). "
        "A run whose p99 exceeds 5 ms is invalid.",
        spec=spec,
        by_subset=False,
    )


def telemetry(view: PageView) -> Chart | None:
    """The chart of the machine's load; None if it was not sampled."""
    values = [
        {"minute": round(second / 60, 3), "what": line.name, "percent": value}
        for line in view.telemetry
        for second, value in line.points
    ]
    if not values:
        return None
    spec = to_spec(
        alt.Chart(alt.InlineData(values=values))
        .mark_line(strokeWidth=1.4, interpolate="step-after")
        .encode(
            x=alt.X("minute:Q", axis=alt.Axis(title="Minutes since the first session", grid=False)),
            y=alt.Y("percent:Q", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(title="%")),
            color=alt.Color("what:N", legend=legend([line.name for line in view.telemetry])),
            strokeDash="what:N",
        )
        .properties(width="container", height=150)
    )
    return Chart(
        name="telemetry",
        title="The machine over the run",
        caption="Sampled ten times a second, GPUs up to fifty times; each point is the highest value of its interval, since "
        "bursts make turns slow. Of a GPU's clock it is the lowest under load.",
        spec=spec,
        by_subset=False,
    )
