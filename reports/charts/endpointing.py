"""The share of cut pauses against the wait after the end, for agents and for published detectors.

They share a picture because each can be improved at the cost of the other. The published curves are a grey background and not
competitors: other speech, and no compute after the decision. So an agent that reports its decisions has two marks: its
dead air (a full mark, the caller's wait), and its decision delay against the pauses in which it decided (a hollow one, for
comparison with detectors).
"""

import textwrap
from typing import Any

import altair as alt

from harness.figures.endpointing import BANDS_MS, EVERY_LENGTH, PauseShare
from harness.reports.charts.chart import Chart, Table
from harness.reports.charts.theme import legend, of_subset, subset_spec
from harness.reports.view import SUBSETS, AgentView, PageView, Subset
from harness.turn_taking.detectors import CAVEAT, DETECTORS, SOURCE
from harness.wording import UNKNOWN_TEXT

NAMED: tuple[str, ...] = ("LiveKit turn detector v1", "smart-turn v3.2", "silence alone")
"""The named curves: the best, the open one of pipecat, and no detector at all; names on all curves would hide them."""
_BAND_WORDS = ("200–400 ms", "400–800 ms", "800–1,600 ms", "longer")
_GROUND = "#8793a1"
_WAIT = ["Mean wait after the true end, ms", *textwrap.wrap(f"grey: detectors as published ({SOURCE}): {CAVEAT}", 72)]
"""Axis title with the source, because pictures are used without their captions."""
_MEASURES = ("dead air, pauses cut", "decision delay, pauses decided in")

Row = dict[str, Any]


def curves(view: PageView) -> Chart | None:
    """The chart; None if no agent has both a wait and pauses."""
    agents = [a for a in view.agents if a.spoken]
    values = [row for a in agents for subset in SUBSETS for row in _marks(a, subset)]
    if not values:
        return None
    names = [a.name for a in view.agents]
    x = alt.X("ms:Q", scale=alt.Scale(nice=True), axis=alt.Axis(title=_WAIT, format=",d", tickCount=8))
    y = alt.Y("share:Q", scale=alt.Scale(domainMin=0), axis=alt.Axis(title="Share of inner pauses cut", format="%"))
    points = [{"detector": d.name, "ms": ms, "share": cut} for d in DETECTORS for ms, cut in d.points]
    first = [{"detector": d.name, "ms": d.points[0][0], "share": d.points[0][1]} for d in DETECTORS if d.name in NAMED]
    ground = alt.Chart(alt.InlineData(values=points)).encode(x=x, y=y, detail="detector:N")
    lines = ground.mark_line(color=_GROUND, strokeWidth=1.2, opacity=0.7)
    dots = ground.mark_point(color=_GROUND, filled=True, size=18, opacity=0.9).encode(
        tooltip=[
            "detector:N",
            alt.Tooltip("ms:Q", format=",.0f", title="mean latency, ms"),
            alt.Tooltip("share:Q", format=".1%"),
        ]
    )
    labels = (
        alt.Chart(alt.InlineData(values=first))
        .mark_text(align="left", dx=7, dy=-8, fontSize=11, color=_GROUND)
        .encode(x=x, y=y, text="detector:N")
    )
    colour = alt.Color("agent:N", scale=alt.Scale(domain=names), legend=legend(names))
    base = of_subset(values).encode(x=x, y=y, color=colour)
    across = base.transform_filter("isValid(datum.ms_low)").mark_rule(strokeWidth=1.6, opacity=0.55)
    upright = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.6, opacity=0.55)
    bars = across.encode(x=alt.X("ms_low:Q"), x2="ms_high:Q") + upright.encode(y=alt.Y("low:Q"), y2="high:Q")
    told = base.encode(
        tooltip=[
            "agent:N", "measure:N", alt.Tooltip("ms:Q", format=",.0f", title="mean, ms"), alt.Tooltip("share:Q", format=".1%"),
            alt.Tooltip("of:N", title="pauses"),
        ]
    )  # fmt: skip
    waits = told.transform_filter(alt.datum.measure == _MEASURES[0]).mark_point(size=110, filled=True, opacity=1)
    decisions = told.transform_filter(alt.datum.measure == _MEASURES[1]).mark_point(size=100, shape="diamond", strokeWidth=2)
    layers = lines + dots + labels + bars + waits + decisions
    spec = subset_spec(layers, 380)
    return Chart(
        name="endpointing",
        title="Cut pauses against the wait after the end",
        caption="Left and low is best. Discs: the caller's wait (mean dead air, compute included) against the pauses cut.  "
        "Hollow diamonds: mean decision delay against the pauses in which the agent decided, if it reports them. Bars are 95 % "
        f"intervals over {_sample(view)}. Grey: detectors as published, {CAVEAT} ({SOURCE}); hover for names.",
        spec=spec,
        table=Table(
            ("Published detector", "Cut at 300 ms", "Cut at 600 ms", "Mean latency at 10 % cut", "At 5 % cut"),
            tuple(
                (
                    d.name, *(UNKNOWN_TEXT if cut is None else f"{100 * cut:.1f} %" for cut in d.cut_at_ms),
                    *(f"{ms:,.0f} ms" for ms in d.ms_at_cut),
                )
                for d in DETECTORS
            ),
        ),
    )  # fmt: skip


def by_length(view: PageView) -> Chart | None:
    """The chart of pauses cut by length, one panel per kind; None without pauses."""
    agents = [a for a in view.agents if a.spoken]
    values = [
        {
            "agent": a.name, "subset": subset, "length": words, "share": row.share, "of": f"{row.cut} of {row.of}",
            "low": row.interval[0] if row.interval else None, "high": row.interval[1] if row.interval else None,
        }
        for a in agents
        for subset in SUBSETS
        for band, words in zip(BANDS_MS, _BAND_WORDS, strict=True)
        if (row := _row(a, subset, band)) is not None and row.of
    ]  # fmt: skip
    if not values:
        return None
    names = [a.name for a in view.agents]
    base = of_subset(values).encode(
        x=alt.X("length:N", sort=list(_BAND_WORDS), axis=alt.Axis(title="Length of the pause", labelAngle=0)),
        xOffset=alt.XOffset("agent:N", sort=names),
        color=alt.Color("agent:N", scale=alt.Scale(domain=names), legend=legend(names)),
    )
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, opacity=0.55).encode(y="low:Q", y2="high:Q")
    dots = base.mark_point(filled=True, size=70).encode(
        y=alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title="Share cut", format="%")),
        shape=alt.Shape("agent:N", scale=alt.Scale(domain=names), legend=None),
        tooltip=["agent:N", "length:N", "of:N", alt.Tooltip("share:Q", format=".1%")],
    )
    return Chart(
        name="endpointing_by_length",
        title="Which pauses were cut",
        caption="Share of the caller's inner pauses, marked or not, in which the agent began to speak, by length. Bars are "
        f"95 % intervals over {_sample(view)}.",
        spec=subset_spec(bars + dots, 260),
    )


def _sample(view: PageView) -> str:
    return "speakers" if any(caution.code == "speakers" for caution in view.cautions) else "conversations"


def _row(agent: AgentView, subset: Subset, band: tuple[float, float | None]) -> PauseShare | None:
    rows = agent.slices[subset].cell.endpointing if subset in agent.slices else []
    return next((row for row in rows if row.kind == "all" and row.pause_ms == band), None)


def _marks(agent: AgentView, subset: Subset) -> list[Row]:
    """The marks of an agent: by dead air, and by its decisions if it reports them."""
    row = _row(agent, subset, EVERY_LENGTH)
    if row is None or not row.of:
        return []
    found = agent.slices[subset].cell
    both = (
        (_MEASURES[0], found.dead_air_ms, row.cut, row.share, row.interval),
        (_MEASURES[1], found.decision_delay_ms, row.decided, row.decided_share, row.decided_interval),
    )
    return [
        {
            "agent": agent.name, "subset": subset, "measure": measure, "ms": delay.mean, "share": part,
            "of": f"{count} of {row.of}",
            "ms_low": delay.mean_interval[0] if delay.mean_interval else None,
            "ms_high": delay.mean_interval[1] if delay.mean_interval else None,
            "low": interval[0] if interval else None, "high": interval[1] if interval else None,
        }
        for measure, delay, count, part, interval in both
        if delay.mean is not None and part is not None
    ]  # fmt: skip
