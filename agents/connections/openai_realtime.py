"""The OpenAI Realtime protocol over WebSocket, which several vendors and local speech servers speak too.

The history is given as conversation items, each of which the server acknowledges, before any audio. Server-side turn
detection is on unless a profile says `"none"`: then the harness, which knows where its caller's turn ends, commits it at once,
so that TTFA has no wait for that decision in it. Such calls are marked, and nothing makes up the wait that is missing.
Over this wire the *client* stops the playback when the caller starts to speak, and tells the server how much of the
reply was heard; so the harness does both, as an application would. Event names of the beta are understood as well.

Source: OpenAI's reference of Realtime client and server events; `openai.types.realtime` of openai 3.54.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal
from urllib.parse import quote, urlsplit

from pydantic import Field

from harness.agents.cascade.prompt import system_instruction
from harness.agents.cascade.settings import ReplySettings
from harness.agents.connection import AudioChunk, Capabilities, Cleared, Connection, ConnectionFailed, Mark, Transcript
from harness.agents.connections.about import TCP, About
from harness.agents.connections.openai_functions import FixedAnswers, FunctionCalls, declared
from harness.agents.connections.refusals import refusal_in_goodbye, refusal_of
from harness.agents.connections.tools import Tool
from harness.agents.connections.websocket import over_websocket
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    NotOfThisWire,
    Outgoing,
    PlayoutClock,
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
from harness.agents.profile_base import ProfileSettings
from harness.agents.profile_spoken import KeyedBot
from harness.agents.reply_signs import MORE_COMES

RATE_HZ: Final = 24_000

_TOLD: Final = frozenset(
    {
        "input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped", "input_audio_buffer.committed",
        "response.created", "response.done", "error",
        "conversation.item.input_audio_transcription.failed",
    }
)  # fmt: skip
"""Events that become marks named `realtime.<type>`; their time is that of their arrival."""

_BEGINNINGS: Final = MappingProxyType(
    {
        "response.output_audio.delta": "response.output_audio.delta",
        "response.audio.delta": "response.output_audio.delta",
        "response.output_audio_transcript.delta": "response.output_audio_transcript.delta",
        "response.audio_transcript.delta": "response.output_audio_transcript.delta",
    }
)
"""Pieces of a response, by their name today; the first of each becomes a mark too: they bound the stages of the reply."""

_TEXT_KIND: Final = MappingProxyType({"user": "input_text", "assistant": "output_text"})


NO_DETECTION: Final = "none"
_COMMITTED_HERE: Final = (
    "its turn detection is off, so the harness, which knows where its caller's turn ends, commits it there, and TTFA has no "
    "wait for that decision in it"
)


class RealtimeWire(Wire):
    """One session. `session` are the settings for `session.update`; `tools` have the answers to its functions.

    `commits`: the harness ends each turn of the caller.
    """

    def __init__(
        self,
        session: Mapping[str, Any],
        accepts_history: bool = True,
        tools: Sequence[Mapping[str, Any]] = (),
        commits: bool = False,
    ) -> None:
        self._session = dict(session)
        self.capabilities = Capabilities(accepts_history, input_rate_hz=RATE_HZ, output_rate_hz=RATE_HZ)
        self._history: tuple[Message, ...] = ()
        self._created = self._updated = False
        self._commits = commits
        self._responding = False
        self._items_awaited: set[str] = set()
        self._playout = PlayoutClock()
        self._item: tuple[str, int] | None = None
        self._item_samples = 0
        self._begun: set[str] = set()
        """The kinds of pieces that have begun in the latest response."""
        self._calls = FunctionCalls()
        self._answers = FixedAnswers(tools)

    @property
    def ready(self) -> bool:
        return self._updated and not self._items_awaited

    @property
    def waits_for(self) -> str:
        if self._updated:
            return "the acknowledgement of the history"
        if self._created:
            return "session.updated"
        return 'session.created (a server that waits for its caller to begin is of another kind, as "openai-live")'

    @property
    def ends_turns(self) -> str:
        return _COMMITTED_HERE if self._commits else ""

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, self.capabilities.accepts_history, "set accepts_history = true if it does")
        self._history = tuple(history)
        return ()

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        data = parse_object(message)
        calls = self._calls.follow(data, arrival_ns)
        received = self._receive(data, arrival_ns)
        return Received((*calls, *received.events), (*received.replies, *self._answered(data)))

    def refusal(self, code: int, reason: str) -> ConnectionFailed | None:
        del code
        named = refusal_in_goodbye(reason)
        return named.failure() if named is not None else None

    def _receive(self, data: Mapping[str, Any], arrival_ns: int) -> Received:
        kind = data.get("type")
        begun = self._beginning(data, arrival_ns)
        match kind:
            case "session.created":
                self._created = True
                return Received(replies=(json.dumps({"type": "session.update", "session": self._session}),))
            case "session.updated":
                return self._on_updated()
            case "conversation.item.added" | "conversation.item.created" | "conversation.item.done":
                self._items_awaited.discard(str(table_of(data, "item").get("id")))
                return NOTHING
            case "response.output_audio.delta" | "response.audio.delta":
                heard = self._on_audio(data, arrival_ns)
                return Received((*begun, *heard.events), heard.replies)
            case "response.output_audio_transcript.delta" | "response.audio_transcript.delta":
                return Received(events=begun)
            case "response.output_audio_transcript.done" | "response.audio_transcript.done":
                return _said("assistant", data, arrival_ns)
            case "conversation.item.input_audio_transcription.completed":
                return _said("user", data, arrival_ns)
            case "error" if not self.ready:
                raise refusal_of(data.get("error")).failure()
            case "input_audio_buffer.speech_started":
                return self._on_speech(data, arrival_ns)
            case "response.done" if self._calls.in_flight:
                return Received(events=(_mark(data, arrival_ns, {MORE_COMES: True}),))
            case str() if kind in _TOLD:
                return Received(events=(_mark(data, arrival_ns),))
            case str():
                return NOTHING
        raise NotOfThisWire(f"an event without a type: {shown(repr(dict(data)))}")

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del now_ns
        return (json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(frame).decode()}),)

    def end_turn(self) -> Sequence[Outgoing]:
        if not self._commits:
            return ()
        # A second response cannot be asked for while one is being made.
        begun = ("response.cancel",) if self._responding else ()
        return tuple(json.dumps({"type": kind}) for kind in (*begun, "input_audio_buffer.commit", "response.create"))

    def _answered(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        """The answers to the functions that a response called, once it is over, and the request to go on."""
        match data.get("type"):
            case "response.created":
                self._responding = True
            case "response.function_call_arguments.done":
                self._answers.note(data)
            case "response.done":
                self._responding = False
                response = table_of(data, "response")
                if response.get("status", "completed") != "completed":
                    self._answers.forget()
                output = response.get("output")
                for item in output if isinstance(output, list) else ():
                    self._answers.note(item)
                items = self._answers.take()
                wishes = [{"type": "conversation.item.create", "item": item} for item in items]
                return tuple(json.dumps(wish) for wish in [*wishes, {"type": "response.create"}]) if items else ()
        return ()

    def _beginning(self, data: Mapping[str, Any], arrival_ns: int) -> tuple[Mark, ...]:
        """A mark if this is the first piece of its kind in a response."""
        if data.get("type") == "response.created":
            self._begun.clear()
        name = _BEGINNINGS.get(str(data.get("type")))
        if name is None or name in self._begun:
            return ()
        self._begun.add(name)
        return (Mark(f"realtime.{name}", arrival_ns, arrival_ns, {"stamped": "arrival"}),)

    def _on_updated(self) -> Received:
        if self._updated:
            return NOTHING
        self._updated = True
        items = [{"id": f"history_{count}", **message_item(turn)} for count, turn in enumerate(self._history)]
        self._items_awaited = {item["id"] for item in items}
        return Received(replies=tuple(json.dumps({"type": "conversation.item.create", "item": item}) for item in items))

    def _on_audio(self, data: Mapping[str, Any], arrival_ns: int) -> Received:
        pcm = whole_samples(from_base64(data.get("delta")))
        if not pcm:
            return NOTHING
        index = data.get("content_index")
        item = (str(data.get("item_id")), index if isinstance(index, int) else 0)
        if item != self._item:
            self._item, self._item_samples = item, 0
        self._item_samples += len(pcm) // 2
        self._playout.add(arrival_ns, len(pcm) // 2, RATE_HZ)
        return Received(events=(AudioChunk(arrival_ns, pcm, RATE_HZ),))

    def _on_speech(self, data: Mapping[str, Any], arrival_ns: int) -> Received:
        """Handle the caller's speech: drop the unplayed rest of the reply, and report the position to the server."""
        mark = _mark(data, arrival_ns)
        unplayed_ms = (self._playout.until_ns - arrival_ns) / 1e6
        if unplayed_ms <= 0 or self._item is None:
            return Received(events=(mark,))
        self._playout.clear(arrival_ns)
        heard_ms = max(0, round(self._item_samples * 1e3 / RATE_HZ - unplayed_ms))
        item_id, content_index = self._item
        truncate = {
            "type": "conversation.item.truncate",
            "item_id": item_id,
            "content_index": content_index,
            "audio_end_ms": heard_ms,
        }
        return Received(events=(mark, Cleared(arrival_ns)), replies=(json.dumps(truncate),))


def message_item(turn: Message) -> dict[str, Any]:
    """A turn of the conversation so far as OpenAI's sessions take it."""
    return {"type": "message", "role": turn.role, "content": [{"type": _TEXT_KIND[turn.role], "text": turn.text}]}


def _said(role: Any, data: Mapping[str, Any], arrival_ns: int) -> Received:
    text = data.get("transcript")
    if not isinstance(text, str):
        raise Garbage(f"a transcript without text: {shown(repr(dict(data)))}")
    return Received(events=(Transcript(arrival_ns, role, text, True),))


def _mark(data: Mapping[str, Any], arrival_ns: int, more: Mapping[str, Any] = MappingProxyType({})) -> Mark:
    """The event as a mark, with its short fields: times, ids, state and usage of a response, an error's words."""
    detail: dict[str, Any] = {key: data[key] for key in ("audio_start_ms", "audio_end_ms", "item_id") if key in data}
    response, error = table_of(data, "response"), table_of(data, "error")
    detail |= {key: response[key] for key in ("id", "status", "status_details", "usage") if key in response}
    detail |= {key: error[key] for key in ("code", "message") if key in error}
    return Mark(f"realtime.{data['type']}", arrival_ns, arrival_ns, {**detail, **more, "stamped": "arrival"})


class ServerVad(ProfileSettings):
    """Turn detection by silence. Omitted settings are the server's defaults."""

    type: Literal["server_vad"]
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    prefix_padding_ms: Annotated[int, Field(ge=0, le=10_000)] | None = None
    silence_duration_ms: Annotated[int, Field(ge=0, le=10_000)] | None = None


class SemanticVad(ProfileSettings):
    """Turn detection by the server's estimate that the words are complete."""

    type: Literal["semantic_vad"]
    eagerness: Literal["low", "medium", "high", "auto"] | None = None


class RealtimeProfile(KeyedBot):
    """A server of the OpenAI Realtime protocol."""

    kind: Literal["openai-realtime"]
    model: str | None = None
    voice: str | None = None
    instructions: str | None = None
    """Replaces the rules of the task that every system gets by default."""
    turn_detection: Annotated[ServerVad | SemanticVad, Field(discriminator="type")] | Literal["none"] = ServerVad(
        type="server_vad"
    )
    """`"none"`: the agent does not look for the end of a turn, the harness commits it, and the run says so."""
    transcription_model: str | None = None
    """Model with which the server transcribes the caller."""
    reasoning_effort: Literal["minimal", "low", "medium", "high", "xhigh"] | None = None
    """For a model that reasons."""
    speed: Annotated[float, Field(ge=0.25, le=1.5)] | None = None
    """Of its speech, as a multiple of the model's own."""
    tools: tuple[Tool, ...] = ()
    accepts_history: bool = True

    newer: ClassVar[frozenset[str]] = frozenset(("headers", "reasoning_effort", "speed", "tools"))

    def _options(self) -> dict[str, Any]:
        detection = self.turn_detection
        return {
            **super()._options(),
            "instructions": self.instructions or system_instruction(ReplySettings()),
            "turn_detection": detection if isinstance(detection, str) else detection.model_dump(exclude_none=True),
            "input_rate_hz": RATE_HZ,
        }


PROFILE: Final = RealtimeProfile
ABOUT: Final = About(
    comment=("# A server of the OpenAI Realtime protocol.",),
    url="ws://127.0.0.1:{port}/v1/realtime",
    command="./serve --port {port}",
    ready=TCP,
    settings=(
        'model = "some-realtime-model"',
        'api_key_env = "EXAMPLE_API_KEY"            # the variable that holds the key, never the key',
        'transcription_model = "some-transcriber"   # so that it says what it understood; remove it if it has none',
    ),
    route="servers of this protocol take calls at /v1/realtime",
    brings_ttft="a server that sends response.created and the beginnings of its reply, as the protocol has them",
    brings_words='transcription_model = "…" in the profile',
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A session with a realtime server.

    Options: `model`, `instructions`, `voice`, `speed`, `turn_detection`, `transcription_model`, `reasoning_effort`, `tools`,
    `accepts_history`, and every wire's.
    """
    pcm = {"type": "audio/pcm", "rate": RATE_HZ}
    detection = options.get("turn_detection", {"type": "server_vad"})
    commits = detection == NO_DETECTION
    heard: dict[str, Any] = {"format": pcm, "turn_detection": None if commits else detection}
    if options.get("transcription_model"):
        heard["transcription"] = {"model": options["transcription_model"]}
    said: dict[str, Any] = {"format": pcm} | {key: options[key] for key in ("voice", "speed") if options.get(key)}
    session: dict[str, Any] = {
        "type": "realtime",
        "output_modalities": ["audio"],
        "audio": {"input": heard, "output": said},
    }
    if options.get("instructions"):
        session["instructions"] = options["instructions"]
    if options.get("reasoning_effort"):
        session["reasoning"] = {"effort": options["reasoning_effort"]}
    tools = options.get("tools") or ()
    if tools:
        session["tools"] = declared(tools)
    wire = RealtimeWire(session, bool(options.get("accepts_history", True)), tools, commits)
    return over_websocket(_with_model(url, options.get("model")), wire, options, route=ABOUT.route)


def _with_model(url: str, model: str | None) -> str:
    if not model:
        return url
    return f"{url}{'&' if urlsplit(url).query else '?'}model={quote(model)}"
