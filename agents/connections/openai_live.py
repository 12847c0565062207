"""OpenAI's live models over a WebSocket: full duplex, so the agent listens while it speaks and sends sound all the time.

Everything is said in the first message, `session.start`: model, instructions, voice, the conversation so far. After
`session.started` sound goes both ways at the pace of speech, silence too. There are no turns: the model decides itself when it
speaks, murmurs, or stops, so nothing here commits, cancels or clears, and no event says that a reply is over.

Transcripts come in fragments with the text's own spaces and no end. A pause of `UTTERANCE_GAP_MS` between them ends an
utterance, because a word that is cut in two would be read as two. They give no TTFT: no event says when the model begins to
think, and a fragment may follow its sound.

Source: `openai.types.live` and `openai.resources.live` of openai 3.54; `pipecat.services.openai.live` of pipecat 1.14 shows how
a client drives it.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, Self

from pydantic import model_validator

from harness.agents.cascade.prompt import system_instruction
from harness.agents.cascade.settings import ReplySettings
from harness.agents.connection import AudioChunk, Capabilities, Connection, ConnectionFailed, FailureKind, Mark, Transcript
from harness.agents.connections.about import TCP, About
from harness.agents.connections.openai_delegation import Delegations
from harness.agents.connections.openai_functions import declared
from harness.agents.connections.openai_realtime import RATE_HZ, message_item
from harness.agents.connections.refusals import refusal_in_goodbye, refusal_of
from harness.agents.connections.tools import Tool
from harness.agents.connections.websocket import over_websocket
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    NotOfThisWire,
    Outgoing,
    Received,
    Wire,
    from_base64,
    parse_object,
    refuse_history,
    shown,
    table_of,
    whole_samples,
)
from harness.agents.message import Message
from harness.agents.profile_spoken import KeyedBot

UTTERANCE_GAP_MS: Final = 800
"""Fragments come every 200 ms while somebody speaks; pipecat's client parts them at the same pause."""
_HELD: Final = 8_000
"""Characters of one utterance that are held for its end."""
_TOLD: Final = frozenset(
    {"session.usage.updated", "session.input_audio.muted", "session.input_audio.unmuted", "session.updated", "info", "error"}
)
_ENDED: Final[Mapping[str, tuple[str, FailureKind]]] = MappingProxyType(
    {
        "expired": ("the session has lasted as long as the server allows", "hung_up"),
        "content": ("the server's safety filter ended the session", "hung_up"),
        "connection_lost": ("the server lost its own connection", "closed_early"),
    }
)
"""Reasons of `session.closed` that no caller wished for."""


class _Fragments:
    """The transcript of one side, in fragments."""

    def __init__(self, role: Literal["user", "assistant"]) -> None:
        self._role = role
        self._text = ""
        self._begun_ns = self._latest_ns = 0

    def add(self, text: str, arrival_ns: int) -> None:
        """Take a fragment."""
        self._begun_ns = self._begun_ns if self._text else arrival_ns
        self._latest_ns = arrival_ns
        self._text += text

    def ended(self, now_ns: int) -> tuple[Transcript, ...]:
        """The utterance, stamped at its first fragment, if it is over; otherwise nothing."""
        quiet = now_ns - self._latest_ns >= UTTERANCE_GAP_MS * 1_000_000
        if not self._text or not (quiet or len(self._text) > _HELD):
            return ()
        text, self._text = self._text.strip(), ""
        return (Transcript(self._begun_ns, self._role, text, True),) if text else ()


class LiveWire(Wire):
    """One session. `session` is what `session.start` says of it, without the history; `tools` have the functions' answers."""

    capabilities: Capabilities

    def __init__(
        self, session: Mapping[str, Any], accepts_history: bool = True, tools: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self.capabilities = Capabilities(accepts_history, input_rate_hz=RATE_HZ, output_rate_hz=RATE_HZ, full_duplex=True)
        self._session = dict(session)
        self._started = False
        self._sides = {"user": _Fragments("user"), "assistant": _Fragments("assistant")}
        self._delegations = Delegations(tools)

    @property
    def ready(self) -> bool:
        return self._started

    @property
    def waits_for(self) -> str:
        return "session.started"

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, self.capabilities.accepts_history, "set accepts_history = true if it does")
        items = {"input": [message_item(turn) for turn in history]} if history else {}
        return (json.dumps({"type": "session.start", "session": self._session | items}, ensure_ascii=False),)

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        received = self._receive(parse_object(message), arrival_ns)
        said = tuple(one for side in self._sides.values() for one in side.ended(arrival_ns))
        return Received((*said, *received.events), received.replies) if said else received

    def _receive(self, data: Mapping[str, Any], arrival_ns: int) -> Received:
        match data.get("type"):
            case "session.output_audio.delta":
                pcm = whole_samples(from_base64(data.get("delta")))
                return Received(events=(AudioChunk(arrival_ns, pcm, RATE_HZ),)) if pcm else NOTHING
            case "session.output_transcript.delta":
                return self._heard("assistant", data, arrival_ns)
            case "session.input_transcript.delta":
                return self._heard("user", data, arrival_ns)
            case "session.started":
                self._started = True
                return NOTHING
            case "session.created":
                raise ConnectionFailed('it is a Realtime server: write kind = "openai-realtime"', "not_found")
            case "error" if not self._started:
                raise refusal_of(data.get("error")).failure()
            case "session.closed":
                why = _ENDED.get(str(data.get("reason")))
                if why is not None:
                    raise ConnectionFailed(*why)
                return NOTHING
            case "session.delegation.created":
                return self._delegations.begin(table_of(data, "delegation"), arrival_ns)
            case "response.event":
                return self._delegations.follow(str(data.get("delegation_id")), table_of(data, "event"), arrival_ns)
            case str() as kind if kind in _TOLD:
                return Received(events=(_mark(kind, data, arrival_ns),))
            case str():
                return NOTHING
        raise NotOfThisWire(f"an event without a type: {shown(repr(dict(data)))}")

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del now_ns
        return (json.dumps({"type": "session.input_audio.append", "audio": base64.b64encode(frame).decode()}),)

    def refusal(self, code: int, reason: str) -> ConnectionFailed | None:
        del code
        named = refusal_in_goodbye(reason)
        return named.failure() if named is not None else None

    def goodbye(self) -> Sequence[Outgoing]:
        return (json.dumps({"type": "session.close"}),) if self._started else ()

    def _heard(self, role: str, data: Mapping[str, Any], arrival_ns: int) -> Received:
        text = data.get("delta")
        if not isinstance(text, str):
            raise Garbage(f"a transcript without text: {shown(repr(dict(data)))}")
        ended = self._sides[role].ended(arrival_ns)
        self._sides[role].add(text, arrival_ns)
        return Received(events=ended)


def _mark(kind: str, data: Mapping[str, Any], arrival_ns: int) -> Mark:
    """The event as a mark, with its short fields: an error's or a notice's words, the seconds and the context used."""
    found = {**table_of(data, "error"), **table_of(data, "usage"), **table_of(data, "context_window"), **data}
    detail: dict[str, Any] = {key: found[key] for key in ("code", "message", "param", "seconds", "usage_ratio") if key in found}
    return Mark(f"live.{kind}", arrival_ns, arrival_ns, {**detail, "stamped": "arrival"})


class LiveProfile(KeyedBot):
    """One of OpenAI's live models."""

    kind: Literal["openai-live"]
    model: str = "gpt-live-1"
    voice: str | None = None
    instructions: str | None = None
    """Replaces the rules of the task that every system gets by default."""
    delegation_model: str | None = None
    """Model of the Responses API to which it delegates; without one, what it delegates is declined."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    """Of that model."""
    tools: tuple[Tool, ...] = ()
    """Functions of that model."""
    accepts_history: bool = True

    @model_validator(mode="after")
    def _has_a_backend(self) -> Self:
        if self.delegation_model is None and (self.tools or self.reasoning_effort):
            raise ValueError("delegation_model is needed: a live model has no functions and no effort of its own")
        return self

    def _options(self) -> dict[str, Any]:
        instructions = self.instructions or system_instruction(ReplySettings())
        return {**super()._options(), "instructions": instructions, "input_rate_hz": RATE_HZ}


PROFILE: Final = LiveProfile
ABOUT: Final = About(
    comment=("# One of OpenAI's live models: full duplex.",),
    url="ws://127.0.0.1:{port}/v1/live/sessions",
    command="./serve --port {port}",
    ready=TCP,
    settings=(
        'model = "gpt-live-1"',
        'api_key_env = "EXAMPLE_API_KEY"             # the variable that holds the key, never the key',
        '# delegation_model = "some-text-model"      # to which it delegates; without one it is told that nobody is there',
    ),
    route='live sessions are at /v1/live/sessions, and /v1/realtime is of kind "openai-realtime"',
    brings_words="a server that sends session.input_transcript.delta, as OpenAI's do",
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A live session.

    Options: `model`, `instructions`, `voice`, `delegation_model`, `reasoning_effort`, `tools`, `accepts_history`, and every
    wire's.
    """
    audio: dict[str, Any] = {"format": {"type": "audio/pcm", "rate": RATE_HZ}}
    if options.get("voice"):
        audio["output"] = {"voice": options["voice"]}
    session: dict[str, Any] = {"model": options.get("model") or "gpt-live-1", "audio": audio}
    if options.get("instructions"):
        session["instructions"] = options["instructions"]
    tools = options.get("tools") or ()
    if options.get("delegation_model"):
        backend: dict[str, Any] = {"model": options["delegation_model"]}
        if options.get("reasoning_effort"):
            backend["reasoning"] = {"effort": options["reasoning_effort"]}
        if tools:
            backend["tools"] = declared(tools)
        session["delegation"] = {"type": "responses", "responses": backend}
    wire = LiveWire(session, bool(options.get("accepts_history", True)), tools)
    return over_websocket(url, wire, options, route=ABOUT.route)
