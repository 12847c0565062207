"""pipecat's own WebSocket wire: protobuf frames for audio, RTVI messages for everything else.

The harness plays the client that pipecat's SDKs are. The history goes beyond a stock bot, as RTVI provides for: a
`client-message` of type `history` (`{"messages": [{"role", "text"}, …]}`), which the bot acknowledges with a
`server-response`, and before which no audio is sent. A bot that does not know it still works: it is played without history.
What else RTVI carries is in `agents.connections.rtvi`.

pipecat's generated protobuf module is loaded from its file, because importing the package prints a banner and replaces
`asyncio.wait_for`, neither of which belongs in the process that paces the call.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from agents.connection import AudioChunk, Capabilities, Cleared, Connection, ConnectionFailed, Transcript
from agents.connections import rtvi
from agents.connections.spec import ConnectionSpec
from agents.connections.websocket import Limits, WebSocketConnection
from agents.connections.wire import (
    NOTHING,
    Garbage,
    Outgoing,
    Received,
    parse_object,
    refuse_history,
    sample_rate,
    shown,
    whole_samples,
)
from agents.message import Message
from agents.profile_spoken import PcmBot

_HISTORY_ID: Final = "history"
_RUNNER_HINT: Final = "pipecat's own runner serves this wire at /ws-client; its /ws is for telephones and evaluations"


@cache
def _frames() -> Any:
    package = importlib.util.find_spec("pipecat")
    if package is None or not package.submodule_search_locations:
        raise ConnectionFailed("pipecat-ai is not installed; pip install heart-voice-harness brings it")
    path = Path(package.submodule_search_locations[0], "frames", "protobufs", "frames_pb2.py")
    spec = importlib.util.spec_from_file_location("heart_voice_harness_pipecat_frames", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PipecatWire:
    """One session with a pipecat bot."""

    def __init__(self, input_rate_hz: int = 16_000, accepts_history: bool = False, speaks_rtvi: bool = True) -> None:
        self._capabilities = Capabilities(accepts_history=accepts_history, input_rate_hz=input_rate_hz, output_rate_hz=None)
        self._rtvi = speaks_rtvi
        self._proto = _frames()
        self._history: tuple[Message, ...] = ()
        self._bot_ready = not speaks_rtvi
        self._history_taken = not accepts_history

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def ready(self) -> bool:
        return self._bot_ready and self._history_taken

    @property
    def waits_for(self) -> str:
        if not self._bot_ready:
            return "the bot's answer to RTVI client-ready (rtvi = false is for bots without RTVI)"
        return 'the acknowledgement of the history (a server-response to the client-message "history")'

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        how = 'have it answer the client-message "history" and set accepts_history = true'
        refuse_history(history, self._capabilities.accepts_history, how)
        if not self._rtvi:
            if not self._history_taken:
                raise ConnectionFailed("accepts_history needs RTVI: remove rtvi = false", "no_history")
            return ()
        self._history = tuple(history)
        return (self._message(rtvi.client_ready()),)

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, str):
            raise Garbage(f"text where pipecat sends protobuf: {shown(message)}")
        try:
            frame = self._proto.Frame.FromString(message)
        except Exception as error:
            raise Garbage(f"{len(message)} bytes that are no pipecat frame: {shown(repr(message[:20]))}") from error
        match frame.WhichOneof("frame"):
            case "audio":
                return self._audio(frame.audio, arrival_ns)
            case "interruption":
                return Received(events=(Cleared(arrival_ns),))
            case "message":
                return self._rtvi_message(parse_object(frame.message.data), arrival_ns)
            case "transcription" if not self._rtvi:
                return Received(events=(Transcript(arrival_ns, "user", frame.transcription.text, True),))
            case "text" if not self._rtvi:
                return Received(events=(Transcript(arrival_ns, "assistant", frame.text.text, True),))
            case None:
                raise Garbage(f"{len(message)} bytes that hold no pipecat frame")
        return NOTHING

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del now_ns
        proto = self._proto.Frame()
        proto.audio.audio = frame
        proto.audio.sample_rate = self._capabilities.input_rate_hz
        proto.audio.num_channels = 1
        return (proto.SerializeToString(),)

    def goodbye(self) -> Sequence[Outgoing]:
        return ()

    def _audio(self, audio: Any, arrival_ns: int) -> Received:
        if audio.num_channels > 1:
            raise Garbage(f"audio of {audio.num_channels} channels; set audio_out_channels=1 in the bot's transport")
        pcm = whole_samples(_without_wav_header(audio.audio))
        if not pcm:
            return NOTHING
        return Received(events=(AudioChunk(arrival_ns, pcm, sample_rate(audio.sample_rate)),))

    def _rtvi_message(self, message: Mapping[str, Any], arrival_ns: int) -> Received:
        kind, fields = rtvi.kind_of(message), rtvi.fields_of(message)
        if kind is None:
            return NOTHING
        match kind:
            case "bot-ready":
                return self._on_bot_ready()
            case "server-response" if message.get("id") == _HISTORY_ID:
                self._history_taken = True
                return NOTHING
            case "error-response" if message.get("id") == _HISTORY_ID:
                raise ConnectionFailed(f"the bot refuses the history: {shown(str(fields.get('error')))}", "no_history")
            case "error-response" if message.get("id") == rtvi.CLIENT_READY:
                raise ConnectionFailed(f"the bot refuses the client: {shown(str(fields.get('error')))}", "refused")
        return Received(events=rtvi.events_of(kind, fields, arrival_ns))

    def _on_bot_ready(self) -> Received:
        if self._bot_ready:
            return NOTHING
        self._bot_ready = True
        if self._history_taken:
            return NOTHING
        turns = [{"role": turn.role, "text": turn.text} for turn in self._history]
        data = {"t": "history", "d": {"messages": turns}}
        return Received(replies=(self._message(rtvi.envelope("client-message", _HISTORY_ID, data)),))

    def _message(self, text: str) -> bytes:
        proto = self._proto.Frame()
        proto.message.data = text
        return bytes(proto.SerializeToString())


def _without_wav_header(audio: bytes) -> bytes:
    """Bots for browsers may put a WAV header before each piece (pipecat's `add_wav_header`)."""
    if audio[:4] != b"RIFF" or audio[8:12] != b"WAVE":
        return audio
    at = audio.find(b"data", 12)
    return audio if at < 0 else audio[at + 8 :]


class PipecatProfile(PcmBot):
    """A pipecat bot that serves pipecat's WebSocket wire (protobuf frames, RTVI messages)."""

    kind: Literal["pipecat"]
    rtvi: bool = True
    """Whether the bot answers RTVI's `client-ready`; without, audio starts as soon as the line is open."""

    def connection(self, url: str) -> ConnectionSpec:
        return ConnectionSpec(kind="pipecat", url=url, options={**self._options(), "rtvi": self.rtvi})


PROFILE: Final = PipecatProfile


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A connection to a pipecat bot; options: `input_rate_hz`, `accepts_history`, `rtvi`, `open_timeout_s`."""
    wire = PipecatWire(
        input_rate_hz=int(options.get("input_rate_hz", 16_000)),
        accepts_history=bool(options.get("accepts_history", False)),
        speaks_rtvi=bool(options.get("rtvi", True)),
    )
    limits = Limits(open_timeout_s=float(options.get("open_timeout_s", 15.0)))
    return WebSocketConnection(url, wire, limits, hint=_RUNNER_HINT if urlsplit(url).path.rstrip("/") == "/ws" else "")
