"""The mean waterfall of each agent, from spoken end to first sound.

Means are drawn and not medians, because only means of the parts sum to the mean of the whole. The *unexplained* part is
drawn like any other; a waterfall that always adds up hides something.
"""

from collections import defaultdict

import altair as alt

from harness.reports.charts.chart import Chart, Table
from harness.reports.charts.theme import STAGE_COLOURS, STAGE_LABELS, legend, of_subset, subset_spec
from harness.reports.view import SUBSETS, PageView, Subset
from harness.wording import milliseconds


def chart(view: PageView) -> Chart | None:
    """The chart; None if no turn has a waterfall."""
    means = {subset: _means(view, subset) for subset in SUBSETS}
    whole = {agent: parts for agent, (_, parts) in means["all"].items()}
    if not whole:
        return None
    order = sorted(whole, key=lambda agent: sum(whole[agent].values()))
    # For most protocols the network's share is unknown: a column of zeros would say that it took no time.
    stages = [stage for stage in STAGE_LABELS if stage != "network" or any(stage in parts for parts in whole.values())]
    values = [
        {"agent": agent, "subset": subset, "stage": STAGE_LABELS[stage], "place": k, "ms": round(parts[stage], 1)}
        for subset, found in means.items()
        for agent, (_, parts) in found.items()
        for k, stage in enumerate(stages)
        if parts.get(stage)
    ]
    labels = [
        {
            "agent": agent,
            "subset": subset,
            "ms": total,
            "label": milliseconds(total),
            "end": 1.12 * total,
        }
        for subset, found in means.items()
        for agent, (_, parts) in found.items()
        for total in [sum(parts.values())]
    ]
    y = alt.Y("agent:N", sort=order, axis=alt.Axis(title=None))
    bars = (
        of_subset(values)
        .mark_bar(height=20)
        .encode(
            y=y,
            x=alt.X("ms:Q", stack="zero", axis=alt.Axis(title="Mean over turns, ms after the spoken end")),
            color=alt.Color(
                "stage:N",
                scale=alt.Scale(
                    domain=[STAGE_LABELS[stage] for stage in stages],
                    range=[colour for stage, colour in zip(STAGE_LABELS, STAGE_COLOURS, strict=True) if stage in stages],
                ),
                legend=legend([STAGE_LABELS[stage] for stage in stages]),
            ),
            order=alt.Order("place:Q"),
            tooltip=["agent:N", "stage:N", alt.Tooltip("ms:Q", format=",.0f")],
        )
    )
    text = of_subset(labels).mark_text(align="left", dx=6).encode(y=y, x="ms:Q", text="label:N")
    # A bar's figure is to the right of it, so the axis extends beyond the longest.
    room = text.mark_tick(opacity=0).encode(x="end:Q", text=alt.Undefined)
    rows = tuple(
        (agent, f"{means['all'][agent][0]:,}", *(milliseconds(whole[agent].get(stage, 0.0)) for stage in stages))
        for agent in order
    )
    return Chart(
        name="waterfall",
        title="Where the time goes",
        caption="Means over the turns that have a waterfall. Work behind a wait is not summed; each turn below draws it.",
        spec=subset_spec(bars + room + text, alt.Step(34)),
        table=Table(("Agent", "Turns", *(STAGE_LABELS[stage] for stage in stages)), rows),
    )


def _means(view: PageView, subset: Subset) -> dict[str, tuple[int, dict[str, float]]]:
    """Agent → (its turns with a waterfall, stage → mean ms over them)."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    turns: dict[str, int] = defaultdict(int)
    every = (session for c in view.contexts if subset in ("all", c.subset) for session in c.sessions)
    for agent, turn in ((session.agent, turn) for session in every for turn in session.turns if turn.stages):
        turns[agent] += 1
        for stage in turn.stages:
            sums[agent][stage.name] += stage.end_ms - stage.start_ms
    return {
        agent: (turns[agent], {stage: total / turns[agent] for stage, total in parts.items()}) for agent, parts in sums.items()
    }
