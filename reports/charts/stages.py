"""Where the time goes: the mean waterfall of each agent, from spoken end to first sound.

Means are drawn and not medians, because only means of the parts sum to the mean of the whole. The *unexplained* part is
drawn like any other; a waterfall that always adds up is a waterfall that hides something.
"""

from collections import defaultdict

import altair as alt

from reports.charts.chart import Chart, Table
from reports.charts.theme import STAGE_COLOURS, STAGE_LABELS, to_spec
from reports.view import PageView
from reports.wording import milliseconds


def chart(view: PageView) -> Chart | None:
    """None where no turn has a waterfall."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    turns: dict[str, int] = defaultdict(int)
    for context in view.contexts:
        for turn in context.turns:
            turns[turn.agent] += bool(turn.stages)
            for stage in turn.stages:
                sums[turn.agent][stage.name] += stage.end_ms - stage.start_ms
    if not sums:
        return None
    order = sorted(sums, key=lambda agent: sum(sums[agent].values()) / turns[agent])
    stages = list(STAGE_LABELS)
    values = [
        {"agent": agent, "stage": STAGE_LABELS[stage], "place": k, "ms": round(sums[agent][stage] / turns[agent], 1)}
        for agent in order
        for k, stage in enumerate(stages)
        if sums[agent].get(stage)
    ]
    totals = {agent: sum(sums[agent].values()) / turns[agent] for agent in order}
    labels = [{"agent": agent, "ms": total, "label": milliseconds(total)} for agent, total in totals.items()]
    y = alt.Y("agent:N", sort=order, axis=alt.Axis(title=None, labelLimit=200))
    bars = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar(height=20)
        .encode(
            y=y,
            x=alt.X("ms:Q", stack="zero", axis=alt.Axis(title="Mean over turns, ms after the spoken end")),
            color=alt.Color(
                "stage:N",
                scale=alt.Scale(domain=list(STAGE_LABELS.values()), range=list(STAGE_COLOURS)),
                legend=alt.Legend(orient="bottom", title=None, columns=4),
            ),
            order=alt.Order("place:Q"),
            tooltip=["agent:N", "stage:N", alt.Tooltip("ms:Q", format=".0f")],
        )
    )
    text = alt.Chart(alt.InlineData(values=labels)).mark_text(align="left", dx=6).encode(y=y, x="ms:Q", text="label:N")
    rows = tuple(
        (agent, str(turns[agent]), *(milliseconds(sums[agent].get(stage, 0.0) / turns[agent]) for stage in stages))
        for agent in order
    )
    return Chart(
        name="waterfall",
        title="Where the time goes",
        caption="Means over the turns that have a waterfall. Work behind a wait is not summed; each turn below draws it.",
        spec=to_spec((bars + text).properties(width="container", height=alt.Step(34))),
        table=Table(("Agent", "Turns", *STAGE_LABELS.values()), rows),
    )
