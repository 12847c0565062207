"""Plan of a session, complete before the session begins, so that nothing has to be decided while audio is flowing.

A plan may have several caller turns: the first begins after the lead-in, a later one either waits for the agent's reply
to end (replaying a conversation) or is spoken into that reply (barge-in). An event, a cough or a "mm-hm", is played as a
barge-in is. One mechanism serves all because to the pacer they differ only in the moment that starts them.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from harness.agents.connections import ConnectionSpec
from harness.agents.message import Message
from harness.recording.record import Pause

LEAD_IN_MS = 500.0
"""Silence before the first word: voice detectors need a few windows of background before they can separate speech from it."""

Start = Literal["lead_in", "after_reply", "into_reply"]


@dataclass(frozen=True, slots=True)
class CallerTurn:
    """One rendered turn, int16 mono at the plan's rate. `dry` is the signal before line conditions (None: as played)."""

    played: NDArray[np.int16]
    dry: NDArray[np.int16] | None = None
    pauses: tuple[Pause, ...] = ()
    """Marked pauses, in samples of this turn."""
    start: Start = "lead_in"
    offset_ms: float = 1_000.0
    """`after_reply`: silence left after the reply's end. `into_reply`: how far into the audible reply this turn starts."""
    event: str = ""
    """The event's name, if this is an event (`into_reply`) and not a turn of the caller."""

    def __post_init__(self) -> None:
        if self.dry is not None and len(self.dry) != len(self.played):
            raise ValueError("the dry and the played signal of a turn must be equally long")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that end a session, in seconds. Definitions: docs/measurement.md."""

    quiet_s: float = 2.0
    """After the last agent speech, as heard, once the reply is over."""
    no_reply_s: float = 15.0
    """After the spoken end, with nothing heard."""
    total_s: float = 60.0
    """After the last spoken end, whatever the agent does: the longest reply to a turn that is heard."""
    open_s: float = 30.0
    """For the agent to accept the connection and the history."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """Treatment of an agent that may speak first: the caller lets it finish."""

    wait_s: float
    """Longest wait, from the opened line, for the greeting to begin. 0: the caller waits only for one that has begun."""
    after_ms: float = 700.0
    """Silence left after it. Between two sentences synthesisers leave 200 to 400 ms; people leave about as much after a
    thoughtful answer (`harness.run.caller_turns.AFTER_REPLY_MS`)."""
    longest_s: float = 30.0
    """Sound that lasts longer is no greeting, but noise on the line or a monologue: the caller begins."""


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """The data that the caller needs for one session."""

    connection: ConnectionSpec
    turns: tuple[CallerTurn, ...]
    rate_hz: int
    history: tuple[Message, ...] = ()
    lead_in_ms: float = LEAD_IN_MS
    limits: Limits = field(default_factory=Limits)
    greeting: Greeting | None = None
    """None: the caller begins after the lead-in, whatever the agent says."""
    reply_ends_after_ms: float | None = None
    """The silence that ends a reply on a wire that does not say so; None: `harness.replies.ending` chooses by what was said."""
    full_duplex: bool = False
    """True if the profile says so; the agent is full duplex too if its wire says so (`Capabilities`)."""
    line_noise: NDArray[np.int16] | None = None
    """Background on the line while the caller is silent, repeated; None is digital silence."""

    def __post_init__(self) -> None:
        if not self.turns:
            raise ValueError("a session needs at least one caller turn")
        if self.turns[0].start != "lead_in" or any(turn.start == "lead_in" for turn in self.turns[1:]):
            raise ValueError("the first turn, and no other, starts after the lead-in")

    @property
    def planned_turns(self) -> int:
        """Number of turns that the caller means to speak: neither interruptions nor events, which need a reply to occur."""
        return sum(turn.start != "into_reply" for turn in self.turns)


NOT_WRITTEN: Final = "not_written"
"""Failure of a session that was played but whose recording could not be written: the run's fault, not the agent's."""


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """End of a session. `failure_kind` is None when it can be measured (no reply is a measurement, not a failure)."""

    ended: str
    failure_kind: str | None = None
    detail: str = ""
    begun_ns: int | None = field(default=None, compare=False)
    """When the caller began to dial, on the monotonic clock; None where no caller process played it."""
