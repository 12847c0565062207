"""Vapi over a WebSocket: a call is placed with `POST /call`, then PCM16LE both ways and the messages for clients in JSON.

Vapi says who begins and stops to speak (`speech-update`), the model's tokens (`model-output`) and transcripts, if the
assistant's `clientMessages` name them, as they do by default; these bound the stages of a reply. Sound that has not been played
is dropped at `user-interrupted`. Tools run on servers of the assistant's own, so that none is answered here.

Source: vapi-server-sdk 1.9 (`calls.create`, `Call`, `ClientMessage`, `ClientInboundMessageEndCall`, `CallEndedReason`), and
Vapi's page "WebSocket Transport".
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Self

from pydantic import model_validator

from harness.agents.connection import AGENT_ERROR, Capabilities, Cleared, Connection, ConnectionFailed, Event, FailureKind
from harness.agents.connection import Transcript as Words
from harness.agents.connections.about import About
from harness.agents.connections.placed_call import PlacedBot, PlacedWire, over_placed_call
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    NotOfThisWire,
    Outgoing,
    Received,
    arrived,
    audio_of,
    marks_of,
    parse_object,
    refuse_history,
    shown,
)
from harness.agents.message import Message
from harness.agents.profile_base import ProfileSettings
from harness.agents.reply_signs import MORE_COMES

NO_HISTORY: Final = "write the assistant's settings into the profile (think) in place of the id of a stored one"
_ORDERLY: Final = re.compile(r"(customer|assistant)-ended-call.*|silence-timed-out|exceeded-max-duration|assistant-said-.*")
_ENDS: Final[tuple[tuple[str, FailureKind, str], ...]] = (
    ("concurrency", "busy", "fewer calls at once, or more lines of the account"),
    ("credits|wallet|subscription|quota|402", "unauthorised", "check the account's credits, and those of its providers"),
    (
        "assistant-not|get-assistant|invalid-assistant",
        "not_found",
        "check agent_id: is it of the key's organisation?",
    ),
    ("401|403|unauthorized|access-denied", "unauthorised", "check the provider's key that is stored at Vapi, and its models"),
)
"""What the reasons of ended calls say: the words in them, the kind of failure, and what mends it."""
_mark: Final = marks_of("vapi")


class VapiWire(PlacedWire):
    """One call. `assistant`: its part of the request; with `takes_history` it has a model, to which a history can be given."""

    def __init__(self, assistant: Mapping[str, Any], rate_hz: int = 16_000, takes_history: bool = False) -> None:
        self._assistant = dict(assistant)
        self.capabilities = Capabilities(takes_history, rate_hz, rate_hz)
        self._rate_hz = rate_hz
        self._heard = self._worded = self._called = False

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, self.capabilities.accepts_history, NO_HISTORY)
        if history:
            own = self._assistant["assistant"]
            turns = [{"role": turn.role, "content": turn.text} for turn in history]
            model = {**own["model"], "messages": [*own["model"]["messages"], *turns]}
            self._assistant["assistant"] = {**own, "model": model}
        return ()

    def request(self) -> Mapping[str, Any]:
        sound = {"format": "pcm_s16le", "container": "raw", "sampleRate": self._rate_hz}
        return {**self._assistant, "transport": {"provider": "vapi.websocket", "audioFormat": sound}}

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes):
            heard = audio_of(message, self._rate_hz, arrival_ns)
            first, self._heard = not self._heard and bool(message), self._heard or bool(message)
            return Received((_mark("audio", arrival_ns), *heard.events)) if first else heard
        data = parse_object(message)
        inner = data.get("message")
        return Received(events=self._on(inner if isinstance(inner, dict) else data, arrival_ns))

    def _on(self, data: Mapping[str, Any], arrival_ns: int) -> tuple[Event, ...]:
        match data.get("type"):
            case "speech-update":
                return self._on_speech(str(data.get("role")), str(data.get("status")), arrival_ns)
            case "model-output":
                first, self._worded, self._called = not self._worded, True, False
                return (_mark("model_output", arrival_ns),) if first else ()
            case "transcript" | 'transcript[transcriptType="final"]':
                return _words(data, arrival_ns)
            case "user-interrupted":
                self._heard = self._worded = False
                return (_mark("user_interrupted", arrival_ns), Cleared(arrival_ns))
            case "tool-calls":
                self._called = True
                return (_mark("tool_called", arrival_ns),)
            case "tool-calls-result" | "tool.completed" if self._called:
                self._called = False
                return (_mark("tool_done", arrival_ns),)
            case "status-update" if data.get("status") == "ended":
                return _ended(str(data.get("endedReason", "")), arrival_ns)
            case "hang":
                return (arrived(AGENT_ERROR, arrival_ns, message="Vapi says that a part of the assistant is late (hang)"),)
            case str():
                return NOTHING.events
        raise NotOfThisWire(f"a message without a type: {shown(repr(dict(data)))}")

    def goodbye(self) -> Sequence[Outgoing]:
        return (json.dumps({"type": "end-call"}),)

    def _on_speech(self, role: str, status: str, arrival_ns: int) -> tuple[Event, ...]:
        if role not in ("user", "assistant") or status not in ("started", "stopped"):
            return ()
        if (role, status) in (("user", "stopped"), ("assistant", "stopped")):
            self._heard = self._worded = False
        more: dict[str, object] = {MORE_COMES: True} if self._called else {}
        return (_mark(f"{role}_{status}", arrival_ns, **more),)


def _words(data: Mapping[str, Any], arrival_ns: int) -> tuple[Event, ...]:
    role, text = data.get("role"), data.get("transcript")
    if role not in ("user", "assistant") or not isinstance(text, str):
        raise Garbage(f"a transcript without role and text: {shown(repr(dict(data)))}")
    return (Words(arrival_ns, role, text, data.get("transcriptType") != "partial"),)


def _ended(reason: str, arrival_ns: int) -> tuple[Event, ...]:
    if _ORDERLY.fullmatch(reason) or not reason:
        return (_mark("ended", arrival_ns, reason=shown(reason, 120)),)
    found = next(((kind, mend) for words, kind, mend in _ENDS if re.search(words, reason)), None)
    kind, mend = found or ("hung_up", "Vapi's dashboard has the call's log")
    raise ConnectionFailed(f"Vapi ended the call ({shown(reason, 120)}): {mend}", kind)


class Part(ProfileSettings):
    """The provider of one part of an assistant, as Vapi names it. Omitted settings are the server's defaults."""

    provider: str
    model: str | None = None
    voiceId: str | None = None
    temperature: float | None = None
    language: str | None = None


class VapiProfile(PlacedBot):
    """An assistant of Vapi: stored there (`agent_id`), or its parts (`think`, `listen`, `speak`)."""

    kind: Literal["vapi"]
    think: Part | None = None
    listen: Part | None = None
    speak: Part | None = None

    @model_validator(mode="after")
    def _is_one_assistant(self) -> Self:
        if (self.agent_id is None) == (self.think is None):
            raise ValueError('give agent_id = "the id of an assistant", or think = { provider = "…", model = "…" }')
        if self.agent_id is not None and (self.listen or self.speak):
            raise ValueError("agent_id: a stored one has its own listen and speak")
        return self

    @property
    def accepts_a_history(self) -> bool:
        return self.agent_id is None


PROFILE: Final = VapiProfile
ABOUT: Final = About(
    comment=("# An assistant of Vapi. url is where its calls are placed.",),
    url="https://api.vapi.ai/call",
    command="",
    ready="",
    settings=(
        'api_key_env = "VAPI_API_KEY"              # the variable that holds the private key, never the key',
        'agent_id = "some-id"                         # of an assistant; or think = { provider = "…", model = "…" }',
    ),
    route="Vapi places calls at POST /call; the websocketCallUrl of its answer is good for one caller",
    brings_ttft='"model-output" and "speech-update" in the assistant\'s clientMessages, where they are by default',
    brings_words='"transcript" in the assistant\'s clientMessages, where it is by default',
    brings_history=NO_HISTORY,
    key="Vapi takes its private key as a bearer token, which api_key_env sends; the public key is for browsers",
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call to an assistant of Vapi; options: those of the profile, and every wire's."""
    greets = options.get("greets")
    mode = {} if greets is None else {"firstMessageMode": f"assistant-{'speaks-first' if greets else 'waits-for-user'}"}
    parts = {
        to: {key: value for key, value in options[name].items() if value is not None}
        for name, to in (("think", "model"), ("listen", "transcriber"), ("speak", "voice"))
        if options.get(name)
    }
    if "model" in parts:
        parts["model"]["messages"] = [{"role": "system", "content": options.get("instructions") or ""}]
        assistant: dict[str, Any] = {"assistant": {**parts, **mode}}
    else:
        assistant = {"assistantId": options.get("agent_id"), **({"assistantOverrides": mode} if mode else {})}
    wire = VapiWire(assistant, int(options.get("input_rate_hz", 16_000)), takes_history="model" in parts)
    return over_placed_call(url, wire, options, ABOUT, ("transport", "websocketCallUrl"))
