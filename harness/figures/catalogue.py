"""The catalogue of figures: for each its key, its title, its unit, which direction is better, and what it needs.

If every reader described a figure for itself, there would soon be as many figures as readers. So latency tables, gates and
the page's metrics read one list, and a test checks the documents against it. docs/measurement.md defines each figure, and
`harness.timing` computes it. A new figure of a turn is computed there; it gets a row here and a field in `TurnFigures`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from harness.timing.figures import TurnTiming

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
    higher_is_better: bool = False
    statistics: tuple[str, ...] = ()
    """For a time: the statistics that a limit can name."""
    read: Callable[[TurnTiming], float | None] | None = None
    """For a latency: its value in one turn."""
    drawn: bool = False
    """True if the page offers it as an axis."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Its names in limits: one path for each of its statistics."""
        return tuple(f"{self.key}_ms.{name}" for name in self.statistics) if self.statistics else (self.key,)


def _latency(key: str, title: str, read: Callable[[TurnTiming], float | None], *needs: Need, drawn: bool = True) -> Figure:
    return Figure(key, title, "ms", needs, statistics=MEDIAN_AND_TAIL, read=read, drawn=drawn)


LATENCIES: Final = (
    _latency("ttfa", "TTFA: first vocal sound heard", lambda t: t.ttfa_ms, "sound"),
    _latency("ttft", "TTFT: first answer token (reported by the agent)", lambda t: t.ttft_ms, "marks"),
    _latency("first_sound", "First audible sound of any kind", lambda t: t.first_sound_ms, "sound"),
    _latency("first_speech", "First speech", lambda t: t.first_speech_ms, "sound"),
    _latency("first_word", "First word", lambda t: t.first_word_ms, "sound", "words"),
    _latency("first_substance", "First word of substance", lambda t: t.first_substance_ms, "sound", "words"),
    _latency("ttft_from_spoken_end", "Spoken end to the first answer token", lambda t: t.ttft_from_spoken_end_ms, "sound",
             "marks", drawn=False),
    _latency("first_byte", "First audio message", lambda t: t.first_byte_ms, "sound", drawn=False),
    _latency("greeting", "Greeting", lambda t: t.greeting_ms, "sound", drawn=False),
)  # fmt: skip
"""Latencies of a turn. In those that are heard, silence ranks slowest; in the others it is unknown."""
HEARD: Final = ("ttfa", "first_sound", "first_speech", "first_word", "first_substance")

OTHERS: Final = (
    Figure("dead_air", "Silence after a turn's true end", "ms", ("sound",), statistics=("p50",)),
    Figure("decision_delay", "Spoken end to the decision that the turn is over", "ms", ("sound", "marks"),
           statistics=("p50",)),
    Figure("within_budget.ttfa", "TTFA within the budget", "share", ("sound",), higher_is_better=True),
    Figure("within_budget.ttft", "TTFT within the budget", "share", ("marks",), higher_is_better=True),
    Figure("pauses_cut_share", "Pauses cut", "share", ("sound",)),
    Figure("false_start_rate", "False starts", "share", ("sound",)),
    Figure("cut_in_rate", "Cut-ins", "share", ("sound",)),
    Figure("no_reply_rate", "No reply", "share", ("sound",)),
    Figure("understood_wer", "Words that the agent misunderstood", "share", ("sound", "marks")),
    Figure("heard_wer", "Words of the reply that were not heard as written", "share", ("sound", "words")),
    Figure("win_rate", "Comparisons won", "share", ("judge",), higher_is_better=True),
    Figure("people.win_rate", "Comparisons won, by people's votes alone", "share", ("judge",),
           higher_is_better=True),
)  # fmt: skip

CATALOGUE: Final = {figure.key: figure for figure in (*LATENCIES, *OTHERS)}
BY_PATH: Final = {path: figure for figure in CATALOGUE.values() for path in figure.paths}
"""Figure by the path that a limit names."""
