"""The shares of cut-ins, false starts in pauses, and turns without reply of each agent.

An agent that answers into a caller's pause is not really fast. So these shares are next to latency, each with the number it
is a share of: turns for cut-ins and silence, inner pauses for those that are cut, with the interval that decides *few or many*.
"""

import altair as alt

from harness.figures.cells import AgentSummary
from harness.reports.charts.chart import Chart, Table
from harness.reports.charts.theme import legend, of_subset, subset_spec
from harness.reports.view import SUBSETS, PageView
from harness.statistics.interval import FEWEST_CLUSTERS, TAIL
from harness.statistics.share_bounds import clopper_pearson
from harness.wording import UNKNOWN_TEXT, share

_KINDS = ("cut-in", "pause cut", "no reply", "failed session")


def chart(view: PageView) -> Chart | None:
    """The chart; None without agents."""
    spoken = [agent for agent in view.agents if agent.spoken and agent.whole.cell.turns]
    if not spoken:
        return None
    contexts = {subset: sum(subset in ("all", c.subset) for c in view.contexts) for subset in SUBSETS}
    values = [
        {
            "agent": a.name,
            "subset": subset,
            "kind": kind,
            "share": k / n,
            "low": low,
            "high": high,
            "of": f"{k} of {n}",
        }
        for a in spoken
        for subset in SUBSETS
        for kind, (k, n) in _counts(a.slices[subset].cell).items()
        if n
        for low, high in [_interval(a.slices[subset].cell, kind, contexts[subset])]
    ]
    if not values:
        return None
    base = of_subset(values).encode(
        y=alt.Y("agent:N", sort=[a.name for a in spoken], axis=alt.Axis(title=None, grid=True)),
        yOffset=alt.YOffset("kind:N", sort=list(_KINDS)),
        color=alt.Color(
            "kind:N",
            sort=list(_KINDS),
            scale=alt.Scale(domain=list(_KINDS), range=["#c2410c", "#d9a02b", "#8793a1", "#b0305c"]),
            legend=legend(list(_KINDS)),
        ),
    )
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, opacity=0.55).encode(x="low:Q", x2="high:Q")
    dots = base.mark_point(filled=True, size=70).encode(
        x=alt.X("share:Q", scale=alt.Scale(domainMin=0), axis=alt.Axis(title="Share", format="%")),
        shape=alt.Shape("kind:N", sort=list(_KINDS), scale=alt.Scale(domain=list(_KINDS)), legend=None),
        tooltip=["agent:N", "kind:N", "of:N", alt.Tooltip("share:Q", format=".1%")],
    )
    rows = tuple(
        (
            a.name,
            *(f"{k} of {n}" if n else UNKNOWN_TEXT for k, n in _counts(a.whole.cell).values()),
            share(a.whole.cell.false_start_rate),
            f"{a.whole.cell.underruns:,}",
        )
        for a in spoken
    )
    return Chart(
        name="interaction",
        title="Manners",
        caption="Cut-ins, silence and failures are shares of turns, cut pauses of inner pauses. Bars: 95 % intervals, "
        "which take turns, but not pauses, as independent. Underruns count breaks inside an agent's own audio.",
        spec=subset_spec(bars + dots, alt.Step(16)),
        table=Table(("Agent", *(kind.capitalize() for kind in _KINDS), "False starts per pause", "Underruns"), rows),
    )


def _interval(agent: AgentSummary, kind: str, contexts: int) -> tuple[float | None, float | None]:
    if kind == "pause cut" and agent.inner_pauses_cut[1]:
        return agent.pauses_cut_interval or (None, None)
    return clopper_pearson(*_counts(agent)[kind], TAIL) if contexts >= FEWEST_CLUSTERS else (None, None)


def _counts(agent: AgentSummary) -> dict[str, tuple[int, int]]:
    cut = round((agent.cut_in_rate or 0.0) * agent.turns)
    return {
        "cut-in": (cut, agent.turns if agent.cut_in_rate is not None else 0),
        "pause cut": agent.pauses,
        "no reply": (agent.no_reply, agent.turns),
        "failed session": (agent.failed, agent.turns + agent.failed),
    }
