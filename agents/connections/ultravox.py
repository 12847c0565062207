"""Ultravox over a WebSocket: a call is placed with a request, then PCM16LE both ways and data messages in JSON.

The request asks for a buffer of 30 s at the client's, as the vendor advises for clients that drop it at
`playback_clear_buffer`; the sound then comes faster than it plays. The model hears sound, so that a transcript of the user's
words is no stage of the reply: the turn is over when the state becomes `thinking`, and the agent's words come in deltas.

Source: `pipecat.services.ultravox.llm` of pipecat 1.14, ultravox-client 0.1, Ultravox's pages "Data Messages" and "WebSocket
Integration", and its OpenAPI schema (`ultravox.v1.StartCallRequest`).
"""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import urlsplit, urlunsplit

from harness.agents.connection import Capabilities, Cleared, Connection, Event, Transcript
from harness.agents.connections.about import About
from harness.agents.connections.placed_call import PlacedBot, PlacedWire, over_placed_call
from harness.agents.connections.tools import Tool
from harness.agents.connections.websocket import settings_of
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    NotOfThisWire,
    Outgoing,
    Received,
    audio_of,
    marks_of,
    parse_object,
    shown,
)
from harness.agents.message import Message
from harness.agents.profile_spoken import SampleRate

BUFFER_MS: Final = 30_000
MOST_CHARACTERS: Final = 100_000
"""Longest transcript that is put together of deltas: an hour of speech has 60,000."""
_ROLES: Final[Mapping[str, Literal["user", "assistant"]]] = MappingProxyType({"user": "user", "agent": "assistant"})
_HISTORY: Final = MappingProxyType({"user": "MESSAGE_ROLE_USER", "assistant": "MESSAGE_ROLE_AGENT"})
_mark: Final = marks_of("ultravox")


class UltravoxWire(PlacedWire):
    """One call. `settings`: of the request; `tools`: those of the client that the agent may call."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        tools: Sequence[Mapping[str, Any]] = (),
        input_rate_hz: int = 16_000,
        output_rate_hz: int = 24_000,
    ) -> None:
        self._settings = dict(settings)
        self._answers = {tool["name"]: tool["answer"] for tool in tools}
        self.capabilities = Capabilities(True, input_rate_hz, output_rate_hz)
        self._rate_hz = output_rate_hz
        self._state = ""
        self._heard = self._worded = False
        self._said: dict[str, str] = {}

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        if history:
            self._settings["initialMessages"] = [{"role": _HISTORY[turn.role], "text": turn.text} for turn in history]
        return ()

    def request(self) -> Mapping[str, Any]:
        rates = {"inputSampleRate": self.capabilities.input_rate_hz, "outputSampleRate": self._rate_hz}
        return {**self._settings, "medium": {"serverWebSocket": {**rates, "clientBufferSizeMs": BUFFER_MS}}}

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes):
            heard = audio_of(message, self._rate_hz, arrival_ns)
            first, self._heard = not self._heard and bool(message), self._heard or bool(message)
            return Received((_mark("audio", arrival_ns), *heard.events)) if first else heard
        data = parse_object(message)
        match data.get("type"):
            case "state":
                return Received(events=self._on_state(str(data.get("state")), arrival_ns))
            case "transcript":
                return Received(events=self._on_words(data, arrival_ns))
            case "playback_clear_buffer":
                return Received(events=(Cleared(arrival_ns),))
            case "client_tool_invocation":
                return self._on_call(data, arrival_ns)
            case "debug":
                return Received(events=(_mark("debug", arrival_ns, message=shown(str(data.get("message")), 200)),))
            case str():
                return NOTHING
        raise NotOfThisWire(f"a message without a type: {shown(message)}")

    def _on_state(self, state: str, arrival_ns: int) -> tuple[Event, ...]:
        before, self._state = self._state, state
        if state == before or state not in ("idle", "listening", "thinking", "speaking"):
            return ()
        if state == "thinking":
            self._heard = self._worded = False
        if before != "speaking" or state == "thinking":
            return (_mark(state, arrival_ns),)
        self._heard = self._worded = False
        return (_mark("reply_over", arrival_ns),)

    def _on_words(self, data: Mapping[str, Any], arrival_ns: int) -> tuple[Event, ...]:
        role = _ROLES.get(str(data.get("role")))
        text, delta = data.get("text"), data.get("delta")
        if role is None or not isinstance(text, str | None) or not isinstance(delta, str | None):
            raise Garbage(f"a transcript without role and text: {shown(repr(dict(data)))}")
        so_far = (text or self._said.get(role, "") + (delta or ""))[:MOST_CHARACTERS]
        final = bool(data.get("final"))
        self._said = {} if final else {role: so_far}
        events: list[Event] = []
        if role == "assistant" and so_far and not self._worded:
            self._worded = True
            events.append(_mark("words", arrival_ns))
        if final and so_far:
            events.append(Transcript(arrival_ns, role, so_far, True))
        return tuple(events)

    def _on_call(self, data: Mapping[str, Any], arrival_ns: int) -> Received:
        """Handle the call of a tool of the client: the conversation waits for its answer."""
        call, name = str(data.get("invocationId")), str(data.get("toolName"))
        answer: dict[str, str] = {"type": "client_tool_result", "invocationId": call}
        if name in self._answers:
            answer["result"] = self._answers[name]
        else:
            answer |= {"errorType": "undefined", "errorMessage": f"no answer is set for {name}"}
        begun, ended = (_mark(f"tool_{step}", arrival_ns, call=shown(call)) for step in ("called", "done"))
        return Received((begun, ended), (json.dumps(answer),))


class UltravoxProfile(PlacedBot):
    """An agent of Ultravox, stored there (`agent_id`) or of the profile's settings."""

    kind: Literal["ultravox"]
    model: str | None = None
    voice: str | None = None
    temperature: float | None = None
    tools: tuple[Tool, ...] = ()
    """Functions of the client that the agent may call; a stored one has declared its own, and gets these answers."""
    output_rate_hz: SampleRate = 24_000
    accepts_history: bool = True


PROFILE: Final = UltravoxProfile
ABOUT: Final = About(
    comment=("# An agent of Ultravox. url is where its calls are placed.",),
    url="https://api.ultravox.ai/api/calls",
    command="",
    ready="",
    settings=(
        'api_key_env = "ULTRAVOX_API_KEY"   # the variable that holds the key, never the key',
        '# agent_id = "the id of a stored one"; without it, one of these settings:',
        '# model = "…"',
        '# voice = "…"',
    ),
    route="Ultravox places calls at POST /api/calls; the joinUrl of an answer is good for one caller, until its joinTimeout",
    brings_ttft="the states and the agent's transcripts, which a call has unless dataMessages switches them off",
    brings_words="the user's transcripts, which a call has unless dataMessages switches them off",
    key="Ultravox takes a key as X-API-Key, which api_key_env sends",
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call to an agent of Ultravox; options: those of the profile, and every wire's."""
    agent, greets = options.get("agent_id"), options.get("greets")
    names = {"instructions": "systemPrompt", "model": "model", "voice": "voice", "temperature": "temperature"}
    settings: dict[str, Any] = {to: options[name] for name, to in names.items() if options.get(name) is not None}
    if greets is not None:
        settings["firstSpeakerSettings"] = {"agent" if greets else "user": {}}
    if (tools := options.get("tools")) and not agent:
        settings["selectedTools"] = [_declared(tool) for tool in tools]
    if agent:
        place = urlsplit(url)
        path = f"{place.path.rstrip('/').removesuffix('/calls')}/agents/{agent}/calls"
        url = urlunsplit(place._replace(path=path))
    wire = UltravoxWire(settings, **settings_of(options, "tools", "input_rate_hz", "output_rate_hz"))
    return over_placed_call(url, wire, options, ABOUT, ("joinUrl",), ("X-API-Key", ""))


def _declared(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool of the client as a request declares it: each parameter by itself."""
    schema = tool["parameters"]
    needed = schema.get("required") or ()
    parameters = [
        {"name": name, "location": "PARAMETER_LOCATION_BODY", "schema": inner, "required": name in needed}
        for name, inner in (schema.get("properties") or {}).items()
    ]
    about = {"modelToolName": tool["name"], "description": tool["description"], "dynamicParameters": parameters}
    return {"temporaryTool": {**about, "client": {}}}
