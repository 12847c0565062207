"""The shares of cut-ins, false starts in pauses, and turns without reply of each agent.

An agent that answers into a caller's pause is not really fast. So these shares are next to latency, each with the number it
is a share of: turns for cut-ins and silence, inner pauses for those that are cut, with the interval that decides *few or many*.
To an agent that is full duplex overlap is no fault: how much it has, and its backchannels, are a chart of their own.
"""

from collections.abc import Mapping
from typing import Any

import altair as alt

from harness.figures.cells import AgentSummary
from harness.figures.duplex import DuplexFigures
from harness.reports.charts.chart import Chart, Table
from harness.reports.charts.theme import Spec, legend, of_subset, subset_spec
from harness.reports.view import SUBSETS, PageView
from harness.statistics.interval import FEWEST_CLUSTERS, TAIL, Interval
from harness.statistics.share_bounds import clopper_pearson
from harness.timing.figures import PLACES
from harness.wording import UNKNOWN_TEXT, milliseconds, share

_KINDS = ("cut-in", "pause cut", "no reply", "failed session")
_COLOURS = ("#c2410c", "#d9a02b", "#8793a1", "#b0305c")
_SHARED = ("caller's speech overlapped", "agent's speech overlapped", "late units")


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
    spec = _dots(values, [a.name for a in spoken], dict(zip(_KINDS, _COLOURS, strict=True)))
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
        spec=spec,
        table=Table(("Agent", *(kind.capitalize() for kind in _KINDS), "False starts per pause", "Underruns"), rows),
    )


def duplex(view: PageView) -> Chart | None:
    """The chart of full-duplex agents; None without one."""
    agents = [agent for agent in view.agents if agent.whole.cell.duplex is not None]
    values = [
        {"agent": a.name, "subset": subset, "kind": kind, "share": value, "low": ends[0], "high": ends[1]}
        for a in agents
        for subset in SUBSETS
        for kind, value, ends in _shared(a.slices[subset].cell.duplex)
        if value is not None
    ]
    if not values:
        return None
    rows = tuple(
        (
            a.name,
            *(share(value) for _, value, _ in _shared(cell)),
            share(cell.murmured_share),
            UNKNOWN_TEXT if cell.backchannels_per_minute is None else f"{cell.backchannels_per_minute:.1f}",
            " / ".join(f"{cell.backchannels_where.get(place, 0):,}" for place in PLACES),
            milliseconds(cell.unit_ms),
            milliseconds(cell.longest_unit_gap_ms),
        )
        for a in agents
        if (cell := a.whole.cell.duplex) is not None
    )
    head = ("Agent", *(kind.capitalize() for kind in _SHARED), "With a backchannel", "Backchannels a minute",
            "over speech / in pauses / after", "Unit", "Longest wait for one")  # fmt: skip
    return Chart(
        name="full_duplex",
        title="Full duplex",
        caption="Shares of speaking time in which both speak, without backchannels, and of units that came later than 1.5 "
        "times their cadence. Bars: 95 % intervals over conversations. Overlap is no fault: people overlap too.",
        spec=_dots(values, [a.name for a in agents], dict(zip(_SHARED, _COLOURS, strict=False))),
        table=Table(head, rows),
    )


def _shared(cell: DuplexFigures | None) -> tuple[tuple[str, float | None, Interval | tuple[None, None]], ...]:
    if cell is None:
        return ()
    nothing = (None, None)
    return (
        (_SHARED[0], cell.overlap_share, cell.overlap_interval or nothing),
        (_SHARED[1], cell.agent_overlap_share, cell.agent_overlap_interval or nothing),
        (_SHARED[2], cell.late_units_share, cell.late_units_interval or nothing),
    )


def _dots(values: list[dict[str, Any]], agents: list[str], colours: Mapping[str, str]) -> Spec:
    """Shares with their intervals: a row for each agent, in it one for each kind."""
    kinds = list(colours)
    base = of_subset(values).encode(
        y=alt.Y("agent:N", sort=agents, axis=alt.Axis(title=None, grid=True)),
        yOffset=alt.YOffset("kind:N", sort=kinds),
        color=alt.Color(
            "kind:N",
            sort=kinds,
            scale=alt.Scale(domain=kinds, range=list(colours.values())),
            legend=legend(kinds),
        ),
    )
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, opacity=0.55).encode(x="low:Q", x2="high:Q")
    of = ["of:N"] if "of" in values[0] else []
    dots = base.mark_point(filled=True, size=70).encode(
        x=alt.X("share:Q", scale=alt.Scale(domainMin=0), axis=alt.Axis(title="Share", format="%")),
        shape=alt.Shape("kind:N", sort=kinds, scale=alt.Scale(domain=kinds), legend=None),
        tooltip=["agent:N", "kind:N", *of, alt.Tooltip("share:Q", format=".1%")],
    )
    return subset_spec(bars + dots, alt.Step(16))


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
