"""The support strategies of each system and the evenness of their use (HEART, section 4.8 and figure 6).

A narrow repertoire sounds consistently warm and says little; so the spread over strategies is next to the heatmap. The
labels come from a classifier; the caption says how far it was checked, and against whom.
"""

import altair as alt

from harness.reports.charts.chart import Chart, Table
from harness.reports.charts.theme import to_spec
from harness.reports.view import PageView
from harness.reports.wording import system_name
from harness.wording import share


def chart(view: PageView) -> Chart | None:
    """The chart; None if replies were not classified."""
    found = view.strategies
    if found is None or not found.rates:
        return None
    overall = {s: sum(rates.get(s, 0.0) for rates in found.rates.values()) for s in found.strategies}
    order = sorted(found.strategies, key=lambda s: -overall[s])
    values = [
        {
            "system": system_name(system),
            "strategy": strategy,
            "share": rates.get(strategy, 0.0),
            "text": share(rates.get(strategy, 0.0)),
        }
        for system, rates in found.rates.items()
        for strategy in order
    ]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("strategy:N", sort=order, axis=alt.Axis(title=None, orient="top", labelAngle=35, labelLimit=160)),
        y=alt.Y("system:N", axis=alt.Axis(title=None)),
    )
    cells = base.mark_rect(cornerRadius=3).encode(
        color=alt.Color("share:Q", scale=alt.Scale(domain=[0, 1], range=["#f3f2ef", "#62a6d8"]), legend=None),
        tooltip=["system:N", "strategy:N", alt.Tooltip("share:Q", format=".0%")],
    )
    figures = base.mark_text(color="#1c2329", fontSize=11).encode(text="text:N")
    rows = tuple(
        (
            system_name(system),
            f"{found.per_reply[system]:.1f}" if system in found.per_reply else "",
            f"{found.entropy_bits[system]:.2f}" if system in found.entropy_bits else "",
            f"{100 * (max(rates.values()) - min(rates.values())):.0f}",
        )
        for system, rates in found.rates.items()
        if rates
    )
    return Chart(
        name="strategies",
        title="Support strategies",
        caption=f"Share of replies that show each strategy, by {found.labeller} ({found.checked}).",
        spec=to_spec((cells + figures).properties(width="container", height=alt.Step(24))),
        by_subset=False,
        table=Table(("System", "Strategies a reply", "Entropy, bits", "Range of rates, points"), rows),
    )
