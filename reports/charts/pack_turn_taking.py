"""A pack's callers compared with people: length of turns, length of pauses, and cues to the end of a turn.

People's pauses are drawn by both laws and not as points, because draws follow a law; their words per turn are the published
quartiles (counselling clients and patients).
"""

from typing import TYPE_CHECKING, Any, Final

import altair as alt
import numpy as np

from harness.reports.charts.chart import Chart
from harness.reports.charts.theme import LATENCY_LABEL, to_spec
from harness.scenarios.pause_law import LAWS, LONGEST_MS, SHORTEST_MS

if TYPE_CHECKING:
    from harness.turn_taking.scores import TurnTaking

PEOPLE_WORDS: Final = {
    "counselling clients": ((2, 0.25), (8, 0.50), (20, 0.75), (38, 0.90)),
    "patients": ((2, 0.25), (7, 0.50), (17, 0.75), (35, 0.90)),
}
"""Words a turn and the share of turns up to them: AnnoMI (2,390 turns of 133 talks) and PriMock57 (2,495 turns of 57 talks)."""
CUES: Final = {
    "words": "words said",
    "seconds": "seconds spoken",
    "last_word": "last word closes",
    "closing_punctuation": "closing punctuation",
    "level_fall": "level falls",
    "pitch_fall": "pitch falls",
    "smart_turn": "smart-turn v3.2",
}


def chart(found: "TurnTaking", pack: str) -> Chart:
    """The picture of one pack."""
    return Chart(
        name="turn_taking",
        title=f"{pack}: cues to the end of a turn",
        caption="An AUC of 0.5 is chance. Pauses and lengths are drawn beside people's.",
        spec=to_spec(alt.vconcat(_cues(found), alt.hconcat(_pauses(found), _words(found)))),
    )


def _cues(found: "TurnTaking") -> Any:
    rows = [
        {"cue": CUES[cue], "auc": one.auc, "low": (one.interval or (one.auc,))[0], "high": (one.interval or (one.auc,))[-1]}
        for cue, one in {**found.auc, "smart_turn": found.smart_turn}.items()
        if one.auc is not None
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("cue:N", sort=list(CUES.values()), title=None))
    scale = alt.Scale(domain=[0, 1])
    half = alt.Chart(alt.InlineData(values=[{"at": 0.5}])).mark_rule(strokeDash=[6, 4]).encode(x="at:Q")
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    dots = base.mark_point(filled=True, size=70).encode(
        x=alt.X("auc:Q", scale=scale, title="AUC, ends against pauses (95 % intervals over conversations)")
    )
    return (half + bars + dots).properties(width=760, height=200)


def _pauses(found: "TurnTaking") -> Any:
    ordered = sorted(found.pauses_ms)
    own = [{"who": "this pack", "ms": ms, "share": 1 - k / len(ordered)} for k, ms in enumerate(ordered)]
    grid = np.geomspace(SHORTEST_MS, LONGEST_MS, 60)
    laws = [
        {"who": f"people ({name})", "ms": float(ms), "share": law.longer_than(float(ms))}
        for name, law in LAWS.items()
        for ms in grid
    ]
    x = alt.X(
        "ms:Q",
        scale=alt.Scale(type="log", domain=[SHORTEST_MS, LONGEST_MS], nice=False, clamp=True),
        axis=alt.Axis(title="Pause", values=[200, 300, 600, 1_000, 1_600, 5_000], labelExpr=LATENCY_LABEL),
    )
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title="Share of pauses that are longer", format="%"))
    lines = alt.Chart(alt.InlineData(values=own + laws)).mark_line(interpolate="linear")
    drawn = lines.encode(x=x, y=y, color=alt.Color("who:N", title=None), strokeDash=alt.StrokeDash("who:N", legend=None))
    return drawn.properties(width=340, height=240)


def _words(found: "TurnTaking") -> Any:
    ordered = sorted(found.words_a_turn)
    own = [{"who": "this pack", "words": n, "share": (k + 1) / len(ordered)} for k, n in enumerate(ordered)]
    people = [{"who": who, "words": n, "share": share} for who, points in PEOPLE_WORDS.items() for n, share in points]
    x = alt.X("words:Q", scale=alt.Scale(domainMin=0), title="Words a turn")
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title="Share of turns up to that", format="%"))
    line = alt.Chart(alt.InlineData(values=own)).mark_line(interpolate="step-after")
    dots = alt.Chart(alt.InlineData(values=people)).mark_point(filled=True, size=60)
    colour = alt.Color("who:N", title=None)
    return (
        line.encode(x=x, y=y, color=colour) + dots.encode(x=x, y=y, color=colour, shape=alt.Shape("who:N", legend=None))
    ).properties(width=340, height=240)
