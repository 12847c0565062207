"""Known agents over WebRTC: an offer over HTTP, Opus over RTP by aiortc, and RTVI's readiness on the data channel.

aiortc blurs the truth at both ends: what it decodes comes four packets late and without a time, and what it encodes is sent
after a detour through a thread. So the caller's packets are taken as they arrive, before its jitter buffer, and a message is
encoded here, in the same step of the loop in which aiortc hands it to the socket. Opus itself delays the sound of either side:
an agent's is heard so much later than its packet comes, and a caller's was said so much earlier.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from email import message_from_string
from fractions import Fraction
from typing import Any, Final

from aiortc import RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.codecs.opus import OpusDecoder, OpusEncoder
from aiortc.jitterbuffer import JitterFrame
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from av import AudioFrame, Packet

from harness.clock import now_ns
from harness.known.conduct import Conduct
from harness.known.server import CALL_HEADER, Calls, Ready
from harness.known.wires.sockets import rtvi_reply
from harness.timeline import NS_PER_MS

HZ: Final = 48_000
OPUS_NS: Final = round(6.5 * NS_PER_MS)
"""The encoder looks 312 samples ahead (libopus, in all applications but those of low delay)."""
RINGS_NS: Final = 8 * NS_PER_MS
"""After sound that ends at once, Opus is 40 dB lower within 6.3 ms and 20 dB lower within 0.3 (12 voices, in any phase of its
frame); sentences that fade take 20 ms and more from the one to the other."""
Answer = Callable[[str, Mapping[str, str], str | None], Awaitable[Mapping[str, str]]]
"""Called with the path of an offer, the offer, and the name of its call, if it has one; returns the answer."""


class Mouth(MediaStreamTrack):
    """All that the agent says. Its call begins as the first sound is asked for, when the line is up."""

    kind = "audio"

    def __init__(self, begin: Callable[[], Conduct]) -> None:
        super().__init__()
        self._begin, self._encoder, self._at = begin, OpusEncoder(), 0
        self.conduct: Conduct | None = None

    async def recv(self) -> Any:
        """The next packet, for aiortc, which sends it at once."""
        if self.conduct is None:
            self.conduct = self._begin()
            self._messages = self.conduct.messages()
        message = await anext(self._messages, None)
        if message is None:
            raise MediaStreamError
        frame = AudioFrame.from_ndarray(message.samples[None, :], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = HZ, self._at, Fraction(1, HZ)
        (payload,), _ = self._encoder.encode(frame)
        packet = Packet(payload)
        packet.pts, packet.time_base = self._at, frame.time_base
        self._at += len(message.samples)
        self.conduct.sent(message, now_ns() + OPUS_NS)
        return packet


def listen(receiver: Any, mouth: Mouth) -> None:
    """Give the caller's packets to the agent's ear. The two names of aiortc are not public; it is pinned to a minor version."""
    decoder: Any = OpusDecoder()
    received = receiver._handle_rtp_packet

    async def take(packet: Any, arrival_time_ms: int) -> None:
        arrived_ns = now_ns()
        if mouth.conduct is not None and packet.payload:
            for frame in decoder.decode(JitterFrame(data=packet.payload, timestamp=packet.timestamp)):
                mouth.conduct.hear(frame.to_ndarray().reshape(-1, 2)[:, 0], arrived_ns - OPUS_NS)
        await received(packet, arrival_time_ms=arrival_time_ms)

    receiver._handle_rtp_packet = take
    receiver._RTCRtpReceiver__jitter_buffer.add = lambda _: (False, None)  # or all would be decoded twice


async def picked_up(calls: Calls, address: str, offer: Mapping[str, str], call: str | None) -> RTCPeerConnection:
    """The agent's end of the call that an offer begins, with its answer in place; it closes by itself as the call ends."""
    peer = RTCPeerConnection()
    mouth = Mouth(lambda: calls.begin(address, hears_hz=HZ, says_hz=HZ, streams=True, rings_ns=RINGS_NS, call=call))
    line = peer.addTransceiver(mouth, direction="sendrecv")
    line.setCodecPreferences([c for c in RTCRtpSender.getCapabilities("audio").codecs if c.mimeType == "audio/opus"])
    listen(line.receiver, mouth)

    def on_channel(channel: Any) -> None:
        def on_message(text: str) -> None:
            if text.startswith("{") and (words := rtvi_reply(text)):
                channel.send(words)

        channel.on("message", on_message)

    async def ended() -> None:
        if mouth.conduct is not None:
            calls.end(mouth.conduct)
        await peer.close()

    peer.on("datachannel", on_channel)
    mouth.on("ended", ended)
    peer.on("connectionstatechange", lambda: mouth.stop() if peer.connectionState in ("failed", "closed") else None)
    await peer.setRemoteDescription(RTCSessionDescription(offer["sdp"], offer["type"]))
    await peer.setLocalDescription(await peer.createAnswer())
    return peer


async def serve(_: str, calls: Calls, host: str, port: int, ready: Ready) -> None:
    """Take offers until cancelled."""
    peers = list[RTCPeerConnection]()

    async def answer(path: str, offer: Mapping[str, str], call: str | None) -> Mapping[str, str]:
        peers[:] = [each for each in peers if each.connectionState != "closed"]
        peers.append(await picked_up(calls, path, offer, call))
        return {"sdp": peers[-1].localDescription.sdp, "type": "answer"}

    try:
        await serve_offers(answer, host, port, ready)
    finally:
        # A thread of aiortc's would keep the process from ending.
        await asyncio.gather(*(each.close() for each in peers))


async def serve_offers(answer: Answer, host: str, port: int, ready: Ready) -> None:
    """Serve one kind of HTTP request until cancelled: an offer (POST, JSON), whose answer is JSON too."""

    async def request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            first, _, lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").partition("\r\n")
            headers, path = message_from_string(lines), first.split()[1]
            body = await reader.readexactly(int(headers.get("Content-Length", 0)))
            status, found = "200 OK", dict[str, str]()
            try:
                found |= await answer(path, json.loads(body), headers[CALL_HEADER])
            except Exception:  # of any kind: aiortc reads an offer without looking
                status, found = "400 Bad Request", {"error": 'POST an offer of sound in Opus: {"sdp": "…", "type": "offer"}'}
            data = json.dumps(found).encode()
            about = f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close"
            writer.write(f"HTTP/1.1 {status}\r\n{about}\r\n\r\n".encode() + data)
            await writer.drain()

    async with await asyncio.start_server(request, host, port) as server:
        ready(f"http://{host}:{server.sockets[0].getsockname()[1]}/api/offer")
        await server.serve_forever()
