"""One session and its turns, as the page, the charts and the exports show them.

A run's figures are of all turns, so every reader has every turn here, each with both ends of its latencies: also one that
others could have delayed, and one of a call of several.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.judging.speaks_to_judge import speaks_to_judge
from harness.store.unspoken import Unspoken
from harness.turns.bounded import Bounded, Speed


@dataclass(frozen=True, slots=True)
class Span:
    """An interval of the timeline in ms since the caller's first sample."""

    name: str
    start_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class ServedView:
    """One wait of a turn for a model server."""

    stage: str
    name: str
    parts: tuple[Span, ...]
    """In ms since the spoken end, as the stages; no part is shorter than nothing."""
    parts_ms: Mapping[str, float]
    """The same, with the unexplained negative where parts overlap."""
    source: str
    note: str


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn. Times are ms after its spoken end, which is on the timeline of its session."""

    number: int = 1
    spoken_end_ms: float | None = None
    times_ms: Mapping[str, Bounded] = field(default_factory=dict)
    """By metric name, also `signed`, `first_byte`, `greeting`, `yield` and `dead_air`. Of a turn that ranks slowest, TTFA and
    answer are infinite."""
    watched: bool = False
    """True if the work of others on its machine was counted."""
    others: tuple[tuple[str, float], ...] = ()
    """The programs that ran most beside the agent, and their cores."""
    inner_pauses: tuple[int, int] = (0, 0)
    """Of the pauses of 200 ms and more in which the agent could choose: (cut, all)."""
    marked_pauses: tuple[int, int] = (0, 0)
    """Of the marked pauses: (cut, all)."""
    backchannels: int = 0
    cut_in: bool = False
    talking_at_end: bool = False
    no_reply: bool = False
    discarded: str = ""
    """Reason why the turn gives no figure."""
    labels: tuple[str, ...] = ()
    words: str | None = None
    """The reply as transcribed; None where nothing was."""
    stages: tuple[Span, ...] = ()
    stages_note: str = ""
    """The source of the stages, if the agent does not stamp them itself."""
    hidden: tuple[Span, ...] = ()
    served: tuple[ServedView, ...] = ()
    """The waits for model servers."""
    refused: tuple[str, ...] = ()
    pacing_p99_error_ms: float | None = None
    loop_lag_max_ms: float | None = None

    def ms(self, name: str) -> float | None:
        """The measured time; None where there is none."""
        found = self.times_ms.get(name)
        return found.high_ms if found is not None and math.isfinite(found.high_ms) else None

    def owed_ms(self, name: str) -> float | None:
        """The most of a time that others could have caused; None where it was not counted."""
        value = self.ms(name)
        return value - self.times_ms[name].low_ms if self.watched and value is not None else None

    def speed(self, name: str, budget_ms: float) -> Speed | None:
        """The time against a budget; None where the turn does not have it."""
        return self.times_ms[name].within(budget_ms) if name in self.times_ms and not self.discarded else None

    @property
    def slowest(self) -> bool:
        """True if the agent gave no answer that could be timed: the turn ranks behind every answer."""
        return not self.discarded and "ttfa" in self.times_ms and self.ms("ttfa") is None


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session with its turns. Times on the timeline are ms since the caller's first sample."""

    agent: str
    session: str
    status: str
    run: str = ""
    """The run, on a page of several."""
    failure: str = ""
    lost: bool = False
    """True if it failed by the agent's fault: it ranks as a turn without reply."""
    written: str | None = None
    heard: str | None = None
    understood: str | None = None
    replayed: tuple[tuple[str, str], ...] = ()
    """In replay, the real conversation before the last reply: (role, words), the agent's as heard."""
    audio: str | None = None
    """Path of the stereo mix relative to the page: caller left, agent right."""
    caller: tuple[Span, ...] = ()
    pauses: tuple[Span, ...] = ()
    """Marked pauses; the name is `cut` or `kept`."""
    agent_spans: tuple[Span, ...] = ()
    marks: tuple[Span, ...] = ()
    """Points: start equals end."""
    started_s: float | None = None
    """Seconds since the run's first session."""
    length_ms: float | None = None
    """Duration of the audio file."""
    envelope: tuple[str, str] | None = None
    """Loudness of caller and agent along the file, one base-36 digit per step."""
    repeat: int = 0
    condition: str = ""
    mode: str = ""
    turns: tuple[TurnView, ...] = ()
    unspoken: Unspoken | None = None
    """The planned turns that were never spoken; None where all were, or it is not known."""

    @property
    def last(self) -> TurnView:
        """The turn whose reply is judged; one without any figure where none was timed."""
        return self.turns[-1] if self.turns else TurnView()

    @property
    def is_call(self) -> bool:
        """True for a call that may have several turns, which are listed one by one."""
        return len(self.turns) > 1 or self.mode == "recorded" or self.unspoken is not None

    @property
    def slowest(self) -> bool:
        """True if its last turn has no answer that could be timed, by the agent's fault."""
        return self.lost or self.last.slowest

    @property
    def speaks_to_judge(self) -> bool:
        """True if the reply, as heard or as written, speaks to whoever judges it."""
        return any(speaks_to_judge(text) for text in (self.heard, self.written) if text)

    def minute(self, turn: TurnView) -> float | None:
        """When a turn began to be answered, in minutes since the run's first session; the first at the start of its session."""
        if self.started_s is None:
            return None
        later_ms = (turn.spoken_end_ms or 0.0) - (self.turns[0].spoken_end_ms or 0.0)
        return round((self.started_s + later_ms / 1_000) / 60, 3)
