"""The delay of each agent against the quickest one, turn by turn (`harness.turns.change`).

Two agents answer the same turns, so their difference is known more exactly than either figure. The median of the paired
differences is drawn, with its interval over conversations.
"""

import altair as alt

from harness.reports.charts.chart import Chart, Table
from harness.reports.charts.theme import of_subset, subset_spec
from harness.reports.view import SUBSETS, Estimate, PageView, Subset, percentile
from harness.reports.wording import latency_interval
from harness.statistics.interval import FEWEST_CLUSTERS, TAIL
from harness.timing.figures import NO_REPLY_MS, NO_REPLY_TEXT
from harness.turns import change
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
            "ms": found.value,
            "low": found.low,
            "high": found.high,
            "n": contexts,
        }
        for subset in SUBSETS
        for name, found, contexts in _pairs(view, others, quickest, subset)
    ]
    base = of_subset(values).encode(y=alt.Y("agent:N", sort=[name for name, *_ in pairs], axis=alt.Axis(title=None)))
    zero = alt.Chart(alt.InlineData(values=[{"at": 0}])).mark_rule().encode(x="at:Q")
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    dots = base.mark_point(filled=True, size=90, color="#0d8f8f").encode(
        x=alt.X(
            "ms:Q",
            axis=alt.Axis(title=[f"ms later than {quickest}", "median of paired differences"], labelBound=True),
        ),
        tooltip=["agent:N", alt.Tooltip("ms:Q", format="+,.0f"), alt.Tooltip("n:Q", title="conversations")],
    )
    rows = tuple((name, milliseconds(found.value), latency_interval(found), f"{contexts:,}") for name, found, contexts in pairs)
    return Chart(
        name="ttfa_differences",
        title=f"Later than {quickest}",
        caption=f"TTFA turn by turn; under {FEWEST_CLUSTERS} conversations the two medians, without an interval. An agent that "
        f"replied where the other did not is {NO_REPLY_TEXT} ahead.",
        spec=subset_spec(zero + bars + dots, alt.Step(30)),
        table=Table(("Agent", "Median difference", "95 % interval", "Conversations"), rows),
    )


def _pairs(view: PageView, names: list[str], quickest: str, subset: Subset) -> list[tuple[str, Estimate, int]]:
    """(agent, its difference, clusters behind it) on these conversations, smallest first."""
    inside = {c.id for c in view.contexts if subset in ("all", c.subset)}
    turns = {name: view.timed[name].where({"context": inside}) for name in (*names, quickest) if name in view.timed}
    found = []
    for name in names:
        if not {name, quickest} <= set(turns):
            continue
        later = change(turns[name], turns[quickest], "ttfa_ms.p50", cluster="speaker")
        if later is not None:
            low, high = later.bounds(TAIL) if later.paired else (None, None)
            found.append((name, Estimate(_drawn(later.value), _drawn(low), _drawn(high)), later.contexts))
    return sorted(found, key=lambda row: row[1].value or 0.0)


def _drawn(end_ms: float | None) -> float | None:
    """A difference at which one of the two did not reply is infinite; it is drawn at the longest wait."""
    return None if end_ms is None else max(-NO_REPLY_MS, min(NO_REPLY_MS, end_ms))
