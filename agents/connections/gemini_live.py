"""The Gemini Live wire (`BidiGenerateContent`): a model that hears and speaks, over one WebSocket, for a key or on Vertex AI.

The first message is the setup, and no sound may come before its acknowledgement. The history is given at once after it, as the
initial history that starts no answer; Vertex AI takes none. The model's own activity detection stays on: with it off the client
says where a turn ends, and TTFA would no longer be the agent's. The server sends faster than real time and the client drops
what is unplayed when a reply is interrupted; so the harness does, as an application would.

No event says that the model was asked; `voiceActivity`, where it is sent, says that the caller's turn is over, and is taken for
that. The words of both sides come in pieces without order; each side's are one transcript when its turn ends.

Source: google-genai 3.6 (`google.genai.types`: `LiveClientMessage`, `LiveServerMessage`; `google.genai.live`: routes and keys;
`google.genai._live_converters`: names on the wire).
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic.alias_generators import to_camel

from harness.agents.cascade.prompt import system_instruction
from harness.agents.cascade.settings import ReplySettings
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
from harness.agents.connections.credentials import BEARER
from harness.agents.connections.refusals import Meanings, meant_by
from harness.agents.connections.tools import Tool
from harness.agents.connections.websocket import over_websocket
from harness.agents.connections.wire import (
    NotOfThisWire,
    Outgoing,
    Received,
    Wire,
    arrived,
    from_base64,
    parse_object,
    refuse_history,
    sample_rate,
    shown,
    table_of,
    tables_in,
    whole_samples,
)
from harness.agents.message import Message
from harness.agents.profile_base import ProfileSettings
from harness.agents.profile_spoken import KeyedBot, SampleRate
from harness.agents.reply_signs import MORE_COMES

_ROUTE: Final = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
_VERTEX: Final = "google.cloud.aiplatform."
"""Part of the route of Vertex AI, whose keys are bearer tokens."""
_SPOKEN_HZ: Final = 24_000
"""The rate of the model's sound where its MIME type names none."""
_TURN_ENDED_WELL: Final = (None, "TURN_COMPLETE_REASON_UNSPECIFIED", "NEED_MORE_INPUT")
_KNOWN: Final = frozenset(
    {"setupComplete", "serverContent", "toolCall", "toolCallCancellation", "usageMetadata", "goAway",
     "sessionResumptionUpdate", "voiceActivityDetectionSignal", "voiceActivity"}
)  # fmt: skip
_ACTIVITY: Final = MappingProxyType({"ACTIVITY_START": "activity_start", "ACTIVITY_END": "activity_end"})
_MEANINGS: Final[Meanings] = (
    ("api key|api_key|unregistered caller|authentication cred", "unauthorised", "check the value of the key in api_key_env"),
    ("model.* (?:is|was) not found|not supported for bidi", "not_found",
     "check model, if the key may use it, and the version in url (v1beta, or v1alpha for previews)"),
    ("user location", "unauthorised", "the vendor serves no calls from this region: call from another, or over Vertex AI"),
    ("quota|resource_exhausted|rate limit|billing", "busy", "see the quota of the key's project, or play fewer calls at once"),
    ("modalit", "refused", "this model speaks only text: name one that speaks (native audio)"),
    ("permission", "unauthorised", "the key's project may not use this model: enable the API, or name another model"),
)  # fmt: skip
"""Its codes (1007, 1008, 1011) say little."""
_NOT_KNOWN: Final[Meanings] = (("", "refused", "check model (it must speak), and the settings that it takes"),)
"""Any other words with which it refuses the setup."""


class GeminiLiveWire(Wire):
    """One session. `setup` is the message that opens it, without the history's setting."""

    def __init__(
        self, setup: Mapping[str, Any], rate_hz: int, accepts_history: bool, tools: Sequence[Mapping[str, Any]]
    ) -> None:
        self.capabilities = Capabilities(accepts_history, input_rate_hz=rate_hz, output_rate_hz=_SPOKEN_HZ)
        self._setup, self._tools = dict(setup), tools
        self._mime = f"audio/pcm;rate={rate_hz}"
        self._history: tuple[Message, ...] = ()
        self._ready = False
        self._begun: set[str] = set()
        """The kinds of pieces that have begun in this reply."""
        self._said: dict[str, list[str]] = {"user": [], "assistant": []}
        self._written = ""
        """The beginning of what it wrote in this turn, and did not say."""
        self._answered = False

    @property
    def ready(self) -> bool:
        return self._ready

    @property
    def waits_for(self) -> str:
        return "setupComplete"

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(
            history, self.capabilities.accepts_history, "call a model that takes one (Vertex AI has no place for it)"
        )
        self._history = tuple(history)
        more = {"historyConfig": {"initialHistoryInClientContent": True}} if history else {}
        return (json.dumps({"setup": {**self._setup, **more}}, ensure_ascii=False),)

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        data = parse_object(message)
        if not data.keys() & _KNOWN:
            raise NotOfThisWire(f"no message of the Live API: {shown(repr(data))}")
        events: list[Event] = []
        replies: list[Outgoing] = []
        if "setupComplete" in data and not self._ready:
            self._ready = True
            replies += self._first()
        activity = table_of(data, "voiceActivity")
        if (name := _ACTIVITY.get(str(activity.get("voiceActivityType")))) is not None:
            events.append(_mark(name, arrival_ns, offset=activity.get("audioOffset")))
        events += self._content(table_of(data, "serverContent"), arrival_ns)
        for call in tables_in(table_of(data, "toolCall").get("functionCalls")):
            made, reply = self._called(call, arrival_ns)
            events += made
            replies.append(reply)
        if "goAway" in data:
            events.append(_mark("go_away", arrival_ns, time_left=table_of(data, "goAway").get("timeLeft")))
        if usage := table_of(data, "usageMetadata"):
            events.append(_mark("usage", arrival_ns, counts={k: v for k, v in usage.items() if isinstance(v, int)}))
        return Received(tuple(events), tuple(replies))

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del now_ns
        sound = {"data": base64.b64encode(frame).decode(), "mimeType": self._mime}
        return (json.dumps({"realtimeInput": {"audio": sound}}),)

    def refusal(self, code: int, reason: str) -> ConnectionFailed | None:
        unknown = _NOT_KNOWN if code in (1007, 1008) and not self._answered else ()
        return meant_by(reason, (*_MEANINGS, *unknown), code)

    def _first(self) -> Iterator[Outgoing]:
        """The history, which starts no answer."""
        if self._history:
            turns = [{"role": "user" if t.role == "user" else "model", "parts": [{"text": t.text}]} for t in self._history]
            yield json.dumps({"clientContent": {"turns": turns, "turnComplete": True}}, ensure_ascii=False)

    def _content(self, content: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        yield from self._heard(content, arrival_ns)
        for part in tables_in(table_of(content, "modelTurn").get("parts")):
            yield from self._part(part, arrival_ns)
        if content.get("interrupted") is True:
            yield _mark("interrupted", arrival_ns)
            yield Cleared(arrival_ns)
        if content.get("generationComplete") is True:
            yield _mark("generation_complete", arrival_ns)
        if content.get("turnComplete") is True:
            yield from self._turn_over(content, arrival_ns)

    def _heard(self, content: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        """The pieces of both sides' words."""
        for key, role in (("inputTranscription", "user"), ("outputTranscription", "assistant")):
            piece = table_of(content, key)
            if not isinstance(text := piece.get("text"), str) and piece.get("finished") is not True:
                continue
            if role == "assistant":
                yield from self._first_of("words", arrival_ns)
            self._said[role].append(text if isinstance(text, str) else "")
            if piece.get("finished") is True:
                yield from self._spoken(role, arrival_ns)

    def _part(self, part: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        blob = table_of(part, "inlineData")
        mime = str(blob.get("mimeType", ""))
        if mime.startswith("audio/"):
            pcm = whole_samples(from_base64(_standard(blob.get("data"))))
            if pcm:
                yield from self._first_of("audio", arrival_ns)
                yield AudioChunk(arrival_ns, pcm, _rate_of(mime))
        elif isinstance(part.get("text"), str) and part.get("thought") is not True:
            self._written = self._written or part["text"]

    def _first_of(self, kind: str, arrival_ns: int) -> Iterator[Event]:
        """A mark if this is the first piece of its kind in a reply; the caller's words are then complete."""
        self._answered = True
        if kind not in self._begun:
            yield from self._spoken("user", arrival_ns)
            self._begun.add(kind)
            yield _mark(kind, arrival_ns)

    def _spoken(self, role: Any, arrival_ns: int) -> Iterator[Event]:
        text = "".join(self._said[role]).strip()
        self._said[role].clear()
        if text:
            yield Transcript(arrival_ns, role, text, True)

    def _turn_over(self, content: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        yield from self._spoken("user", arrival_ns)
        yield from self._spoken("assistant", arrival_ns)
        reason = content.get("turnCompleteReason")
        if reason not in _TURN_ENDED_WELL:
            yield arrived(AGENT_ERROR, arrival_ns, message=f"the turn ended with {shown(str(reason))}")
        elif self._written and "audio" not in self._begun:
            said = f"it answers in writing ({shown(self._written)}): name a model that speaks (native audio)"
            yield arrived(AGENT_ERROR, arrival_ns, message=said)
        self._begun.clear()
        self._written = ""
        # While it still reasons or runs a function, a turn of the model ends and another follows.
        more = {MORE_COMES: True} if content.get("interactionStatus") == "IN_PROGRESS" else {}
        yield _mark("turn_complete", arrival_ns, reason=reason, **more)

    def _called(self, call: Mapping[str, Any], arrival_ns: int) -> tuple[tuple[Event, ...], Outgoing]:
        name = call.get("name")
        answer = next((tool["answer"] for tool in self._tools if tool["name"] == name), None)
        given = {"error": "there is no such function"} if answer is None else {"output": answer}
        sent = {"id": call.get("id"), "name": name, "response": given}
        marks = tuple(_mark(kind, arrival_ns, call=call.get("id"), function=name) for kind in ("tool_call", "tool_response"))
        return marks, json.dumps({"toolResponse": {"functionResponses": [sent]}}, ensure_ascii=False)


def _mark(name: str, arrival_ns: int, **detail: object) -> Mark:
    return arrived(f"gemini.{name}", arrival_ns, **{key: value for key, value in detail.items() if value is not None})


def _standard(coded: object) -> object:
    """Base64 in the standard alphabet: JSON of protobuf may have that of addresses."""
    return coded.replace("-", "+").replace("_", "/") if isinstance(coded, str) else coded


def _rate_of(mime: str) -> int:
    named = re.search(r"rate=(\d{1,6})", mime)
    return sample_rate(int(named[1])) if named else _SPOKEN_HZ


class ActivityDetection(ProfileSettings):
    """The model's own detection of its caller's turns. Omitted settings are the server's defaults."""

    disabled: Literal[False] = False
    start_of_speech_sensitivity: Literal["START_SENSITIVITY_HIGH", "START_SENSITIVITY_LOW"] | None = None
    end_of_speech_sensitivity: Literal["END_SENSITIVITY_HIGH", "END_SENSITIVITY_LOW"] | None = None
    prefix_padding_ms: Annotated[int, Field(ge=0, le=10_000)] | None = None
    silence_duration_ms: Annotated[int, Field(ge=0, le=10_000)] | None = None

    @field_validator("disabled", mode="before")
    @classmethod
    def _stays_on(cls, off: object) -> object:
        if off:
            raise ValueError("leave it out: with detection off the model waits for activityEnd for ever, and never answers")
        return off


class GeminiLiveProfile(KeyedBot):
    """A model of the Live API. Its activity detection cannot be switched off: it is part of what is timed."""

    kind: Literal["gemini-live"]
    model: str
    """As the vendor names it; on Vertex AI the whole name (`projects/…/locations/…/publishers/google/models/…`)."""
    voice: str | None = None
    language: str | None = None
    instructions: str | None = None
    """Replaces the rules of the task that every system gets by default."""
    activity_detection: ActivityDetection = ActivityDetection()
    generation: dict[str, Any] = Field(default_factory=dict)
    """More of `generationConfig`, as in `{ temperature = 0.7, thinkingConfig = { thinkingBudget = 0 } }`."""
    tools: tuple[Tool, ...] = ()
    input_rate_hz: SampleRate = 16_000

    @field_validator("generation")
    @classmethod
    def _leaves_sound_to_the_wire(cls, generation: dict[str, Any]) -> dict[str, Any]:
        for name, instead in (
            ("responseModalities", "sound is always asked for"),
            ("speechConfig", "write voice and language"),
        ):
            if name in generation:
                raise ValueError(f"leave out {name}: {instead}")
        return generation

    @property
    def accepts_a_history(self) -> bool:
        return self.url is None or _VERTEX not in self.url

    def _options(self) -> dict[str, Any]:
        told = self.activity_detection.model_dump(exclude_none=True, exclude={"disabled"})
        return {
            **super()._options(),
            "instructions": self.instructions or system_instruction(ReplySettings()),
            "activity_detection": {to_camel(name): value for name, value in told.items()},
        }


PROFILE: Final = GeminiLiveProfile
ABOUT: Final = About(
    comment=(
        '# A model of the Gemini Live API. On Vertex AI: url = "wss://REGION-aiplatform.googleapis.com/ws/',
        '# google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent", an access token in api_key_env.',
    ),
    url=f"wss://generativelanguage.googleapis.com{_ROUTE}",
    command="",
    ready="",
    settings=(
        'model = "some-live-model"            # one that speaks (native audio)',
        'api_key_env = "EXAMPLE_API_KEY"      # the variable that holds the key, never the key',
        '# voice = "Kore"; instructions = "…"; activity_detection = { silence_duration_ms = 500 }',
    ),
    route=f"the Live API takes calls at {_ROUTE} (or v1alpha)",
    brings_ttft="a model that sends voiceActivity, which is the server's choice",
    silent="it may find no end of the turn: set activity_detection = { silence_duration_ms = 500 }; where a token or a proxy "
    "fixes a setup with automatic activity detection off, it waits for ever",
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A session with a Live model; options: the settings of `GeminiLiveProfile`, and every wire's."""
    speech: dict[str, Any] = {}
    if options.get("voice"):
        speech["voiceConfig"] = {"prebuiltVoiceConfig": {"voiceName": options["voice"]}}
    if options.get("language"):
        speech["languageCode"] = options["language"]
    model = str(options["model"])
    setup: dict[str, Any] = {
        "model": model if "/" in model else f"models/{model}",
        "generationConfig": {"responseModalities": ["AUDIO"], "speechConfig": speech, **options.get("generation", {})},
        "realtimeInputConfig": {"automaticActivityDetection": options.get("activity_detection", {})},
        "inputAudioTranscription": {},
        "outputAudioTranscription": {},
    }
    if options.get("instructions"):
        setup["systemInstruction"] = {"parts": [{"text": options["instructions"]}]}
    tools = options.get("tools") or ()
    if tools:
        setup["tools"] = [{"functionDeclarations": [_declared(tool) for tool in tools]}]
    vertex = _VERTEX in urlsplit(url).path
    wire = GeminiLiveWire(setup, options.get("input_rate_hz", 16_000), not vertex, tools)
    return over_websocket(url, wire, options, route=ABOUT.route, key_form=BEARER if vertex else ("x-goog-api-key", ""))


def _declared(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": tool["name"], "description": tool["description"], "parametersJsonSchema": tool["parameters"]}
