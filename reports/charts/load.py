"""The curves of a load test: waits, shares, and the caller's own errors against the offered load, one above the other.

The panels share one axis to show which gave way first: the agent (waits rise while frames leave and callers come on time), or
the machine and the caller (frames or callers are late, and waits then say nothing about the agent). So a step that says nothing
about the agent is in the last panel alone. Bounds and the budget are drawn.
"""

from collections.abc import Iterator
from typing import Any, Final

import altair as alt

from harness.load.arrivals import MOST_LATE_MS
from harness.load.caller_error import MOST_MS
from harness.load.result import LoadResult, Step
from harness.reports.charts.chart import Chart
from harness.reports.charts.theme import LIMIT, to_spec
from harness.timing.pacing import MAX_LOOP_LAG_MS, MAX_P99_ERROR_MS

HEIGHTS: Final = {"waits": 240, "shares": 180, "caller": 150}
BOUNDS: Final = {
    "pacing": MAX_P99_ERROR_MS,
    "event-loop lag": MAX_LOOP_LAG_MS,
    "callers late by": MOST_LATE_MS,
    "TTFA of a known agent": MOST_MS,
}


def charts(result: LoadResult) -> list[Chart]:
    """Each panel as a chart of the page."""
    return [
        Chart(one.name, one.title, one.caption, to_spec(part.properties(width="container", height=HEIGHTS[one.name])))
        for one, part in _panels(result)
    ]


def _panels(result: LoadResult) -> Iterator[tuple[Chart, Any]]:
    """Each panel that has a point: its words, and what is drawn. A panel without one would have no size."""
    unit = "calls a second" if result.is_open else "callers at once"
    agents = [step for step in result.steps if step.said is not None]
    bars = "Bars are 95 % intervals over stretches of time; steps that say nothing about the agent are left out."
    if rows := list(_waits(agents)):
        waits = Chart("waits", "Wait for the reply", f"TTFA and TTFT against {unit}. {bars}", {})
        yield waits, _with_rule(_lines(rows, unit, "ms"), result.part.budget_ms)
    if rows := list(_shares(agents)):
        shares = "Turns cut into, turns without reply, replies without a gap in their sound, calls that failed"
        yield Chart("shares", "Shares", f"{shares}. {bars}", {}), _lines(rows, unit, "share")
    own = "The machine's and the caller's own errors in every step, each against the most with which waits are the agent's"
    if rows := list(_own(result.steps)):
        caller = Chart("caller", "The caller itself", f"{own} (1).", {})
        yield caller, _with_rule(_lines(rows, unit, "error, as a multiple of its bound"), 1.0)


def _waits(steps: list[Step]) -> Iterator[dict[str, Any]]:
    for step in steps:
        ttfa_ms, ttft_ms = step.figures.ttfa_ms, step.figures.ttft_ms
        for name, of, which in (("TTFA p50", ttfa_ms, "p50"), ("TTFA p95", ttfa_ms, "p95"), ("TTFT p50", ttft_ms, "p50")):
            if (value := getattr(of, which)) is not None:
                yield _point(step, name, value, getattr(of, f"{which}_interval"))


def _shares(steps: list[Step]) -> Iterator[dict[str, Any]]:
    for step in steps:
        for name, found in (
            ("cut-ins", step.figures.cut_ins),
            ("no reply", step.figures.no_reply),
            ("continuity", step.figures.continuity),
            ("failed", step.figures.failed),
        ):
            if found.value is not None:
                yield _point(step, name, found.value, found.interval)


def _own(steps: tuple[Step, ...]) -> Iterator[dict[str, Any]]:
    for step in steps:
        record, error = step.record, step.record.caller_error
        found = {
            "pacing": record.pacing_p99_error_ms,
            "event-loop lag": record.loop_lag_p99_ms,
            "callers late by": record.arrivals.p99_error_ms if record.arrivals is not None else None,
            "TTFA of a known agent": None if error is None else error.p50_ms if error.p95_ms is None else error.p95_ms,
        }
        for name, value in found.items():
            if value is not None:
                yield _point(step, name, value / BOUNDS[name], None) | {"ms": value}


def _point(step: Step, name: str, value: float, interval: tuple[float, float] | None) -> dict[str, Any]:
    ends = {"low": interval[0], "high": interval[1]} if interval is not None else {}
    return {"offered": step.record.offered, "figure": name, "value": value, **ends}


def _lines(rows: list[dict[str, Any]], unit: str, title: str) -> Any:
    share = title == "share"
    names = list(dict.fromkeys(row["figure"] for row in rows))
    scale = alt.Scale(domain=[0, 1]) if share else alt.Scale(zero=True)
    across = alt.Scale(type="log", nice=False, padding=12)
    # One legend for colour, dash and shape: where they differ Vega warns.
    legend = alt.Legend(orient="bottom", title=None)
    points = alt.Chart(alt.InlineData(values=rows)).encode(
        alt.X("offered:Q", title=unit, scale=across, axis=alt.Axis(grid=False, format="~g")),
        alt.Y("value:Q", title=title, scale=scale, axis=alt.Axis(format="%" if share else ",~r")),
        alt.Color("figure:N", scale=alt.Scale(domain=names), legend=legend),
    )
    line = points.mark_line().encode(strokeDash=alt.StrokeDash("figure:N", scale=alt.Scale(domain=names), legend=legend))
    dots = points.mark_point(filled=True, size=60).encode(
        shape=alt.Shape("figure:N", scale=alt.Scale(domain=names), legend=legend),
        tooltip=["figure:N", "offered:Q", alt.Tooltip("value:Q", format=".0%" if share else ",.3~r")],
    )
    bars = points.transform_filter("isValid(datum.low)").mark_rule().encode(y="low:Q", y2="high:Q")
    return bars + line + dots


def _with_rule(drawn: Any, at: float | None) -> Any:
    if at is None:
        return drawn
    rule = alt.Chart(alt.InlineData(values=[{"value": at}])).mark_rule(strokeDash=[4, 3], style=LIMIT).encode(y="value:Q")
    return drawn + rule
