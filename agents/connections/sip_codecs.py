"""The codecs of a telephone call, and the two descriptions (SDP) in which both sides agree on one.

G.711 is the telephone's and adds no delay; it is offered first, so that an agent is called as its own callers call it. Opus is
offered behind it, for agents that have nothing else; a profile that names it first calls in wide band where the other side has
it.

It needs no SIP library, so that a profile can be read without one.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np

from harness.agents.connection import ConnectionFailed
from harness.agents.connections import opus
from harness.agents.connections.udp_port import Address
from harness.agents.connections.wire import shown
from harness.audio.pcm import Law, decode, encode

CodecName = Literal["pcmu", "pcma", "opus"]
TELEPHONE_HZ: Final = 8_000
WIDE_HZ: Final = 16_000
"""Rate of the caller's sound where Opus comes first: that of its voices."""
FRAME_MS: Final = 20
KEYS: Final = 101
"""Payload type that is offered for keys (RFC 4733)."""
COMFORT_NOISE: Final = 13
"""Payload type of the noise that is sent once in place of silence (RFC 3389); it holds no sound."""
MOST_PORT: Final = 65_535
_TAPS: Final = 31
"""Of the filter before every second sample is dropped; its delay is half of them, 0.94 ms."""


@dataclass(frozen=True, slots=True)
class Codec:
    """One codec. `clock_hz`: of its packets' timestamps, and of the sound that it gives."""

    name: CodecName
    rtpmap: str
    payload_type: int
    """The one under which it is offered."""
    clock_hz: int


CODECS: Final = MappingProxyType[CodecName, Codec](
    {
        "pcmu": Codec("pcmu", "PCMU/8000", 0, TELEPHONE_HZ),
        "pcma": Codec("pcma", "PCMA/8000", 8, TELEPHONE_HZ),
        "opus": Codec("opus", "opus/48000/2", 111, opus.CLOCK_HZ),
    }
)


@dataclass(frozen=True, slots=True)
class Agreed:
    """The codec that both sides have, and where its packets go."""

    codec: Codec
    payload_types: Mapping[int, Codec]
    """Those under which its sound may come: a side that agrees to several codecs may send any of them, and change in the call
    (RFC 3264, 7). Codecs of another clock are left out."""
    sent_as: int
    keys: int | None
    """Payload type of keys; None if the far end sends none."""
    address: Address


def caller_rate_hz(codecs: Sequence[CodecName]) -> int:
    """The rate of the caller's sound for codecs in this order."""
    return WIDE_HZ if codecs[0] == "opus" else TELEPHONE_HZ


def description(codecs: Sequence[CodecName], host: str, port: int, number: int) -> str:
    """The description of a caller who takes these codecs at an address. `number`: of this session."""
    offered = [CODECS[name] for name in codecs]
    kind = "IP6" if ":" in host else "IP4"
    formats = " ".join(str(payload_type) for payload_type in (*(c.payload_type for c in offered), KEYS))
    lines = [
        "v=0",
        f"o=- {number} {number} IN {kind} {host}",
        "s=-",
        f"c=IN {kind} {host}",
        "t=0 0",
        f"m=audio {port} RTP/AVP {formats}",
        *(f"a=rtpmap:{codec.payload_type} {codec.rtpmap}" for codec in offered),
        f"a=rtpmap:{KEYS} telephone-event/8000",
        f"a=fmtp:{KEYS} 0-15",
        f"a=ptime:{FRAME_MS}",
        "a=sendrecv",
    ]
    return "\r\n".join((*lines, ""))


def agreed(theirs: Any, codecs: Sequence[CodecName]) -> Agreed:
    """The codec that a description of the far end (aiosipua's `SdpMessage`) shares with ours: the first of theirs.

    Raises:
        ConnectionFailed: it agrees to no sound, sends none, or has none of the codecs.
    """
    audio = theirs.audio if theirs is not None else None
    if audio is None or audio.port == 0 or theirs.rtp_address is None:
        raise ConnectionFailed("it agrees to no sound at all: is it an agent that speaks?", "codec")
    if not _can_be_sent_to(theirs.rtp_address):
        raise ConnectionFailed("it names no address for its sound: an IP address in numbers, and a port", "codec")
    if audio.direction in ("recvonly", "inactive"):
        raise ConnectionFailed(f"one-way audio: it answers that it sends no sound ({audio.direction})", "no_media")
    keys = next((c.payload_type for c in audio.codecs if c.encoding_name.lower() == "telephone-event"), None)
    for found in audio.codecs:
        name = found.encoding_name.lower()
        if name in codecs and found.clock_rate == CODECS[name].clock_hz:
            codec = CODECS[name]
            return Agreed(
                codec, _by_type(audio.codecs, codecs, codec.clock_hz, keys), found.payload_type, keys, theirs.rtp_address
            )
    theirs_are = ", ".join(sorted({c.encoding_name or str(c.payload_type) for c in audio.codecs})) or "none"
    ours = ", ".join(name.upper() for name in codecs)
    raise ConnectionFailed(f"no codec in common: this caller has {ours}, and it has {shown(theirs_are, 80)} (codecs)", "codec")


def _by_type(theirs: Sequence[Any], ours: Sequence[CodecName], clock_hz: int, keys: int | None) -> dict[int, Codec]:
    """The codecs of both sides that have one clock, by their numbers on either side; the far end's own numbers first."""
    names = {name: CODECS[name] for name in ours if CODECS[name].clock_hz == clock_hz}
    both = [
        (each, names[name]) for each in theirs if (name := each.encoding_name.lower()) in names and each.clock_rate == clock_hz
    ]
    found = {codec.payload_type: codec for _, codec in both} | {each.payload_type: codec for each, codec in both}
    return {kind: codec for kind, codec in found.items() if kind != keys}


def _can_be_sent_to(address: Address) -> bool:
    """True for an IP address and a port that leaves one for reports. A name would be looked up while the call is paced."""
    try:
        ipaddress.ip_address(address[0])
    except ValueError:
        return False
    return 0 < address[1] < MOST_PORT


def voice_of(codec: Codec, rate_hz: int) -> "opus.OpusVoice | _G711":
    """Both directions of a codec, for frames at a rate."""
    return opus.OpusVoice(rate_hz) if codec.name == "opus" else _G711("ulaw" if codec.name == "pcmu" else "alaw", rate_hz)


class _G711:
    hopeless = False
    """Any byte is a sample."""

    def __init__(self, law: Law, rate_hz: int) -> None:
        self._law: Law = law
        self._halver = _Halver() if rate_hz == WIDE_HZ else None

    def encode(self, frame: bytes) -> bytes:
        samples = np.frombuffer(frame, "<i2").astype(np.int16)
        return encode(samples if self._halver is None else self._halver.take(samples), self._law)

    def decode(self, payload: bytes) -> bytes | None:
        return decode(payload, self._law).astype("<i2").tobytes()


class _Halver:
    """Halves the rate of a stream where wide sound meets a telephone: the rate is chosen before the call, the codec in it."""

    def __init__(self) -> None:
        at = np.arange(_TAPS) - _TAPS // 2
        low = np.sinc(at / 2) * np.hamming(_TAPS)
        self._filter = low / low.sum()
        self._before = np.zeros(_TAPS - 1)

    def take(self, samples: np.ndarray[Any, np.dtype[np.int16]]) -> np.ndarray[Any, np.dtype[np.int16]]:
        """Every second sample of the filtered stream."""
        whole = np.concatenate([self._before, samples])
        self._before = whole[-(_TAPS - 1) :]
        filtered = np.convolve(whole, self._filter, "valid")[::2]
        return np.clip(np.rint(filtered), -32_768, 32_767).astype(np.int16)
