"""Raw PCM over a WebSocket: the wire that anyone can serve in twenty lines.

Binary messages are PCM16LE mono both ways. The caller begins with `{"type": "start", "sample_rate": …}`, which carries
`"history": [{"role", "text"}, …]` for an agent that takes one; such an agent answers `{"type": "ready"}` once it has it.
The agent may say its own rate in a `start` message, and may send `clear`, `transcript` (`role`, `text`, `final`) and
`mark` (`name`, `at_ns` on the monotonic clock, `detail`). A message of another type is ignored, so that agents may send
what their own clients need.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from harness.agents.connection import AGENT_ERROR, NO_TIME_NS, Capabilities, Cleared, Connection, Event, Mark, Transcript
from harness.agents.connections.about import TCP, About
from harness.agents.connections.start_request import StartedByRequest
from harness.agents.connections.websocket import over_websocket, settings_of
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    NotOfThisWire,
    Outgoing,
    Received,
    Wire,
    arrived,
    audio_of,
    parse_object,
    refuse_history,
    sample_rate,
    shown,
)
from harness.agents.message import Message
from harness.agents.profile_spoken import PcmBot, SampleRate


class RawPcmWire(Wire):
    """One session of raw PCM."""

    def __init__(self, input_rate_hz: int = 16_000, output_rate_hz: int = 16_000, accepts_history: bool = False) -> None:
        self.capabilities = Capabilities(accepts_history=accepts_history, input_rate_hz=input_rate_hz, output_rate_hz=None)
        self._agent_rate_hz = output_rate_hz
        self._ready = True

    @property
    def ready(self) -> bool:
        return self._ready

    @property
    def waits_for(self) -> str:
        return 'the acknowledgement of the history ({"type": "ready"})'

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, self.capabilities.accepts_history, "set accepts_history = true if it does")
        start: dict[str, Any] = {"type": "start", "sample_rate": self.capabilities.input_rate_hz}
        if self.capabilities.accepts_history:
            start["history"] = [{"role": turn.role, "text": turn.text} for turn in history]
            self._ready = False
        return (json.dumps(start, ensure_ascii=False),)

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes):
            return audio_of(message, self._agent_rate_hz, arrival_ns)
        data = parse_object(message)
        match data.get("type"):
            case "start":
                self._agent_rate_hz = sample_rate(data.get("sample_rate", self._agent_rate_hz))
                return NOTHING
            case "ready":
                self._ready = True
                return NOTHING
            case "clear":
                return Received(events=(Cleared(arrival_ns),))
            case "transcript":
                return Received(events=(transcript_of(data, arrival_ns),))
            case "mark":
                return Received(events=(mark_of(data, arrival_ns),))
            case "error":
                return Received(events=(arrived(AGENT_ERROR, arrival_ns, message=shown(str(data.get("message", "")), 200)),))
            case str():
                return NOTHING
        raise NotOfThisWire(f"a message without a type: {shown(message)}")


def transcript_of(data: Mapping[str, Any], arrival_ns: int) -> Transcript:
    """The transcript of a message with `role`, `text` and perhaps `final`.

    Raises:
        Garbage: role or text is missing or of the wrong type.
    """
    role, text = data.get("role"), data.get("text")
    if role not in ("user", "assistant") or not isinstance(text, str):
        raise Garbage(f"a transcript without role and text: {shown(repr(dict(data)))}")
    return Transcript(arrival_ns=arrival_ns, role=role, text=text, final=bool(data.get("final", True)))


def mark_of(data: Mapping[str, Any], arrival_ns: int) -> Event:
    """The mark of a message with `name`, `at_ns` and perhaps `detail`.

    A time that no clock gives is no fault of the call: timing refuses such a mark by name.

    Raises:
        Garbage: name or time is missing or of the wrong type.
    """
    name, at_ns, detail = data.get("name"), data.get("at_ns", ""), data.get("detail")
    if not isinstance(name, str):
        raise Garbage(f"a mark without a name: {shown(repr(dict(data)))}")
    if isinstance(at_ns, bool) or not isinstance(at_ns, int | float | None):
        raise Garbage(f"a mark whose at_ns is no number of nanoseconds: {shown(repr(dict(data)))}")
    stamped_ns = NO_TIME_NS if at_ns is None or not 0 <= at_ns < 2**63 else round(at_ns)
    return Mark(name=name, at_ns=stamped_ns, arrival_ns=arrival_ns, detail=detail if isinstance(detail, dict) else {})


class RawPcmProfile(PcmBot, StartedByRequest):
    """Any bot that takes and gives PCM16LE mono as binary WebSocket messages."""

    kind: Literal["raw-pcm"]
    output_rate_hz: SampleRate = 16_000
    """Rate of the agent's audio until it states another in a `start` message."""


PROFILE: Final = RawPcmProfile
ABOUT: Final = About(
    comment=("# Any agent that takes and gives PCM16 over a WebSocket.",),
    url="ws://127.0.0.1:{port}/",
    command="./serve --port {port}",
    ready=TCP,
    settings=(
        "input_rate_hz = 16000      # what it hears",
        "output_rate_hz = 24000     # what it says, until it says otherwise",
        'accepts_history = false    # true once it takes "history" in the start message and answers "ready"',
    ),
    brings_ttft='send {"type": "mark", "name": "llm_requested", "at_ns": …} and "llm_first_token" (agents/marks.py)',
    brings_words='send {"type": "transcript", "role": "user", "text": "…", "final": true}',
    brings_history='accepts_history = true once it takes "history" in the start message',
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A connection to a raw-PCM agent; options: `input_rate_hz`, `output_rate_hz`, `accepts_history`, and every wire's."""
    wire = RawPcmWire(**settings_of(options, "input_rate_hz", "output_rate_hz", "accepts_history"))
    return over_websocket(url, wire, options, transport="websocket")
