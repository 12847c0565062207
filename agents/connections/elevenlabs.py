"""The wire of ElevenLabs' agents platform: JSON both ways, sound in base64, formats that the agent's own settings choose.

A public agent is dialled by its id. A private one is asked for with the key first, and the signed address that comes back is
dialled without it. All that the agent is (its words, voice, turn taking and first message) is set there; a profile can override
what the agent's settings allow, and there is no place for a conversation so far.

`user_transcript` says that the caller's turn is over and is the earliest that the model can be known to be asked; the agent's
words come with its first sound, or before it in parts. Sound of a reply that was interrupted is dropped by its number, and a
ping is answered at once, as the vendor's own client does.

Source: elevenlabs 2.78 (`elevenlabs.conversational_ai.conversation`, `elevenlabs.types.ClientEvent`,
`ConversationInitiationClientDataRequestInput`, `ConversationSignedUrlResponseModel`); @elevenlabs/types 0.23 for the fields.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import quote, urlsplit, urlunsplit

import numpy as np
from pydantic import Field

from harness.agents.connection import (
    AGENT_ERROR,
    AudioChunk,
    Capabilities,
    Cleared,
    Connection,
    ConnectionFailed,
    Event,
    Mark,
    Transcript,
)
from harness.agents.connections.about import About
from harness.agents.connections.access import Access
from harness.agents.connections.credentials import Headers, filled_address
from harness.agents.connections.http_request import get
from harness.agents.connections.inbox import Limits
from harness.agents.connections.refusals import Meanings, meant_by
from harness.agents.connections.tools import Tool
from harness.agents.connections.websocket import WebSocketConnection
from harness.agents.connections.wire import (
    NotOfThisWire,
    Outgoing,
    Received,
    Wire,
    arrived,
    from_base64,
    marks_of,
    parse_object,
    refuse_history,
    shown,
    table_of,
    whole_samples,
)
from harness.agents.message import Message
from harness.agents.profile_spoken import PcmBot
from harness.agents.secret_places import in_text
from harness.agents.secrets import learn
from harness.audio.pcm import decode, encode

KEY_HEADER: Final = "xi-api-key"
_FORMAT: Final = re.compile(r"(pcm|ulaw)_(\d{4,5})")
_TOOLS: Final = MappingProxyType(
    {
        "agent_tool_request": "tool_call",
        "agent_tool_response": "tool_response",
        "mcp_tool_call loading": "tool_call",
        "mcp_tool_call success": "tool_response",
        "mcp_tool_call failure": "tool_response",
    }
)
"""Events of the server's own tools: type and state → mark."""
_MEANINGS: Final[Meanings] = (
    ("override", "refused", "allow it in the agent's settings (Security, Overrides), or take it out of overrides"),
    ("authoriz|authentic|signed url|api key|forbidden", "unauthorised",
     "a private agent needs the key's variable in api_key_env, with which a signed address is asked for"),
    ("quota|credit|concurren|rate limit|too many", "busy", "see what is left of the key's plan, or play fewer calls at once"),
    ("dynamic variable|missing_dynamic", "refused", "give the variable that it names in variables"),
    ("misconfigured|llm", "refused", "see the agent's own settings: its language model cannot be asked"),
    ("not exist|not found|agent_id", "not_found", "check agent_id"),
)  # fmt: skip
"""Its codes (1002, 1008) say little."""
_mark: Final = marks_of("elevenlabs")


class ElevenLabsWire(Wire):
    """One conversation. `opening` is its first message; `tools`: those of the client that the agent may call."""

    def __init__(self, opening: Mapping[str, Any], rate_hz: int, tools: Sequence[Mapping[str, Any]] = ()) -> None:
        self.capabilities = Capabilities(accepts_history=False, input_rate_hz=rate_hz, output_rate_hz=None)
        self._opening = dict(opening)
        self._answers = {tool["name"]: tool["answer"] for tool in tools}
        self._heard: str | None = None
        self._said: tuple[str, int] = ("pcm", 16_000)
        self._interrupted = -1
        self._begun = {"words", "audio"}
        """The kinds of pieces that have begun in this reply. Before a turn is over, what comes is no answer to it."""

    @property
    def ready(self) -> bool:
        return self._heard is not None

    @property
    def waits_for(self) -> str:
        return "conversation_initiation_metadata"

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, False, "call a kind that takes one")
        return (json.dumps({"type": "conversation_initiation_client_data", **self._opening}, ensure_ascii=False),)

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        data = parse_object(message)
        kind = data.get("type")
        if not isinstance(kind, str):
            raise NotOfThisWire(f"a message without a type: {shown(message)}")
        match kind:
            case "conversation_initiation_metadata":
                self._agree(table_of(data, "conversation_initiation_metadata_event"))
            case "ping":
                event = table_of(data, "ping_event")
                return Received(replies=(json.dumps({"type": "pong", "event_id": event.get("event_id")}),))
            case "client_tool_call":
                return self._called(table_of(data, "client_tool_call"), arrival_ns)
        return Received(tuple(self._events(kind, data, arrival_ns)))

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del now_ns
        sound = encode(np.frombuffer(frame, "<i2"), "ulaw") if self._heard == "ulaw" else frame
        return (json.dumps({"user_audio_chunk": base64.b64encode(sound).decode()}),)

    def refusal(self, code: int, reason: str) -> ConnectionFailed | None:
        return meant_by(reason, _MEANINGS, code)

    def _agree(self, metadata: Mapping[str, Any]) -> None:
        """Take the formats that the agent's settings choose, which a client cannot."""
        heard, rate_hz = _format(metadata.get("user_input_audio_format", "pcm_16000"))
        if rate_hz != self.capabilities.input_rate_hz:
            given = f"{self.capabilities.input_rate_hz:,} Hz, and this agent hears {heard}_{rate_hz}"
            raise ConnectionFailed(f"the caller is sent at {given}: set input_rate_hz = {rate_hz}", "codec")
        self._said = _format(metadata.get("agent_output_audio_format", "pcm_16000"))
        self._heard = heard

    def _events(self, kind: str, data: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        match kind:
            case "audio":
                yield from self._sound(table_of(data, "audio_event"), arrival_ns)
            case "user_transcript":
                self._begun.clear()
                yield _mark(kind, arrival_ns)
                yield from _words("user", table_of(data, "user_transcription_event").get("user_transcript"), arrival_ns)
            case "agent_response":
                yield from self._first_of("words", arrival_ns)
                yield from _words("assistant", table_of(data, "agent_response_event").get("agent_response"), arrival_ns)
            case "agent_chat_response_part" if table_of(data, "text_response_part").get("type") == "delta":
                yield from self._first_of("words", arrival_ns)
            case "agent_response_complete":
                yield _mark(kind, arrival_ns)
            case "agent_response_correction":
                corrected = table_of(data, "agent_response_correction_event").get("corrected_agent_response")
                yield _mark(kind, arrival_ns, corrected=str(corrected))
            case "interruption":
                self._interrupted = _number(table_of(data, "interruption_event").get("event_id"))
                yield _mark(kind, arrival_ns)
                yield Cleared(arrival_ns)
            case "agent_tool_request" | "agent_tool_response" | "mcp_tool_call":
                call = table_of(data, kind)
                state = call.get("state") if kind == "mcp_tool_call" else ""
                if (name := _TOOLS.get(f"{kind} {state}".strip())) is not None:
                    yield _mark(name, arrival_ns, call=call.get("tool_call_id"), function=call.get("tool_name"))
            case "error" | "client_error" | "guardrail_triggered":
                yield self._error(kind, data, arrival_ns)

    def _sound(self, event: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        if 0 <= _number(event.get("event_id")) <= self._interrupted:
            return
        coded, (law, rate_hz) = from_base64(event.get("audio_base_64")), self._said
        pcm = decode(coded, "ulaw").astype("<i2").tobytes() if law == "ulaw" else whole_samples(coded)
        if pcm:
            yield from self._first_of("audio", arrival_ns)
            yield AudioChunk(arrival_ns, pcm, rate_hz)

    def _first_of(self, kind: str, arrival_ns: int) -> Iterator[Event]:
        """A mark if this is the first piece of its kind in a reply."""
        if kind not in self._begun:
            self._begun.add(kind)
            yield _mark(kind, arrival_ns)

    def _error(self, kind: str, data: Mapping[str, Any], arrival_ns: int) -> Mark:
        event = table_of(data, f"{kind}_event") or data
        words = [str(event[key]) for key in ("error_type", "message", "reason") if event.get(key)]
        said = ": ".join(words) or kind.replace("_", " ")
        if not self.ready:
            raise meant_by(said, _MEANINGS) or ConnectionFailed(f"the server says: {shown(said, 200)}")
        return arrived(AGENT_ERROR, arrival_ns, message=shown(said, 200))

    def _called(self, call: Mapping[str, Any], arrival_ns: int) -> Received:
        name, key = str(call.get("tool_name")), call.get("tool_call_id")
        answer = self._answers.get(name)
        given = "there is no such tool" if answer is None else answer
        result = {"type": "client_tool_result", "tool_call_id": key, "result": given, "is_error": answer is None}
        marks = tuple(_mark(kind, arrival_ns, call=key, function=name) for kind in ("tool_call", "tool_response"))
        return Received(marks, (json.dumps(result, ensure_ascii=False),))


def _format(written: object) -> tuple[str, int]:
    """The encoding and the rate in a format's name, as in `pcm_16000`."""
    found = _FORMAT.fullmatch(str(written))
    if found is None or (found[1] == "ulaw" and found[2] != "8000") or not 8_000 <= int(found[2]) <= 48_000:
        raise ConnectionFailed(
            f"the agent's settings choose the format {shown(str(written))}, which is not known here", "codec"
        )
    return found[1], int(found[2])


def _words(role: Literal["user", "assistant"], text: object, arrival_ns: int) -> Iterator[Event]:
    if isinstance(text, str) and text.strip():
        yield Transcript(arrival_ns, role, text.strip(), True)


def _number(written: object) -> int:
    return written if isinstance(written, int) and not isinstance(written, bool) else -1


@dataclass(frozen=True, slots=True)
class AgentAccess(Access):
    """The access to an agent: its address with its id, or the signed address that a key brings."""

    agent_id: str = ""

    async def opened(self) -> tuple[str, Headers]:
        """The address to dial, and the profile's headers; the key goes to the host that signs, and not into the call."""
        headers = self.credentials.read()
        url = f"{filled_address(self.url)}?agent_id={quote(self.agent_id, safe='')}"
        if self.credentials.api_key_env is None:
            return url, headers
        parts = urlsplit(url)
        asked = urlunsplit(parts._replace(scheme=parts.scheme.replace("ws", "http"), path=f"{parts.path}/get-signed-url"))
        try:
            answer = await get(asked, headers, self.place)
        except ConnectionFailed as error:
            raise ConnectionFailed(f"the signed address: {error}", error.kind, error.fault) from error
        signed = answer.get("signed_url")
        if not isinstance(signed, str) or not signed.startswith(("ws://", "wss://")):
            raise ConnectionFailed("the signed address: the answer has no signed_url: check url", "garbage")
        learn(in_text(signed))
        same_host = urlsplit(signed).netloc == parts.netloc
        return signed, tuple(header for header in headers if header[0] != KEY_HEADER) if same_host else ()


class ElevenLabsProfile(PcmBot):
    """An agent of the platform; all that it is, it is by its settings there."""

    kind: Literal["elevenlabs"]
    agent_id: str
    overrides: dict[str, Any] = Field(default_factory=dict)
    """`conversation_config_override`: what the agent's settings allow, as in `{ agent = { first_message = "Hi" } }`."""
    variables: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Values of the agent's dynamic variables."""
    tools: tuple[Tool, ...] = ()
    """The client's tools that the agent has declared in its settings, with their answers."""
    accepts_history: Literal[False] = False


PROFILE: Final = ElevenLabsProfile
ABOUT: Final = About(
    comment=("# An agent of ElevenLabs' platform.",),
    url="wss://api.elevenlabs.io/v1/convai/conversation",
    command="",
    ready="",
    settings=(
        'agent_id = "some-agent"',
        'api_key_env = "EXAMPLE_API_KEY"   # the variable that holds the key; a public agent needs none',
        "# greets = true                   # it speaks its first message",
        '# overrides = { agent = { prompt = { prompt = "…" } } }   # what its settings allow',
    ),
    route="agents are called at /v1/convai/conversation, and agent_id must be one of this key's",
    brings_ttft="an agent that sends user_transcript (Advanced, Client events, in its settings)",
    brings_words="an agent that sends user_transcript (Advanced, Client events, in its settings)",
    silent="an agent of text only (text_only), or whose client events have no audio, sends no sound: see its settings",
    key=f"it goes as {KEY_HEADER} to the request for a signed address",
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A conversation with an agent; options: the settings of `ElevenLabsProfile`, and every wire's."""
    opening = {"conversation_config_override": options.get("overrides"), "dynamic_variables": options.get("variables")}
    wire = ElevenLabsWire(
        {name: value for name, value in opening.items() if value},
        options.get("input_rate_hz", 16_000),
        options.get("tools", ()),
    )
    access = AgentAccess.of(url, options, ABOUT.route, key_form=(KEY_HEADER, ""), key_words=ABOUT.key)
    named = replace(access, agent_id=str(options["agent_id"]))
    return WebSocketConnection(url, wire, Limits(open_timeout_s=access.timeout_s), named)
