"""The interface of a wire format, independent of sockets: bytes in, events out.

Each format is a small state machine without input or output of its own, so that the same code is driven by a socket in a
call and by arbitrary bytes in a property test. `harness.agents.connections.websocket` gives it a socket.
"""

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.agents.connection import AudioChunk, Capabilities, ConnectionFailed, Event, Mark
from harness.agents.message import Message
from harness.agents.secrets import beginning

Outgoing = str | bytes


class Garbage(Exception):
    """A message that the wire format does not allow; the text names the fault."""


class NotOfThisWire(Garbage):
    """A message that has no place in the wire format and breaks nothing: an agent may send what its own clients need."""


@dataclass(frozen=True, slots=True)
class Received:
    """The events of one message, and the immediate answers to it."""

    events: tuple[Event, ...] = ()
    replies: tuple[Outgoing, ...] = ()


NOTHING = Received()

MAX_DEPTH = 16
"""Deepest nesting: these formats need six; a depth of thousands would stop the writer of the recording."""


class Wire(Protocol):
    """One session in one wire format."""

    capabilities: Capabilities

    @property
    def ready(self) -> bool:
        """True once the agent has acknowledged the history (or there is nothing to acknowledge): audio may start."""
        return True

    @property
    def waits_for(self) -> str:
        """The event for which `ready` waits, in words, for the error message if it does not come."""
        return "a connection"

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        """The first messages of a session."""

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        """The meaning of one message of the agent.

        Raises:
            Garbage: the wire format does not allow it.
            ConnectionFailed: the agent refuses the session.
        """

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        """One 20 ms frame of the caller as messages, and all other messages that are due; without more, the frame itself."""
        del now_ns
        return (frame,)

    @property
    def ends_turns(self) -> str:
        """The reason why the harness says where its caller's turn ends, which other agents find out; empty if it does not."""
        return ""

    def end_turn(self) -> Sequence[Outgoing]:
        """The messages that end the caller's turn, whose last frame was sent; none where the agent finds the end itself."""
        return ()

    def unanswered(self) -> str:
        """The reason to go on although `ready` does not come in time and the line is open; empty if there is none."""
        return ""

    @property
    def fell_back(self) -> str:
        """The reason why the session goes on in another way than its profile says; empty if it does not."""
        return ""

    def refusal(self, code: int, reason: str) -> ConnectionFailed | None:
        """The failure that a server's goodbye names in a way of its own; None for what all servers mean by it."""
        del code, reason
        return None

    def goodbye(self) -> Sequence[Outgoing]:
        """The last messages of a session that the caller ends; without any, it hangs up."""
        return ()


def parse_object(text: str | bytes) -> dict[str, Any]:
    """A JSON object whose strings and numbers can be written again.

    Python's parser lets through what later breaks a file: deep nesting, which is refused, half of a surrogate pair, which is
    replaced, and numbers that are not finite (`NaN`, `1e999`), which become null, as JavaScript writes them.

    Raises:
        NotOfThisWire: it is text, or JSON of another kind.
        Garbage: it is anything else.
    """
    try:
        parsed = json.loads(text, parse_constant=_finite, parse_float=_finite)
        if not isinstance(parsed, dict):
            raise NotOfThisWire(f"a JSON message that is not an object: {shown(text)}")
        if not _shallow(parsed, MAX_DEPTH):
            raise Garbage(f"a JSON message nested more than {MAX_DEPTH} deep: {shown(text)}")
        written = json.dumps(parsed, ensure_ascii=False)
        if not written.isascii():
            whole = written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            parsed = parsed if whole == written else json.loads(whole, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        # A binary message is meant to be read; a text may be a word to somebody else.
        kind = NotOfThisWire if isinstance(text, str) else Garbage
        raise kind(f"a message that is not JSON: {shown(text)}") from error
    return dict(parsed)


def table_of(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under a name of another; empty if there is none."""
    inner = data.get(name)
    return inner if isinstance(inner, dict) else {}


def tables_in(found: object) -> list[dict[str, Any]]:
    """The objects of a list; none if it is no list."""
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _shallow(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        return depth > 0 and all(_shallow(part, depth - 1) for part in value.values())
    if isinstance(value, list):
        return depth > 0 and all(_shallow(part, depth - 1) for part in value)
    return True


def _finite(written: str) -> float | None:
    number = float(written)
    return number if math.isfinite(number) else None


def from_base64(coded: object) -> bytes:
    """The bytes of a field in base64.

    Raises:
        Garbage: the field is not base64.
    """
    try:
        return base64.b64decode(coded if isinstance(coded, str) else "!", validate=True)
    except (binascii.Error, ValueError) as error:
        raise Garbage(f"audio that is not base64: {shown(repr(coded))}") from error


def whole_samples(pcm: bytes) -> bytes:
    """The PCM16 bytes, unchanged.

    Raises:
        Garbage: half a sample, after which every later sample would be noise.
    """
    if len(pcm) % 2:
        raise Garbage(f"audio of {len(pcm)} bytes: PCM16 has two bytes a sample")
    return pcm


def audio_of(pcm: bytes, rate_hz: object, arrival_ns: int) -> Received:
    """PCM16 as the audio of an agent; nothing for an empty message.

    Raises:
        Garbage: half a sample, or no sample rate.
    """
    return Received(events=(AudioChunk(arrival_ns, whole_samples(pcm), sample_rate(rate_hz)),)) if pcm else NOTHING


def sample_rate(value: object) -> int:
    """A sample rate in Hz that audio hardware has.

    Raises:
        Garbage: it is not one.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 4_000 <= value <= 192_000:
        return value
    raise Garbage(f"a sample rate of {shown(repr(value))}")


def arrived(name: str, arrival_ns: int, **detail: object) -> Mark:
    """A mark of what has no time of the agent's own: it is stamped as its message arrived."""
    return Mark(name, arrival_ns, arrival_ns, {**detail, "stamped": "arrival"})


def marks_of(wire: str) -> Callable[..., Mark]:
    """The marks of a wire, by names without the wire's own before them; else as `arrived`."""

    def mark(name: str, arrival_ns: int, **detail: object) -> Mark:
        return arrived(f"{wire}.{name}", arrival_ns, **detail)

    return mark


def refuse_history(history: Sequence[Message], accepts: bool, how: str) -> None:
    """Refuse a history for an agent that takes none: it would be judged on words that it never got.

    Raises:
        ConnectionFailed: there is a history, and the agent takes none. `how` says what would mend it.
    """
    if history and not accepts:
        raise ConnectionFailed(f"this agent accepts no history: play it with --mode replay, or {how}", "no_history")


def shown(text: str | bytes, limit: int = 60) -> str:
    """The beginning of something untrusted, masked and safe to print on one line."""
    return beginning(text, limit)


def shown_error(words: str, *codes: str) -> str:
    """An error in the server's words, and its codes in brackets behind them in place of the full stop."""
    said = shown(words, 200)
    return " ".join((said.rstrip("."), *(f"({shown(code)})" for code in codes))) if codes else said


def defect(error: Exception, doing: str) -> str:
    """One line on a failure of the connection's own code. `doing`: what it did, after "the connection failed"."""
    return f"the connection failed {doing}: {type(error).__name__}: {shown(str(error))}"


class PlayoutClock:
    """The playout end of the received audio, in ns of the monotonic clock.

    For wire formats whose bots ask for playout times. It is the model of the harness's measurements: each piece plays on
    arrival, or when the one before has ended. It uses only durations, because a wire needs instants (answer a mark, truncate
    a reply), not sound.
    """

    def __init__(self) -> None:
        self.until_ns = 0
        """The time at which all received audio will have been played."""

    def add(self, arrival_ns: int, samples: int, rate_hz: int) -> None:
        """Add a received piece of audio."""
        self.until_ns = max(self.until_ns, arrival_ns) + round(samples * 1e9 / rate_hz)

    def clear(self, now_ns: int) -> None:
        """Drop the audio that has not been played."""
        self.until_ns = min(self.until_ns, now_ns)
