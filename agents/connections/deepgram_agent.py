"""Deepgram's Voice Agent (version 1) over a WebSocket: `Settings` first, then binary sound both ways and events in JSON.

No sound is sent before `SettingsApplied`: the server ends a session whose first message is another. The history goes with the
settings (`agent.context`), for which a stored agent, named by its id alone, has no place. The sound of the caller never
pauses, so that no `KeepAlive` is due. The caller drops what it has not played at `UserStartedSpeaking`, as applications do.

The words of the user come when the turn is over, and those of the agent before its sound: they bound the stages of a reply. The
server's own durations (`LatencyReport`; `AgentStartedSpeaking` of experimental sessions) are taken where they come.

Source: `deepgram.agent.v1` of deepgram-sdk 7.17; codes of errors: Deepgram's page "Errors & Warnings" of the Voice Agent.
"""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, Self

from pydantic import model_validator

from harness.agents.cascade.prompt import system_instruction
from harness.agents.cascade.settings import ReplySettings
from harness.agents.connection import AGENT_ERROR, Capabilities, Cleared, Connection, ConnectionFailed, Event, Mark, Transcript
from harness.agents.connections.about import About
from harness.agents.connections.tools import Tool
from harness.agents.connections.websocket import over_websocket, settings_of
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    NotOfThisWire,
    Outgoing,
    PlayoutClock,
    Received,
    Wire,
    arrived,
    audio_of,
    marks_of,
    parse_object,
    refuse_history,
    shown,
    shown_error,
)
from harness.agents.message import Message
from harness.agents.profile_base import ProfileSettings
from harness.agents.profile_spoken import KeyedBot, SampleRate
from harness.agents.reply_signs import MORE_COMES

URL: Final = "wss://agent.deepgram.com/v1/agent/converse"
NO_HISTORY: Final = "write the agent's settings into the profile (think) in place of the id of a stored one"
_MENDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "INVALID_SETTINGS": "check think, listen and speak: the provider, its model, and whether this key may use it",
        "UNPARSABLE_CLIENT_MESSAGE": "check think, listen and speak, or the id of the stored agent",
        "FAILED_TO_THINK": "check think: its provider, its model, and whether this key may use it",
        "FAILED_TO_SPEAK": "check speak: its provider, its model, and whether this key may use it",
        "FAILED_TO_START_LISTENING": "check listen: its model, and whether this key may use it",
        "NON_SETTINGS_MESSAGE_BEFORE_SETTINGS": "something between here and the server sent sound before the settings",
    }
)
"""What mends an error, by its code."""
_DURATIONS: Final = MappingProxyType({"ttft_s": ("ttt_text_latency", "ttt_latency"), "voice_s": ("tts_latency",)})
"""Name in a mark's detail → the names in `LatencyReport` and in `AgentStartedSpeaking`."""
_mark: Final = marks_of("deepgram")


class DeepgramWire(Wire):
    """One session. `agent`: that of the settings, or the id of a stored one; `tools`: the functions that it may call."""

    def __init__(
        self,
        agent: Mapping[str, Any] | str,
        tools: Sequence[Mapping[str, Any]] = (),
        input_rate_hz: int = 16_000,
        output_rate_hz: int = 24_000,
        experimental: bool = False,
    ) -> None:
        self._agent, self._experimental = agent, experimental
        self._answers = {tool["name"]: tool["answer"] for tool in tools}
        self.capabilities = Capabilities(not isinstance(agent, str), input_rate_hz, output_rate_hz)
        self._rate_hz = output_rate_hz
        self._applied = False
        self._speaking = False
        self._calls: dict[str, None] = {}
        self._playout = PlayoutClock()

    @property
    def ready(self) -> bool:
        return self._applied

    @property
    def waits_for(self) -> str:
        return "the answer to the settings (SettingsApplied)"

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, self.capabilities.accepts_history, NO_HISTORY)
        agent: Any = self._agent
        if history:
            turns = [{"type": "History", "role": turn.role, "content": turn.text} for turn in history]
            agent = {**agent, "context": {"messages": turns}}
        audio = {
            "input": {"encoding": "linear16", "sample_rate": self.capabilities.input_rate_hz},
            "output": {"encoding": "linear16", "sample_rate": self._rate_hz, "container": "none"},
        }
        settings = {"type": "Settings", "audio": audio, "agent": agent}
        return (json.dumps(settings | ({"experimental": True} if self._experimental else {}), ensure_ascii=False),)

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes):
            return self._on_sound(message, arrival_ns)
        data = parse_object(message)
        match data.get("type"):
            case "SettingsApplied":
                self._applied = True
            case "ConversationText":
                return self._on_words(data, arrival_ns)
            case "UserStartedSpeaking":
                return self._on_speech(arrival_ns)
            case "AgentStartedSpeaking" | "LatencyReport":
                return Received(events=_durations(data, arrival_ns))
            case "AgentAudioDone":
                self._speaking = False
                more: dict[str, object] = {MORE_COMES: True} if self._calls else {}
                return Received(events=(_mark("audio_done", arrival_ns, **more),))
            case "FunctionCallRequest":
                return self._on_calls(data, arrival_ns)
            case "FunctionCallResponse" | "FunctionCallCancelled":
                return Received(events=self._end_calls(data, arrival_ns))
            case "Error":
                return self._on_error(data, arrival_ns)
            case "Warning" | "InjectionRefused":
                said = str(data.get("description") or data.get("message") or "")
                return Received(
                    events=(_mark("warning", arrival_ns, message=shown(said, 200), code=shown(str(data.get("code")))),)
                )
            case str():
                pass
            case _:
                raise NotOfThisWire(f"an event without a type: {shown(message)}")
        return NOTHING

    def _on_sound(self, pcm: bytes, arrival_ns: int) -> Received:
        heard = audio_of(pcm, self._rate_hz, arrival_ns)
        self._playout.add(arrival_ns, len(pcm) // 2, self._rate_hz)
        if self._speaking or not pcm:
            return heard
        self._speaking = True
        return Received((_mark("audio", arrival_ns), *heard.events))

    def _on_words(self, data: Mapping[str, Any], arrival_ns: int) -> Received:
        role, text = data.get("role"), data.get("content")
        if role not in ("user", "assistant") or not isinstance(text, str):
            raise Garbage(f"a ConversationText without role and content: {shown(repr(dict(data)))}")
        if role == "user":
            self._speaking = False
        return Received(events=(_mark(f"{role}_words", arrival_ns), Transcript(arrival_ns, role, text, True)))

    def _on_speech(self, arrival_ns: int) -> Received:
        self._speaking = False
        unplayed = self._playout.until_ns > arrival_ns
        self._playout.clear(arrival_ns)
        mark = _mark("user_started_speaking", arrival_ns)
        return Received(events=(mark, Cleared(arrival_ns)) if unplayed else (mark,))

    def _on_calls(self, data: Mapping[str, Any], arrival_ns: int) -> Received:
        """Handle the calls of functions: a client's own are answered at once, so that the reply goes on."""
        events: list[Event] = []
        replies: list[Outgoing] = []
        for call in _functions(data):
            key, name = str(call.get("id")), str(call.get("name"))
            self._calls[key] = None
            events.append(_mark("function_call.begun", arrival_ns, call=shown(key)))
            if call.get("client_side"):
                answer = {"id": key, "name": name, "content": self._answers.get(name, "")}
                replies.append(json.dumps({"type": "FunctionCallResponse", **answer}))
                events += self._end_calls(answer, arrival_ns)
        return Received(tuple(events), tuple(replies))

    def _end_calls(self, data: Mapping[str, Any], arrival_ns: int) -> tuple[Mark, ...]:
        # The server may leave the id out of the answer of a function of its own.
        named = [str(one.get("id")) for one in (*_functions(data), data) if one.get("id")]
        found = [key for key in named or list(self._calls) if key in self._calls]
        for key in found:
            del self._calls[key]
        return tuple(_mark("function_call.ended", arrival_ns, call=shown(key)) for key in found)

    def _on_error(self, data: Mapping[str, Any], arrival_ns: int) -> Received:
        code = str(data.get("code", ""))
        said = shown_error(str(data.get("description", "")), code)
        if not self._applied:
            mend = _MENDS.get(code)
            raise ConnectionFailed(f"the server says: {said}{f': {mend}' if mend else ''}")
        return Received(events=(arrived(AGENT_ERROR, arrival_ns, message=said),))


def _functions(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = data.get("functions")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _durations(data: Mapping[str, Any], arrival_ns: int) -> tuple[Event, ...]:
    said = {name: value for name, value in data.items() if isinstance(value, int | float)}
    found = {to: said[name] for to, names in _DURATIONS.items() for name in reversed(names) if name in said}
    name = "started_speaking" if data.get("type") == "AgentStartedSpeaking" else "latency"
    return (_mark(name, arrival_ns, **found),)


class Provider(ProfileSettings):
    """The provider of one part of an agent, as Deepgram names it. Omitted settings are the server's defaults."""

    type: str = "deepgram"
    model: str | None = None
    version: Literal["v1", "v2"] | None = None
    temperature: float | None = None
    reasoning_mode: str | None = None
    language: str | None = None
    speed: float | None = None
    eot_threshold: float | None = None
    eager_eot_threshold: float | None = None
    eot_timeout_ms: int | None = None


class DeepgramProfile(KeyedBot):
    """An agent of Deepgram's Voice Agent: its parts (`think`, `listen`, `speak`), or the id of a stored one (`agent_id`)."""

    kind: Literal["deepgram-agent"]
    agent_id: str | None = None
    think: Provider | None = None
    listen: Provider | None = None
    speak: Provider | None = None
    instructions: str | None = None
    """Replaces the rules of the task that every system gets by default; a stored agent has its own."""
    greeting: str | None = None
    experimental: bool = False
    """True for a session of Deepgram's experimental features, which says how long each reply took to begin."""
    tools: tuple[Tool, ...] = ()
    """Functions of the client that the agent may call; a stored one has declared its own, and gets these answers."""
    input_rate_hz: SampleRate = 16_000
    output_rate_hz: SampleRate = 24_000

    @model_validator(mode="after")
    def _is_one_agent(self) -> Self:
        if (self.agent_id is None) == (self.think is None):
            raise ValueError('give think = { type = "…", model = "…" }, or agent_id = "the id of a stored one"')
        if self.agent_id is not None and (self.listen or self.speak or self.instructions or self.greeting):
            raise ValueError("agent_id: a stored one has its own listen, speak, instructions and greeting")
        return self

    @property
    def accepts_a_history(self) -> bool:
        return self.agent_id is None

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "instructions": self.instructions or system_instruction(ReplySettings())}


PROFILE: Final = DeepgramProfile
ABOUT: Final = About(
    comment=("# An agent of Deepgram's Voice Agent API.",),
    url=URL,
    command="",
    ready="",
    settings=(
        'api_key_env = "DEEPGRAM_API_KEY"                        # the variable that holds the key, never the key',
        'think = { type = "open_ai", model = "gpt-4o-mini" }     # or: agent_id = "the id of a stored one"',
        'listen = { type = "deepgram", model = "nova-3" }',
        'speak = { type = "deepgram", model = "aura-2-thalia-en" }',
    ),
    route="Deepgram's Voice Agent takes calls at /v1/agent/converse",
    brings_ttft="experimental = true in the profile: the durations of each reply then come with it",
    brings_words="its listen provider's transcripts: check listen in the profile",
    brings_history=NO_HISTORY,
    key='Deepgram takes a key as "Authorization: Token …", which api_key_env sends; "Bearer" is for its temporary tokens, '
    "and a key in the address is not read",
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A session with an agent of Deepgram; options: those of the profile, and every wire's."""
    agent = options.get("agent_id") or _agent(options)
    more = settings_of(options, "tools", "input_rate_hz", "output_rate_hz", "experimental")
    key = ("Authorization", "Token ")
    return over_websocket(url, DeepgramWire(agent, **more), options, route=ABOUT.route, key_form=key, key_words=ABOUT.key)


def _agent(options: Mapping[str, Any]) -> dict[str, Any]:
    """The agent of the settings by its parts."""
    parts = {name: options[name] for name in ("think", "listen", "speak") if options.get(name)}
    agent: dict[str, Any] = {
        name: {"provider": {key: value for key, value in part.items() if value is not None}} for name, part in parts.items()
    }
    if "think" in agent:
        agent["think"]["prompt"] = options.get("instructions") or ""
        if tools := options.get("tools"):
            agent["think"]["functions"] = [{key: tool[key] for key in ("name", "description", "parameters")} for tool in tools]
    return agent | ({"greeting": options["greeting"]} if options.get("greeting") else {})
