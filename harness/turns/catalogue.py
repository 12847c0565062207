"""The catalogue of figures: for each its key, its title, its unit, which direction is better, what it needs, and its module.

If every reader described a figure for itself, there would soon be as many figures as readers. So latency tables, `--json`,
the gate, traces, exports, the page's metrics and the table in docs/measurement.md read this one list. A new figure is computed
in `harness.timing`, and gets a row and a field here.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.store.selection import NOT_TIMED
from harness.timing.figures import TurnTiming
from harness.timing.quantiles import Quantiles

Unit = Literal["ms", "share", "elo"]
Need = Literal["sound", "marks", "words", "judge"]
"""The agent's voice; its stamps and reports; the transcript of its sound; a verdict."""
MEDIAN_AND_TAIL: Final = ("p50", "p95")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a cell."""

    key: str
    """Its dotted path in `cells`; for a time without the unit."""
    title: str
    unit: Unit
    needs: tuple[Need, ...]
    computed_in: str
    """The module."""
    higher_is_better: bool = False
    statistics: tuple[str, ...] = ()
    """For a time: the statistics that a limit can name."""
    read: Callable[[TurnTiming], float | None] | None = None
    """For a latency: its value in one turn; infinite where the turn ranks slowest in it, None where it is not known."""
    chances: Callable[[TurnTiming], Iterable[bool | None]] | None = None
    """For a share of chances: each chance of one turn, and whether it was taken; None for one in which nobody could choose."""
    latency: str | None = None
    """For a share within a budget: the latency."""
    drawn: bool = False
    """True if the page offers it as an axis."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Its names in limits: one path for each of its statistics."""
        return tuple(f"{self.key}_ms.{name}" for name in self.statistics) if self.statistics else (self.key,)


def _latency(
    key: str, title: str, read: Callable[[TurnTiming], float | None], computed_in: str, *needs: Need, drawn: bool = True
) -> Figure:
    return Figure(key, title, "ms", needs, computed_in, statistics=MEDIAN_AND_TAIL, read=read, drawn=drawn)


LATENCIES: Final = (
    _latency("ttfa", "TTFA: first vocal sound heard", lambda t: t.ttfa_ms, "timing/measure", "sound"),
    _latency("answer", "Answer: first utterance that is no filler", lambda t: t.answer_ms, "timing/measure", "sound"),
    _latency("ttft", "TTFT: first answer token (reported by the agent)", lambda t: t.ttft_ms, "timing/chain", "marks"),
    _latency("first_sound", "First audible sound of any kind", lambda t: t.first_sound_ms, "timing/measure", "sound"),
    _latency("first_speech", "First speech", lambda t: t.first_speech_ms, "timing/utterances", "sound"),
    _latency("first_word", "First word", lambda t: t.first_word_ms, "timing/words", "sound", "words"),
    _latency("first_substance", "First word of substance", lambda t: t.first_substance_ms, "timing/words", "sound", "words"),
    _latency("ttft_from_spoken_end", "Spoken end to the first answer token", lambda t: t.ttft_from_spoken_end_ms,
             "timing/measure", "sound", "marks", drawn=False),
    _latency("first_byte", "First audio message", lambda t: t.first_byte_ms, "timing/measure", "sound", drawn=False),
    _latency("greeting", "Greeting", lambda t: t.greeting_ms, "timing/measure", "sound", drawn=False),
)  # fmt: skip
"""Latencies of a turn. In those that are heard, silence ranks slowest; in the others it is unknown."""
HEARD: Final = ("ttfa", "answer", "first_sound", "first_speech", "first_word", "first_substance")


class Latencies(BaseModel):
    """The latencies of a cell in ms, one field for each of `LATENCIES`."""

    model_config = ConfigDict(extra="forbid")

    ttft_ms: Quantiles = Field(default_factory=Quantiles)
    ttft_from_spoken_end_ms: Quantiles = Field(default_factory=Quantiles)
    ttfa_ms: Quantiles = Field(default_factory=Quantiles)
    answer_ms: Quantiles = Field(default_factory=Quantiles)
    first_byte_ms: Quantiles = Field(default_factory=Quantiles)
    first_sound_ms: Quantiles = Field(default_factory=Quantiles)
    first_speech_ms: Quantiles = Field(default_factory=Quantiles)
    first_word_ms: Quantiles = Field(default_factory=Quantiles)
    first_substance_ms: Quantiles = Field(default_factory=Quantiles)
    greeting_ms: Quantiles = Field(default_factory=Quantiles)
    """From the opened call to the agent's greeting, on calls that the agent began."""


def _dead_air(turn: TurnTiming) -> float | None:
    if turn.endpointing is None or turn.endpointing.discarded is not None:
        return float("inf") if turn.method == NOT_TIMED else None
    return float("inf") if turn.endpointing.dead_air_ms is None else turn.endpointing.dead_air_ms


def _decision_delay(turn: TurnTiming) -> float | None:
    """A turn without reply and without decision is infinite: the agent never found its end. For a reply without a decision
    after the last pause the decision is not known."""
    if turn.endpointing is None or turn.endpointing.discarded is not None:
        return None
    if turn.endpointing.decision_ms is None and turn.endpointing.dead_air_ms is None:
        return float("inf")
    return turn.endpointing.decision_ms


def _pauses_cut(turn: TurnTiming) -> Iterable[bool | None]:
    pauses = turn.endpointing.pauses if turn.endpointing is not None else ()
    return (None if pause.fate == "already_talking" else pause.fate == "cut" for pause in pauses)


FRAME_MS: Final = 20.0
"""Length of one chance in a share of time: a frame of the caller."""


def _shared(part_ms: float, of_ms: float) -> Iterable[bool]:
    of = round(of_ms / FRAME_MS)
    part = min(round(part_ms / FRAME_MS), of)
    return (k < part for k in range(of))


def _late_units(turn: TurnTiming) -> Iterable[bool]:
    return (k < len(turn.duplex.unit_gaps_ms) for k in range(turn.duplex.units)) if turn.duplex else ()


OTHERS: Final = (
    Figure("dead_air", "Silence after a turn's true end", "ms", ("sound",), "figures/endpointing", statistics=("p50",),
           read=_dead_air),
    Figure("decision_delay", "Spoken end to the decision that the turn is over", "ms", ("sound", "marks"),
           "figures/endpointing", statistics=("p50",), read=_decision_delay),
    Figure("within_budget.ttfa", "TTFA within the budget", "share", ("sound",), "figures/latency", higher_is_better=True,
           latency="ttfa"),
    Figure("within_budget.answer", "Answer within TTFA's budget", "share", ("sound",), "figures/latency",
           higher_is_better=True, latency="answer"),
    Figure("within_budget.ttft", "TTFT within the budget", "share", ("marks",), "figures/latency", higher_is_better=True,
           latency="ttft"),
    Figure("pauses_cut_share", "Pauses cut", "share", ("sound",), "figures/endpointing", chances=_pauses_cut),
    Figure("false_start_rate", "False starts", "share", ("sound",), "timing/endpointing", chances=lambda t: t.pause_was_cut),
    Figure("cut_in_rate", "Cut-ins", "share", ("sound",), "timing/endpointing", chances=lambda t: (t.cut_in,)),
    Figure("continuity", "Replies without a gap in their sound", "share", ("sound",), "timing/measure", higher_is_better=True,
           chances=lambda t: () if t.no_reply else (t.underruns == 0,)),
    Figure("no_reply_rate", "No reply", "share", ("sound",), "timing/measure", chances=lambda t: (t.no_reply,)),
    Figure("duplex.overlap_share", "Caller's speech over which a full-duplex agent speaks", "share", ("sound",),
           "timing/duplex", chances=lambda t: _shared(t.duplex.overlap_ms, t.duplex.caller_ms) if t.duplex else ()),
    Figure("duplex.agent_overlap_share", "A full-duplex agent's speech over which the caller speaks", "share", ("sound",),
           "timing/duplex", chances=lambda t: _shared(t.duplex.overlap_ms, t.duplex.agent_ms) if t.duplex else ()),
    Figure("duplex.late_units_share", "Units of a full-duplex agent that came late", "share", ("sound",), "timing/duplex",
           chances=_late_units),
    Figure("unspoken_share", "Planned turns that the agent left unspoken", "share", ("sound",), "figures/session_figures"),
    Figure("understood_wer", "Words that the agent misunderstood", "share", ("sound", "marks"), "figures/session_figures"),
    Figure("heard_wer", "Words of the reply that were not heard as written", "share", ("sound", "words"),
           "figures/session_figures"),
    Figure("win_rate", "Comparisons won", "share", ("judge",), "ranking/verdicts", higher_is_better=True),
    Figure("people.win_rate", "Comparisons won, by people's votes alone", "share", ("judge",), "ranking/verdicts",
           higher_is_better=True),
)  # fmt: skip

CATALOGUE: Final = {figure.key: figure for figure in (*LATENCIES, *OTHERS)}
BY_PATH: Final = {path: figure for figure in CATALOGUE.values() for path in figure.paths}
"""Figure by the path that a limit names."""
