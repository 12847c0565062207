"""SmallWebRTC without a browser: Opus over RTP, RTVI over a data channel, one offer over HTTP.

The caller is an ordinary WebRTC peer (aiortc), so an unmodified bot is called as its users call it, except that nothing
processes the sound: no echo cancellation, no gain control, no noise suppression. Packets are stamped as they arrive, with
their place on the bot's media clock; what a listener would have heard of them is worked out later. Once a second the far end's
word on the line is taken (RTCP): the way there and back, and how many of the caller's own packets it missed.

Nothing is sent in silence's place before the call is open; from then on the caller's frames leave as they are given, twenty
milliseconds a packet.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, StringConstraints

from harness.agents.connection import (
    FELL_BACK,
    AudioChunk,
    Capabilities,
    Connection,
    ConnectionFailed,
    Event,
    LineReport,
    MediaStamp,
)
from harness.agents.connections import opus
from harness.agents.connections.about import METRICS, UVICORN, About
from harness.agents.connections.access import Access
from harness.agents.connections.diagnosis import timed_out
from harness.agents.connections.http_request import post
from harness.agents.connections.inbox import Inbox, Limits, dialled
from harness.agents.connections.rtp_stream import RtpPacket, RtpStream
from harness.agents.connections.rtvi import RtviSession
from harness.agents.connections.websocket import place_of
from harness.agents.connections.what_to_check import sentence
from harness.agents.connections.wire import Garbage, Outgoing, parse_object, shown
from harness.agents.message import Message
from harness.agents.profile_spoken import KeyedBot, WebAddress
from harness.installation import install_command

SILENT_LINE_S: Final = 10.0
"""A WebRTC sender sends without pause, silence too. One that has sent no packet at all after so long cannot be heard."""
KEEP_ALIVE_S: Final = 1.0
"""pipecat takes a peer that was silent on the data channel for 3 s for gone; its own clients say something every second."""


class WebRtcConnection:
    """A call to one bot. `options`: see `connect`."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._url = url
        self._access = Access.of(url, options, ABOUT.route)
        self._limits = Limits(open_timeout_s=self._access.timeout_s)
        self._ice_servers = tuple(options.get("ice_servers", ()))
        accepts_history = bool(options.get("accepts_history", False))
        self.capabilities = Capabilities(accepts_history, input_rate_hz=opus.CLOCK_HZ, output_rate_hz=opus.CLOCK_HZ)
        self._session = RtviSession(accepts_history, bool(options.get("rtvi", True)), url)
        self._inbox = Inbox(self._limits)
        self._peer: Any = None
        self._channel: Any = None
        self._microphone: Any = None
        self._payload_type = -1
        self._stream = RtpStream(opus.CLOCK_HZ)
        self._decoder: opus.OpusDecoder | None = None
        self._lost = 0
        self._waits_for = ""
        """What the opening waits for beyond the answer to its offer."""
        self._up = False
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, history: Sequence[Message]) -> None:
        async with dialled(self._limits.open_timeout_s, self._too_late, self._abandon, self.close):
            hello = self._session.hello(history)
            await self._dial()
            self._up = True
            await self._greet(hello)
        if self._session.fell_back:
            self._inbox.note(FELL_BACK, why=self._session.fell_back)
        if self._inbox.ended is not None:
            ended = self._inbox.ended
            await self._abandon(ConnectionFailed(ended.error or "closed at once", ended.kind or "refused"))
        self._tasks = [asyncio.create_task(self._watch())]

    async def _too_late(self) -> ConnectionFailed | None:
        if self._up and self._session.unanswered():
            return None
        if not self._waits_for:
            return await timed_out(self._url, self._access.place)
        return ConnectionFailed(f"{self._waits_for} did not come within {self._limits.open_timeout_s:g} s", "open_timeout")

    def send(self, frame: bytes) -> None:
        if self._inbox.ended is not None:
            return
        if self._microphone.waiting >= self._limits.unsent_frames:
            self._inbox.end("the caller's sound cannot be sent: 5 s of it wait", "overflow")
            return
        self._microphone.say(frame)

    def events(self) -> AsyncIterator[Event]:
        return self._inbox.events()

    async def close(self) -> None:
        for ordered in self._stream.flush():
            self._hear(ordered.packet, ordered.media_ns, ordered.lost_before)
        # No word of farewell: `peerLeft` is the bot's to say, and pipecat logs one from a caller as an error. Closing tells it.
        self._inbox.end(None, None)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        peer, self._peer = self._peer, None
        if peer is not None:
            with contextlib.suppress(TimeoutError, Exception):
                async with asyncio.timeout(self._limits.close_timeout_s):
                    await peer.close()

    async def _dial(self) -> None:
        if find_spec("aiortc") is None:
            raise ConnectionFailed(f"WebRTC needs the extra 'webrtc': {install_command('webrtc')}", "defect")
        from aiortc import RTCBundlePolicy, RTCConfiguration, RTCIceServer, RTCPeerConnection, RTCSessionDescription

        from harness.agents.connections.aiortc_media import Microphone, opus_alone, opus_of, tap

        servers = [RTCIceServer(urls=server) for server in self._ice_servers]
        self._peer = RTCPeerConnection(RTCConfiguration(iceServers=servers, bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))
        self._microphone = Microphone()
        transceiver = self._peer.addTransceiver(self._microphone, direction="sendrecv")
        transceiver.setCodecPreferences(opus_alone())
        tap(transceiver.receiver, self._on_packet)
        self._channel = self._peer.createDataChannel("rtvi-ai")
        self._channel.on("message", self._on_message)
        self._channel.on("open", self._inbox.changed.set)
        self._channel.on("close", self._on_gone)
        self._peer.on("connectionstatechange", self._on_state)
        await self._peer.setLocalDescription(await self._peer.createOffer())
        offer = {"sdp": self._peer.localDescription.sdp, "type": "offer"}
        url, headers = await self._access.opened()
        # Source: `pipecat.transports.smallwebrtc.request_handler` of pipecat 1.14.
        answer = await post(url, offer, headers, self._access.place)
        if not isinstance(answer.get("sdp"), str) or answer.get("type") != "answer":
            raise ConnectionFailed('answered without {"sdp", "type": "answer"}: is it a SmallWebRTC address?', "garbage")
        self._payload_type = opus_of(answer["sdp"])
        self._decoder = opus.OpusDecoder()
        try:
            await self._peer.setRemoteDescription(RTCSessionDescription(answer["sdp"], "answer"))
        except Exception as error:
            raise ConnectionFailed(f"an answer that cannot be used: {shown(str(error), 100)}", "garbage") from error
        self._waits_for = "the way for sound (ICE: are UDP ports open on both sides? ice_servers names STUN and TURN servers)"
        while self._peer.connectionState != "connected" and self._inbox.ended is None:
            await self._anything()

    async def _greet(self, hello: Sequence[str]) -> None:
        if not self._session.speaks_rtvi or self._session.fell_back:
            return
        self._waits_for = "the data channel (rtvi = false is for bots without RTVI)"
        while self._channel.readyState != "open" and self._inbox.ended is None:
            await self._anything()
        for text in hello:
            self._say(text)
        while not self._session.ready and self._inbox.ended is None:
            self._waits_for = self._session.waits_for
            await self._anything()

    async def _anything(self) -> None:
        await self._inbox.changed.wait()
        self._inbox.changed.clear()

    async def _watch(self) -> None:
        """Send keep-alives, read the far end's reports, and detect a call without sound."""
        opened_ns = time.monotonic_ns()
        last: LineReport | None = None
        with self._inbox.ours("beside the call"):
            while self._inbox.ended is None:
                self._say(f"ping: {time.monotonic_ns()}")
                await asyncio.sleep(KEEP_ALIVE_S)
                report = await self._report()
                if report is not None and (last is None or report.round_trip_ms != last.round_trip_ms):
                    self._inbox.put(report)
                    last = report
                if not self._inbox.heard_audio and time.monotonic_ns() - opened_ns > SILENT_LINE_S * 1e9:
                    place = replace(self._access.place, timeout_s=SILENT_LINE_S)
                    self._inbox.end(sentence("no_packets", place), "no_media")

    async def _report(self) -> LineReport | None:
        senders = self._peer.getSenders() if self._peer is not None else ()
        for sender in senders:
            for row in (await sender.getStats()).values():
                if row.type == "remote-inbound-rtp" and row.roundTripTime is not None:
                    return LineReport(
                        arrival_ns=time.monotonic_ns(),
                        round_trip_ms=row.roundTripTime * 1000,
                        sent_lost=max(0, int(row.packetsLost)),
                        sent_jitter_ms=row.jitter * 1000 / opus.CLOCK_HZ,
                    )
        return None

    def _on_packet(self, packet: RtpPacket) -> None:
        if packet.payload_type != self._payload_type:
            return
        with self._inbox.ours("on a packet"):
            for ordered in self._stream.add(packet):
                self._hear(ordered.packet, ordered.media_ns, ordered.lost_before)

    def _hear(self, packet: RtpPacket, media_ns: int, lost_before: int) -> None:
        self._lost += lost_before
        if self._decoder is None or not packet.payload:
            return
        pcm = self._decoder.decode(packet.payload)
        if pcm is None:
            self._lost += 1
            if self._decoder.hopeless:
                self._inbox.end(f"the agent sent {opus.MAX_GARBAGE} packets in a row that are no Opus", "garbage")
            return
        if self._inbox.takes(len(pcm)):
            self._inbox.put(AudioChunk(packet.arrival_ns, pcm, opus.CLOCK_HZ, MediaStamp(media_ns, self._lost)))
        self._lost = 0

    def _on_message(self, message: str | bytes) -> None:
        arrival_ns = time.monotonic_ns()
        if not self._inbox.takes(len(message)):
            return
        self._inbox.count_text(len(message))
        with self._inbox.ours("on a message"):
            try:
                self._take(parse_object(message), arrival_ns)
            except Garbage as error:
                self._inbox.refuse(error)
            except ConnectionFailed as error:
                self._inbox.end(str(error), error.kind)
        self._inbox.changed.set()

    def _take(self, data: Mapping[str, Any], arrival_ns: int) -> None:
        if data.get("type") == "signalling":
            if isinstance(inner := data.get("message"), dict) and inner.get("type") == "peerLeft":
                self._on_gone()
            return
        received = self._session.receive(data, arrival_ns)
        for event in received.events:
            self._inbox.put(event)
        for reply in received.replies:
            self._say(reply)

    def _say(self, text: Outgoing) -> None:
        if self._channel is not None and self._channel.readyState == "open":
            self._channel.send(text)

    def _on_state(self) -> None:
        state = self._peer.connectionState if self._peer is not None else "closed"
        if state == "failed":
            why = "sound finds no way between caller and agent (ICE failed): are UDP ports open on both sides? A TURN server"
            self._inbox.end(f"{why} among ice_servers helps across firewalls", "no_media")
        elif state == "closed":
            self._on_gone()
        self._inbox.changed.set()

    def _on_gone(self) -> None:
        if self._inbox.heard_audio:
            self._inbox.end(None, None)
        else:
            self._inbox.end("the agent hung up before it said anything", "closed_early")

    async def _abandon(self, error: ConnectionFailed) -> None:
        self._inbox.end(str(error), error.kind)
        await self.close()
        raise ConnectionFailed(f"{place_of(self._url)}: {error}", error.kind, error.fault)


OfferUrl = Annotated[WebAddress, StringConstraints(pattern=r"^https?://\S+$")]


class WebRtcProfile(KeyedBot):
    """A bot that takes SmallWebRTC offers over HTTP."""

    kind: Literal["webrtc"]
    url: OfferUrl | None = None
    """Address for offers; pipecat's runner takes them at /api/offer."""
    rtvi: bool = True
    """True if it answers RTVI's `client-ready` on the data channel; otherwise audio starts as soon as the call is up."""
    accepts_history: bool = False
    ice_servers: tuple[Annotated[str, StringConstraints(pattern=r"^(stun|turns?):\S+$")], ...] = Field(default=())
    """STUN and TURN servers, for agents on other networks."""

    newer: ClassVar[frozenset[str]] = frozenset(("headers",))

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "input_rate_hz": opus.CLOCK_HZ}


PROFILE: Final = WebRtcProfile
ABOUT: Final = About(
    comment=(
        "# A bot that takes SmallWebRTC offers, called as a browser calls it (needs the extra 'webrtc'). It begins every",
        "# call knowing nothing, so run it with --mode replay.",
    ),
    url="http://localhost:{port}/api/offer",
    command="python bot.py --transport webrtc --port {port}",
    ready=UVICORN,
    settings=(
        "rtvi = true                # false for a bot without RTVI on the data channel",
        '# ice_servers = ["stun:stun.example.org:3478"]   # for a bot on another network',
    ),
    route="pipecat's runner takes offers at /api/offer",
    brings_ttft=f"{METRICS}, and RTVI switched on",
    brings_words="a recogniser that pushes transcriptions, and RTVI switched on",
    brings_history='kind = "pipecat-eval" with the route /ws, or accepts_history = true once it takes one (docs/agents.md)',
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call over WebRTC; options: `accepts_history`, `rtvi`, `ice_servers`, and every wire's."""
    return WebRtcConnection(url, options)
