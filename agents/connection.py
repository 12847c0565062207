"""The interface between the caller and any agent, for all wire formats.

The design follows one-method transports of HTTP libraries: a connection is small enough that an in-process scripted one
is first-class, so every test of the run can go without a network, and a new wire format is one new file.

A connection never interprets audio and never delays it: it stamps each arrival on the machine's monotonic clock the
moment the bytes are read, and leaves playout, timing and every judgement to later, pure functions.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, runtime_checkable

from pydantic import ConfigDict

from harness.agents.message import Message

FailureKind = Literal[
    "refused",  # nothing listens there, or the agent turned the caller away
    "open_timeout",  # no connection or no acknowledgement in time
    "no_history",  # a history was given to an agent that takes none
    "garbage",  # a message that the wire format does not allow
    "flood",  # more than a session can hold
    "overflow",  # the agent stopped reading what the caller says
    "closed_early",  # the agent hung up before it said anything, or broke the line
    "codec",  # it speaks none of the codecs that the caller offers
    "no_media",  # the call is up, and no sound could or did come over it
    "rang_out",  # the telephone rang, and nobody answered
    "busy",  # it takes no further call at present
    "declined",  # it declined the call
    "not_found",  # no machine, route, protocol or person of that name at that address
    "unauthorised",  # the caller's key, or name and password, is wrong or missing, or it may not call
    "hung_up",  # the agent hung up in the middle of what it said
    "defect",  # the connection itself failed on what came: not the agent's fault
]


@dataclass(frozen=True, slots=True)
class MediaStamp:
    """The position of a sound packet on its sender's own clock, for protocols with one (RTP)."""

    at_ns: int
    """Time of its first sample since the first packet of the connection."""
    lost_before: int = 0
    """Number of missing packets between the one before and this one."""


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """Agent audio as it arrived: PCM16LE mono bytes at the agent's native rate."""

    arrival_ns: int
    pcm: bytes
    rate_hz: int
    media: MediaStamp | None = None
    """None for protocols without a media clock, where only the arrival is known."""


@dataclass(frozen=True, slots=True)
class LineReport:
    """The far end's report on the connection (RTCP): round-trip time, and losses of the caller's packets."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    arrival_ns: int
    round_trip_ms: float | None = None
    sent_lost: int | None = None
    """Packets of the caller that did not reach the agent, since the line was opened."""
    sent_jitter_ms: float | None = None


OF_THE_CONNECTION: Final = "connection."
"""Beginning of the names of marks that a connection makes itself."""
FELL_BACK: Final = "connection.fell_back"
"""Name of the mark of a call that went over another wire than its profile says; its detail has `why`, a sentence."""
ENDS_TURNS: Final = "connection.ends_turns"
"""Name of the mark of a call in which the harness says where its caller's turn ends; its detail has `why`, a sentence."""
AGENT_ERROR: Final = "agent.error"
"""Name of the mark of an error that an agent reports in a message of the wire itself; its detail has `message`."""
IGNORED: Final = "connection.ignored"
"""Name of the mark of a message that was ignored because it is none of the wire's; its detail has `message`, its beginning."""
ODD_SOUND: Final = "connection.odd_sound"
"""Name of the mark of sound that cannot be meant as it was sent; its detail has `why`, a sentence."""
CLOSED_WITH: Final = "connection.closed"
"""Name of the mark of the reason that an agent gave for its goodbye; its detail has `code` and `reason`."""
NO_TIME_NS: Final = -1
"""`Mark.at_ns` where the agent stamped a time that no clock gives (negative, not finite, or beyond 64 bits)."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An event that the agent reports, stamped by the agent where it happened.

    `at_ns` is the agent's own monotonic clock (the caller's too, when both are on one machine); `name` is one of the
    names in `harness.agents.marks`, or any other string, stored unchanged.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    at_ns: int
    arrival_ns: int
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Transcript:
    """Text that the agent reports: the words that it understood (`user`) or speaks (`assistant`)."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    arrival_ns: int
    role: Literal["user", "assistant"]
    text: str
    final: bool


@dataclass(frozen=True, slots=True)
class Cleared:
    """The agent's request to drop all audio that is not yet played."""

    arrival_ns: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The end of the connection. `error` is None for an orderly close, otherwise one line with the cause.

    `kind` names the failure, so that runs can be counted by it; None together with `error`.
    """

    arrival_ns: int
    error: str | None = None
    kind: FailureKind | None = None


Event = AudioChunk | LineReport | Mark | Transcript | Cleared | Closed


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of a connection. `accepts_history`: a conversation so far can be given before audio starts."""

    accepts_history: bool
    input_rate_hz: int
    output_rate_hz: int | None
    """None if each message has its own rate."""
    full_duplex: bool = False
    """True if it listens while it speaks and sends sound all the time, silence too, without turns."""


class ConnectionFailed(Exception):
    """The agent could not be reached, refused the history, or broke the protocol. The message is one line for people."""

    def __init__(self, message: str, kind: FailureKind = "refused", fault: str = "") -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.fault = fault
        """Its row in `harness.agents.connections.what_to_check`; empty for what that table does not have."""


@runtime_checkable
class Connection(Protocol):
    """A connection to one agent for one session.

    >>> import harness
    >>> from harness.agents.connections import ConnectionSpec, make
    >>> isinstance(make(ConnectionSpec("raw-pcm", "ws://127.0.0.1:8765")), harness.Agent)
    True
    """

    @property
    def capabilities(self) -> Capabilities: ...

    async def open(self, history: Sequence[Message]) -> None:
        """Connect and give the history; returns once the agent has acknowledged it.

        Raises:
            ConnectionFailed: the agent cannot be reached, or does not acknowledge in time.
        """

    def send(self, frame: bytes) -> None:
        """Queue one 20 ms frame of caller audio (PCM16LE mono at `input_rate_hz`). Never blocks."""

    def events(self) -> AsyncIterator[Event]:
        """All events in the order of arrival, ending with exactly one `Closed`."""

    async def close(self) -> None:
        """End the session. Safe to call twice."""


@runtime_checkable
class EndsTurns(Protocol):
    """A connection that can say where the caller's turn ends, to an agent whose own turn detection is off."""

    def end_turn(self) -> None:
        """Say that the last frame that was sent ended the turn. Never blocks; nothing where the agent finds the end itself."""
