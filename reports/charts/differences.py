"""Paired differences: how much later each agent is than the quickest one, on the very same conversations.

Two agents answer the same turns, so their difference is known far better than either figure. The median of the paired
differences is drawn, with an interval that resamples conversations.
"""

import altair as alt

from reports.charts.chart import Chart, Table
from reports.charts.theme import to_spec
from reports.paired import Paired, against
from reports.view import PageView
from reports.wording import latency_interval, milliseconds


def chart(view: PageView) -> Chart | None:
    """None with fewer than two agents that spoke on the same conversations."""
    timed = [a for a in view.agents if a.whole.latency.get("ttfa") and a.whole.latency["ttfa"].p50.value is not None]
    if len(timed) < 2:
        return None
    quickest = min(timed, key=lambda a: a.whole.latency["ttfa"].p50.value or 0.0).name
    found = [(a.name, against(view, a.name, quickest)) for a in timed if a.name != quickest]
    pairs: list[tuple[str, Paired]] = [(name, pair) for name, pair in found if pair is not None]
    if not pairs:
        return None
    pairs.sort(key=lambda row: row[1].difference.value or 0.0)
    values = [
        {
            "agent": name,
            "ms": p.difference.value,
            "low": p.difference.low,
            "high": p.difference.high,
            "n": p.conversations,
        }
        for name, p in pairs
    ]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("agent:N", sort=[name for name, _ in pairs], axis=alt.Axis(title=None, labelLimit=200))
    )
    zero = alt.Chart(alt.InlineData(values=[{"at": 0}])).mark_rule().encode(x="at:Q")
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    dots = base.mark_point(filled=True, size=90, color="#0d8f8f").encode(
        x=alt.X("ms:Q", axis=alt.Axis(title=f"ms later than {quickest}, median of paired differences")),
        tooltip=["agent:N", alt.Tooltip("ms:Q", format="+.0f"), alt.Tooltip("n:Q", title="conversations")],
    )
    rows = tuple(
        (name, milliseconds(p.difference.value), latency_interval(p.difference), str(p.conversations))
        for name, p in pairs
    )
    return Chart(
        name="ttfa_differences",
        title=f"Later than {quickest}",
        caption="TTFA on the same conversations, pair by pair. A turn without reply counts as 15 s.",
        spec=to_spec((zero + bars + dots).properties(width="container", height=alt.Step(30))),
        table=Table(("Agent", "Median difference", "95 % interval", "Conversations"), rows),
    )
