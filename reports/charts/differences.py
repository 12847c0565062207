"""The delay of each agent against the quickest one, paired by conversation.

Two agents answer the same turns, so their difference is known more exactly than either figure. The median of the paired
differences is drawn, with an interval that resamples conversations.
"""

from dataclasses import replace

import altair as alt

from harness.reports.charts.chart import Chart, Table
from harness.reports.charts.theme import of_subset, subset_spec
from harness.reports.paired import Paired, against
from harness.reports.view import SUBSETS, PageView, Subset, percentile
from harness.reports.wording import latency_interval
from harness.timing.figures import NO_REPLY_TEXT
from harness.wording import milliseconds


def chart(view: PageView) -> Chart | None:
    """The chart; None with fewer than two agents that spoke on the same conversations."""
    timed = [a for a in view.agents if not a.seat and percentile(a.whole.latency("ttfa"), "p50").value is not None]
    if len(timed) < 2:
        return None
    quickest = min(timed, key=lambda a: a.whole.latency("ttfa").p50 or 0.0).name
    others = [a.name for a in timed if a.name != quickest]
    pairs = _pairs(view, others, quickest, "all")
    if not pairs:
        return None
    values = [
        {
            "subset": subset,
            "agent": name,
            "ms": p.difference.value,
            "low": p.difference.low,
            "high": p.difference.high,
            "n": p.conversations,
        }
        for subset in SUBSETS
        for name, p in _pairs(view, others, quickest, subset)
    ]
    base = of_subset(values).encode(y=alt.Y("agent:N", sort=[name for name, _ in pairs], axis=alt.Axis(title=None)))
    zero = alt.Chart(alt.InlineData(values=[{"at": 0}])).mark_rule().encode(x="at:Q")
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    dots = base.mark_point(filled=True, size=90, color="#0d8f8f").encode(
        x=alt.X("ms:Q", axis=alt.Axis(title=[f"ms later than {quickest}", "median of paired differences"])),
        tooltip=["agent:N", alt.Tooltip("ms:Q", format="+.0f"), alt.Tooltip("n:Q", title="conversations")],
    )
    rows = tuple(
        (name, milliseconds(p.difference.value), latency_interval(p.difference), str(p.conversations)) for name, p in pairs
    )
    return Chart(
        name="ttfa_differences",
        title=f"Later than {quickest}",
        caption=f"TTFA on the same conversations, pair by pair. A turn without reply counts as {NO_REPLY_TEXT}.",
        spec=subset_spec(zero + bars + dots, alt.Step(30)),
        table=Table(("Agent", "Median difference", "95 % interval", "Conversations"), rows),
    )


def _pairs(view: PageView, names: list[str], quickest: str, subset: Subset) -> list[tuple[str, Paired]]:
    """Each agent's difference on these conversations, smallest first."""
    here = replace(view, contexts=tuple(c for c in view.contexts if subset in ("all", c.subset)))
    found = [(name, pair) for name in names if (pair := against(here, name, quickest)) is not None]
    return sorted(found, key=lambda row: row[1].difference.value or 0.0)
