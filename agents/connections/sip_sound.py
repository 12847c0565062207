"""The sound of a telephone call: the caller's frames as packets, the far end's packets stamped, in order and decoded.

Packets are taken as they arrive, without a jitter buffer, because a measurement needs the time at which each came; what a
listener would have heard of them is worked out later (`harness.recording.playout`). Sound before the answer is a tone or an
announcement of the network (early media) and no part of the conversation: it is counted and dropped.

A port for sound is open to every program that can reach it, so packets count only if they come from the machine that was
dialled: from the address in its description, or from that of its signalling. Of its ports the first to send is followed, for
NAT and agents without symmetric RTP use another than they describe, until a packet comes from the described one, which is
final. Where the described address is private and the signalling's is not, the agent is behind NAT and the first public sender
is followed. Reports (RTCP) have ports of their own, so for them the machine alone counts, and they name this call's random
source.
"""

import ipaddress
import secrets
import time
from collections import deque
from typing import Final, Self

import numpy as np

from harness.agents.connection import AudioChunk, Mark, MediaStamp
from harness.agents.connections.inbox import Inbox
from harness.agents.connections.rtp_packet import Keypad, packed, report_on, sender_report, unpacked
from harness.agents.connections.rtp_stream import NS_PER_S, RtpPacket, RtpStream
from harness.agents.connections.sip_codecs import COMFORT_NOISE, FRAME_MS, Agreed, voice_of
from harness.agents.connections.udp_port import Address, UdpPort, bound_pair, way_to
from harness.audio.level import AUDIBLE_RMS

_NOWHERE: Final = ("0.0.0.0", "::")
"""The address of a call on hold, in older descriptions."""


class FarEnd:
    """The far end of one call. `said`: the address in its description; `signalled_from`: the IP address of its signalling."""

    def __init__(self, said: Address, signalled_from: str) -> None:
        self._signalled_from = _plain(signalled_from)
        self._followed: Address | None = None
        self._final = False
        self.strangers = 0
        """Packets that came from elsewhere, and were not taken."""
        self.move(said)

    def move(self, said: Address) -> None:
        """It has described another address; nobody is followed yet, unless it is the one of a call on hold."""
        self._said = said
        self.to = said
        if said[0] not in _NOWHERE and self._followed is not None and _same(self._followed) != _same(said):
            self._followed, self._final = None, False

    def takes(self, sender: Address) -> bool:
        """True if a packet of sound from this sender belongs to the call; others are counted."""
        exact = _same(sender) == _same(self._said)
        if exact and not self._final:
            self._followed, self._final = sender, True
        if self._followed is None and self._is_its_machine(sender):
            self._followed = sender
        if self._followed is None or _same(sender) != _same(self._followed):
            self.strangers += 1
            return False
        self.to = way_to(self.to, sender)
        return True

    def takes_report(self, sender: Address) -> bool:
        """True if a report from this sender may belong to the call."""
        followed = self._followed is not None and _plain(sender[0]) == _plain(self._followed[0])
        return followed or self._is_its_machine(sender)

    def _is_its_machine(self, sender: Address) -> bool:
        host = _plain(sender[0])
        hidden = _is_private(self._said[0]) and not _is_private(self._signalled_from)
        return host in (_plain(self._said[0]), self._signalled_from) or (hidden and not _is_private(host))


def _same(address: Address) -> Address:
    return _plain(address[0]), address[1]


def _plain(host: str) -> str:
    """An IP address in one spelling, without the zone of a link."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found)


def _is_private(host: str) -> bool:
    try:
        return ipaddress.ip_address(_plain(host)).is_private
    except ValueError:
        return False


MOST_FOREIGN: Final = 50
"""Most packets in a row of a codec that was not agreed: a second of them is not an accident."""
SOFT_DB: Final = 20.0
"""Sound so far under the loudest of the call is no speech: the noise of a room or a line."""
KEPT: Final = 25
"""Packets of the last half second before the answer, which overtake it where nothing was announced to come before."""
REFUSED_S: Final = 1.0
"""An agent closes its port a moment before its goodbye, and may open it a moment after its answer."""


class CallSound:
    """Both directions of one call's sound."""

    def __init__(self, inbox: Inbox, rate_hz: int) -> None:
        self._inbox = inbox
        self._rate_hz = rate_hz
        self._sound: UdpPort | None = None
        self._reports: UdpPort | None = None
        self._agreed: Agreed | None = None
        self._far_end: FarEnd | None = None
        self._before: deque[tuple[RtpPacket, Address]] = deque(maxlen=KEPT)
        self._keypad = Keypad()
        self._lost = 0
        self._foreign = 0
        self._loudest = 0.0
        self._audible_until_ns = 0
        self._refused_since_ns: int | None = None
        self._source = secrets.randbits(32)
        self._sequence = secrets.randbits(15)
        self._timestamp = secrets.randbits(31)
        self._sent = 0
        self._sent_octets = 0
        self.early_packets = 0
        """Packets that came before the answer."""
        self.packets = 0
        """Packets that came after it, of any kind."""

    @classmethod
    async def open(cls, host: str, inbox: Inbox, rate_hz: int) -> Self:
        """The sound of a call on two free ports. `rate_hz`: of the caller's frames."""
        made = cls(inbox, rate_hz)
        first, second = bound_pair(host)
        made._sound = await UdpPort.open(first, made._on_sound, made._on_refused)
        made._reports = await UdpPort.open(second, made._on_report)
        return made

    @property
    def port(self) -> int:
        """The port for sound; the one above it is for reports."""
        assert self._sound is not None
        return self._sound.address[1]

    @property
    def strangers(self) -> int:
        """Packets that came from others than the far end, and were not taken."""
        return self._far_end.strangers if self._far_end is not None else 0

    def begin(self, agreed: Agreed, early_media: bool, signalled_from: str) -> None:
        """The call is answered. `early_media`: sound was announced to come before; `signalled_from`: the IP address of the
        answer's sender."""
        self._agreed, self._far_end = agreed, FarEnd(agreed.address, signalled_from)
        self._voices = {codec.name: voice_of(codec, self._rate_hz) for codec in (*agreed.payload_types.values(), agreed.codec)}
        self._stream = RtpStream(agreed.codec.clock_hz)
        waiting = () if early_media else tuple(self._before)
        self.early_packets -= len(waiting)
        self._before.clear()
        for packet, sender in waiting:
            if self._far_end.takes(sender):
                self._take(packet)

    def redirect(self, address: Address) -> None:
        """Send to another address from now on."""
        if self._far_end is not None:
            self._far_end.move(address)

    def say(self, frame: bytes) -> None:
        """Send 20 ms of the caller."""
        if self._agreed is None or self._far_end is None or self._sound is None:
            return
        payload = self._voices[self._agreed.codec.name].encode(frame)
        kind = self._agreed.sent_as
        self._sound.send(
            packed(kind, self._sequence, self._timestamp, self._source, payload, self._sent == 0), self._far_end.to
        )
        self._sequence += 1
        self._timestamp += self._agreed.codec.clock_hz * FRAME_MS // 1000
        self._sent += 1
        self._sent_octets += len(payload)
        if self._refused_since_ns is not None and time.monotonic_ns() - self._refused_since_ns > REFUSED_S * NS_PER_S:
            self._inbox.end("nothing listens any more where its sound came from: it died, without hanging up", "closed_early")

    def report(self) -> None:
        """Send a report, which the far end answers with its own."""
        if self._sent and self._reports is not None and self._far_end is not None:
            sent = sender_report(self._source, time.time_ns(), self._timestamp, self._sent, self._sent_octets)
            host, port = self._far_end.to
            self._reports.send(sent, (host, port + 1))

    def cut_off(self, within_ms: float) -> bool:
        """True if the far end spoke until now, or until this long ago."""
        return time.monotonic_ns() - self._audible_until_ns < within_ms * 1e6

    def flush(self) -> None:
        """Hear all packets that wait for one before them, because no more will come."""
        if self._agreed is not None:
            for ordered in self._stream.flush():
                self._hear(ordered.packet, ordered.media_ns, ordered.lost_before)
            self._note(self._keypad.flush())

    def close(self) -> None:
        """Close both ports. Safe to call twice."""
        for port in (self._sound, self._reports):
            if port is not None:
                port.close()

    def _on_sound(self, data: bytes, sender: Address, arrival_ns: int) -> None:
        with self._inbox.ours("on a packet"):
            packet = unpacked(data, arrival_ns)
            if packet is None or self._inbox.ended is not None:
                return
            if self._far_end is None:
                self.early_packets += 1
                self._before.append((packet, sender))
            elif self._far_end.takes(sender):
                self._take(packet)

    def _take(self, packet: RtpPacket) -> None:
        self.packets += 1
        self._refused_since_ns = None
        for ordered in self._stream.add(packet):
            self._hear(ordered.packet, ordered.media_ns, ordered.lost_before)

    def _hear(self, packet: RtpPacket, media_ns: int, lost_before: int) -> None:
        assert self._agreed is not None
        self._lost += lost_before
        if packet.payload_type == self._agreed.keys:
            if self._inbox.takes(len(packet.payload)):
                self._note(self._keypad.take(packet))
            return
        if not packet.payload or packet.payload_type == COMFORT_NOISE:
            return
        codec = self._agreed.payload_types.get(packet.payload_type)
        if codec is None:
            self._foreign += 1
            if self._foreign >= MOST_FOREIGN:
                what = f"the agent sends a codec (payload type {packet.payload_type}) that was not agreed"
                self._inbox.end(what, "garbage")
            return
        voice = self._voices[codec.name]
        pcm = voice.decode(packet.payload)
        if pcm is None:
            self._lost += 1
            if voice.hopeless:
                self._inbox.end("the agent sends packets that are not of the codec that it agreed to", "garbage")
            return
        self._foreign = 0
        rate_hz = self._agreed.codec.clock_hz
        if self._inbox.takes(len(pcm)):
            self._inbox.put(AudioChunk(packet.arrival_ns, pcm, rate_hz, MediaStamp(media_ns, self._lost)))
            self._listen(packet.arrival_ns, pcm, rate_hz)
        self._lost = 0

    def _listen(self, arrival_ns: int, pcm: bytes, rate_hz: int) -> None:
        samples = np.frombuffer(pcm, "<i2").astype(np.float64)
        level = float(np.sqrt(np.mean(samples**2))) if len(samples) else 0.0
        self._loudest = max(self._loudest, level)
        if level > max(AUDIBLE_RMS, self._loudest * 10 ** (-SOFT_DB / 20)):
            self._audible_until_ns = arrival_ns + round(len(samples) * NS_PER_S / rate_hz)

    def _note(self, pressed: list[Mark]) -> None:
        for mark in pressed:
            self._inbox.put(mark)

    def _on_report(self, data: bytes, sender: Address, arrival_ns: int) -> None:
        if self._agreed is None or self._far_end is None or not self._far_end.takes_report(sender):
            return
        if not self._inbox.takes(len(data)):
            return
        with self._inbox.ours("on a report"):
            clock_hz = self._agreed.codec.clock_hz
            report = report_on(data, self._source, time.time_ns(), arrival_ns, clock_hz)
            if report is not None:
                self._inbox.put(report)

    def _on_refused(self) -> None:
        if self._refused_since_ns is None:
            self._refused_since_ns = time.monotonic_ns()
