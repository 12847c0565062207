"""pipecat's own evaluation wire: JSON RTVI messages, the audio among them, over which an unmodified bot takes a history.

Bots under pipecat's runner serve it at `/ws`, and those that its scaffold writes have it switched on. The harness plays the
client that pipecat's evaluations are: `eval-connect` first, then RTVI's `client-ready`; after `bot-ready` the conversation so
far as `eval-context`, which replaces the messages of the bot's context. pipecat acknowledges none of this, so a message that
no bot knows follows: its refusal shows that everything before it has been read, and no audio is sent before that. A
greeting would be after the history in the context, so the history is given again when the greeting is over.

The bot's audio is asked for (`capture_bot_audio`), and its detector's raw stamps (`vad_user_speaking`), which a bot keeps to
itself otherwise.

Source: `pipecat.evals.serializer` and `pipecat.evals.fastapi_transport` of pipecat 1.14.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from harness.agents.connection import Capabilities, Cleared, Connection, ConnectionFailed, Event
from harness.agents.connections import rtvi
from harness.agents.connections.inbox import Limits
from harness.agents.connections.websocket import WebSocketConnection
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    Outgoing,
    Received,
    Wire,
    audio_of,
    from_base64,
    parse_object,
    refuse_history,
    shown,
)
from harness.agents.message import Message
from harness.agents.profile_spoken import PcmBot

_BARRIER: Final = "history-read"
_HINT: Final = (
    'the bot must know the evaluation wire: transport_params["eval"] = lambda: EvalTransportParams(audio_in_enabled=True, '
    "audio_out_enabled=True), and its runner serves it at /ws"
)


class PipecatEvalWire(Wire):
    """One session with a pipecat bot, as in pipecat's evaluations."""

    def __init__(self, input_rate_hz: int = 16_000, accepts_history: bool = True, system_messages: Sequence[str] = ()) -> None:
        self.capabilities = Capabilities(accepts_history=accepts_history, input_rate_hz=input_rate_hz, output_rate_hz=None)
        self._system_messages = tuple(system_messages)
        self._context: list[dict[str, str]] = []
        self._bot_ready = False
        self._history_read = False
        self._caller_heard = False
        self._frames = 0

    @property
    def ready(self) -> bool:
        return self._bot_ready and self._history_read

    @property
    def waits_for(self) -> str:
        return "the sign that the history was read" if self._bot_ready else "the bot's answer to RTVI client-ready"

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, self.capabilities.accepts_history, "remove accepts_history = false")
        if history:
            rules = [{"role": "system", "content": text} for text in self._system_messages]
            self._context = [*rules, *({"role": turn.role, "content": turn.text} for turn in history)]
        self._history_read = not self._context
        flags = {"skip_tts": False, "capture_bot_audio": True, "capture_bot_images": False}
        return (_client_message("eval-connect", flags), rtvi.client_ready())

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes):
            raise Garbage(f"binary where pipecat's evaluation wire has JSON: {shown(repr(message[:20]))}")
        data = parse_object(message)
        kind, fields = rtvi.kind_of(data), rtvi.fields_of(data)
        match kind:
            case None:
                return NOTHING
            case "eval-bot-audio":
                return audio_of(from_base64(fields.get("audio")), fields.get("sampleRate"), arrival_ns)
            case "bot-ready":
                return self._on_bot_ready()
            case "error-response" if data.get("id") == _BARRIER:
                self._history_read = True
                return NOTHING
            case "error-response" if data.get("id") == rtvi.CLIENT_READY:
                raise ConnectionFailed(f"the bot refuses the client: {shown(str(fields.get('error')))}", "refused")
        self._caller_heard = self._caller_heard or kind == "user-started-speaking"
        events: tuple[Event, ...] = rtvi.events_of(kind, fields, arrival_ns)
        if kind == "bot-interrupted":
            return Received(events=(*events, Cleared(arrival_ns)))
        if kind == "bot-stopped-speaking" and not self._caller_heard and self._context:
            return Received(events=events, replies=(self._history(),))
        return Received(events=events)

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del now_ns
        self._frames += 1
        sound = {
            "base64Audio": base64.b64encode(frame).decode(),
            "sampleRate": self.capabilities.input_rate_hz,
            "numChannels": 1,
        }
        return (rtvi.envelope("raw-audio", str(self._frames), sound),)

    def goodbye(self) -> Sequence[Outgoing]:
        return (_client_message("eval-cancel", {}),)

    def _on_bot_ready(self) -> Received:
        if self._bot_ready:
            return NOTHING
        self._bot_ready = True
        asked = [_client_message("eval-configure", {"vad_user_speaking": True})]
        if self._context:
            asked += [self._history(), rtvi.envelope(_BARRIER, _BARRIER, {})]
        return Received(replies=tuple(asked))

    def _history(self) -> str:
        return _client_message("eval-context", {"messages": self._context})


def _client_message(kind: str, data: Mapping[str, Any]) -> str:
    return rtvi.envelope("client-message", kind, {"t": kind, "d": data})


class PipecatEvalProfile(PcmBot):
    """A pipecat bot reached over pipecat's evaluation wire: unmodified, and given the conversation so far."""

    kind: Literal["pipecat-eval"]
    accepts_history: bool = True
    system_messages: tuple[str, ...] = ()
    """The bot's own context, as messages of the role `system`, because the history replaces all of it."""


PROFILE: Final = PipecatEvalProfile


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """An evaluation of a pipecat bot; options: `input_rate_hz`, `accepts_history`, `system_messages`, `open_timeout_s`."""
    wire = PipecatEvalWire(
        input_rate_hz=int(options.get("input_rate_hz", 16_000)),
        accepts_history=bool(options.get("accepts_history", True)),
        system_messages=tuple(options.get("system_messages", ())),
    )
    limits = Limits(open_timeout_s=float(options.get("open_timeout_s", 15.0)))
    return WebSocketConnection(url, wire, limits, hint=_HINT)
