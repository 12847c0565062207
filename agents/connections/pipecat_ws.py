"""pipecat's own WebSocket wire: protobuf frames for audio, RTVI messages for everything else.

The harness plays the client that pipecat's SDKs are. How a session is opened and given its history, and what else RTVI
carries, is in `harness.agents.connections.rtvi`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from harness.agents.connection import Capabilities, Cleared, Connection, Transcript
from harness.agents.connections.about import METRICS, UVICORN, About
from harness.agents.connections.pipecat_frames import frame_class
from harness.agents.connections.rtvi import RtviSession
from harness.agents.connections.start_request import StartedByRequest
from harness.agents.connections.websocket import over_websocket, settings_of
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    NotOfThisWire,
    Outgoing,
    Received,
    Wire,
    audio_of,
    parse_object,
    shown,
)
from harness.agents.message import Message
from harness.agents.profile_spoken import PcmBot

_RUNNER_HINT: Final = "pipecat's own runner serves this wire at /ws-client; its /ws is for telephones and evaluations"


class PipecatWire(Wire):
    """One session with a pipecat bot."""

    def __init__(
        self, input_rate_hz: int = 16_000, accepts_history: bool = False, rtvi: bool = True, address: str = ""
    ) -> None:
        self.capabilities = Capabilities(accepts_history=accepts_history, input_rate_hz=input_rate_hz, output_rate_hz=None)
        self._session = RtviSession(accepts_history, rtvi, address)
        self._frame = frame_class()

    @property
    def ready(self) -> bool:
        return self._session.ready

    @property
    def waits_for(self) -> str:
        return self._session.waits_for

    def unanswered(self) -> str:
        return self._session.unanswered()

    @property
    def fell_back(self) -> str:
        return self._session.fell_back

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        return tuple(self._message(text) for text in self._session.hello(history))

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, str):
            raise NotOfThisWire(f"text where pipecat sends protobuf: {shown(message)}")
        try:
            frame = self._frame.FromString(message)
        except Exception as error:
            raise Garbage(f"{len(message)} bytes that are no pipecat frame: {shown(repr(message), 20)}") from error
        match frame.WhichOneof("frame"):
            case "audio":
                return self._audio(frame.audio, arrival_ns)
            case "interruption":
                return Received(events=(Cleared(arrival_ns),))
            case "message":
                rtvi = self._session.receive(parse_object(frame.message.data), arrival_ns)
                return Received(rtvi.events, tuple(map(self._message, rtvi.replies)))
            case "transcription" if not self._session.speaks_rtvi:
                return Received(events=(Transcript(arrival_ns, "user", frame.transcription.text, True),))
            case "text" if not self._session.speaks_rtvi:
                return Received(events=(Transcript(arrival_ns, "assistant", frame.text.text, True),))
            case None:
                raise Garbage(f"{len(message)} bytes that hold no pipecat frame")
        return NOTHING

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del now_ns
        proto = self._frame()
        proto.audio.audio = frame
        proto.audio.sample_rate = self.capabilities.input_rate_hz
        proto.audio.num_channels = 1
        return (proto.SerializeToString(),)

    def _audio(self, audio: Any, arrival_ns: int) -> Received:
        if audio.num_channels > 1:
            raise Garbage(f"audio of {audio.num_channels} channels; set audio_out_channels=1 in the bot's transport")
        self._session.heard(arrival_ns)
        return audio_of(_without_wav_header(audio.audio), audio.sample_rate, arrival_ns)

    def _message(self, text: Outgoing) -> bytes:
        proto = self._frame()
        proto.message.data = text
        return bytes(proto.SerializeToString())


def _without_wav_header(audio: bytes) -> bytes:
    """Bots for browsers may put a WAV header before each piece (pipecat's `add_wav_header`)."""
    if audio[:4] != b"RIFF" or audio[8:12] != b"WAVE":
        return audio
    at = audio.find(b"data", 12)
    return audio if at < 0 else audio[at + 8 :]


class PipecatProfile(StartedByRequest, PcmBot):
    """A pipecat bot that serves pipecat's WebSocket wire (protobuf frames, RTVI messages)."""

    kind: Literal["pipecat"]
    rtvi: bool = True
    """True if the bot answers RTVI's `client-ready`; otherwise audio starts as soon as the connection is open."""


PROFILE: Final = PipecatProfile
ABOUT: Final = About(
    comment=(
        "# A pipecat bot on its plain WebSocket route (protobuf and RTVI). It begins every call knowing nothing, so run it",
        '# with --mode replay; kind = "pipecat-eval" gives it the conversation so far.',
    ),
    url="ws://localhost:{port}/ws-client",
    command="python bot.py --port {port}",
    ready=UVICORN,
    route="pipecat's runner serves it at /ws-client",
    brings_ttft=METRICS,
    brings_words="a recogniser that pushes transcriptions, and RTVI switched on",
    brings_history='kind = "pipecat-eval" with the route /ws, or accepts_history = true once it takes one (docs/agents.md)',
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A connection to a pipecat bot; options: `input_rate_hz`, `accepts_history`, `rtvi`, and every wire's."""
    wire = PipecatWire(address=url, **settings_of(options, "input_rate_hz", "accepts_history", "rtvi"))
    hint = _RUNNER_HINT if urlsplit(url).path.rstrip("/") == "/ws" else ""
    return over_websocket(url, wire, options, route=ABOUT.route, transport="websocket", hint=hint)
