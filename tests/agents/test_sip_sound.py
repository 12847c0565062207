"""The sound of a telephone call, packet by packet between real sockets: what is heard, what is not, and what is sent."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator

import numpy as np
import pytest
from aiortc import rtp
from aiosipua import parse_sdp

from harness.agents.connection import AudioChunk, LineReport
from harness.agents.connections.inbox import Inbox, Limits
from harness.agents.connections.rtp_packet import packed
from harness.agents.connections.sip import TELEPHONE
from harness.agents.connections.sip_codecs import CODECS, COMFORT_NOISE, KEYS, Agreed, agreed
from harness.agents.connections.sip_sound import KEPT, MOST_FOREIGN, CallSound, FarEnd
from harness.agents.connections.udp_port import way_to
from harness.audio.pcm import Law, encode

PCMU, PCMA, G722 = 0, 8, 9
FRAME = 160


class Far:
    """The far end of a call's sound."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(5)
        self.inbox = Inbox(Limits())
        self.sound: CallSound
        self._sequence = 0

    @property
    def agreed(self) -> Agreed:
        return Agreed(CODECS["pcmu"], {PCMU: CODECS["pcmu"]}, PCMU, KEYS, ("127.0.0.1", self.socket.getsockname()[1]))

    def answer(self, formats: str, *lines: str) -> Agreed:
        """The agreement on a description of these formats, by a caller who takes the telephone's codecs."""
        here, port = self.socket.getsockname()
        described = ["v=0", f"o=- 1 1 IN IP4 {here}", "s=-", f"c=IN IP4 {here}", "t=0 0", f"m=audio {port} RTP/AVP {formats}"]
        return agreed(parse_sdp("\r\n".join((*described, *lines, ""))), TELEPHONE)

    async def say(self, level: int, packets: int = 1, kind: int = PCMU, law: Law = "ulaw") -> None:
        """Send packets of a tone, and wait until they are read."""
        tone = (level * np.sin(2 * np.pi * 400 * np.arange(FRAME) / 8_000)).astype(np.int16)
        for _ in range(packets):
            self.socket.sendto(
                packed(kind, self._sequence, self._sequence * FRAME, 7, encode(tone, law)), ("127.0.0.1", self.sound.port)
            )
            self._sequence += 1
        async with asyncio.timeout(5):
            while self.inbox.ended is None and self.sound.packets + self.sound.early_packets < self._sequence:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def heard(self) -> list[int]:
        """The peak of each packet that became sound, once the call is over."""
        self.inbox.end(None, None)
        events = [event async for event in self.inbox.events()]
        return [int(np.abs(np.frombuffer(e.pcm, "<i2").astype(int)).max()) for e in events if isinstance(e, AudioChunk)]


@pytest.fixture
async def far() -> AsyncIterator[Far]:
    made = Far()
    made.sound = await CallSound.open("127.0.0.1", made.inbox, 8_000)
    yield made
    made.sound.close()
    made.socket.close()


async def test_sound_that_overtakes_the_answer_is_heard(far: Far) -> None:
    await far.say(4_000, 3)
    far.sound.begin(far.agreed, False, "127.0.0.1")
    await far.say(1_000, 2)
    assert far.sound.early_packets == 0
    assert [peak > 2_000 for peak in await far.heard()] == [True] * 3 + [False] * 2


async def test_of_a_tone_that_nobody_announced_the_last_half_second_is_all_that_is_heard(far: Far) -> None:
    await far.say(4_000, KEPT + 15)
    assert far.sound.early_packets == KEPT + 15
    far.sound.begin(far.agreed, False, "127.0.0.1")
    assert far.sound.early_packets == 15
    assert len(await far.heard()) == KEPT


async def test_sound_that_was_announced_before_the_answer_is_counted_and_dropped(far: Far) -> None:
    await far.say(4_000, 3)
    far.sound.begin(far.agreed, True, "127.0.0.1")
    await far.say(1_000, 2)
    assert (far.sound.early_packets, far.sound.packets) == (3, 2)
    assert len(await far.heard()) == 2


@pytest.mark.parametrize(
    ("kind", "packets"), [(PCMA, 5), (G722, 5), (COMFORT_NOISE, MOST_FOREIGN + 10), (KEYS, MOST_FOREIGN + 10)]
)
async def test_packets_of_another_kind_are_no_sound_and_no_loss(far: Far, kind: int, packets: int) -> None:
    far.sound.begin(far.agreed, False, "127.0.0.1")
    await far.say(1_000)
    await far.say(4_000, packets, kind)
    await far.say(1_000)
    assert far.inbox.ended is None
    far.inbox.end(None, None)
    chunks = [event async for event in far.inbox.events() if isinstance(event, AudioChunk)]
    assert [chunk.media.lost_before for chunk in chunks if chunk.media is not None] == [0, 0]
    # Where they are on the agent's clock is not moved by them.
    first, second = (chunk.media.at_ns for chunk in chunks if chunk.media is not None)
    assert second - first == (packets + 1) * 20_000_000


async def test_a_second_of_a_codec_that_was_not_agreed_ends_the_call_and_less_does_not(far: Far) -> None:
    far.sound.begin(far.agreed, False, "127.0.0.1")
    for _ in range(2):
        await far.say(4_000, MOST_FOREIGN - 1, G722)
        await far.say(1_000)
    assert far.inbox.ended is None
    await far.say(4_000, MOST_FOREIGN, G722)
    assert far.inbox.ended is not None
    assert far.inbox.ended.kind == "garbage"
    assert "payload type 9" in str(far.inbox.ended.error)


@pytest.mark.parametrize(
    ("formats", "lines", "alaw"),
    [
        ("0 8", (), PCMA),
        ("8 0 101", ("a=rtpmap:0 PCMU/8000", "a=rtpmap:8 PCMA/8000", "a=rtpmap:101 telephone-event/8000"), PCMA),
        ("0 96", ("a=rtpmap:0 PCMU/8000", "a=rtpmap:96 PCMA/8000"), 96),
    ],
)
async def test_a_side_that_agreed_to_both_laws_may_send_either(
    far: Far, formats: str, lines: tuple[str, ...], alaw: int
) -> None:
    found = far.answer(formats, *lines)
    far.sound.begin(found, False, "127.0.0.1")
    await far.say(8_000, 60, PCMU)
    await far.say(8_000, 60, alaw, "alaw")
    await far.say(8_000, 1, PCMU)
    peaks = await far.heard()
    assert far.inbox.ended is not None
    assert far.inbox.ended.kind is None
    assert len(peaks) == 121
    assert max(peaks) < 1.1 * min(peaks)


async def test_a_law_that_was_not_agreed_is_none(far: Far) -> None:
    far.sound.begin(far.answer("0"), False, "127.0.0.1")
    await far.say(4_000, MOST_FOREIGN, PCMA, "alaw")
    assert far.inbox.ended is not None
    assert far.inbox.ended.kind == "garbage"


async def test_the_noise_of_a_room_behind_the_last_word_is_not_cut_off(far: Far) -> None:
    far.sound.begin(far.agreed, False, "127.0.0.1")
    await far.say(8_000, 3)
    assert far.sound.cut_off(150)
    await asyncio.sleep(0.2)
    await far.say(200)
    assert not far.sound.cut_off(150)
    await far.say(2_000)
    assert far.sound.cut_off(150)


async def test_the_caller_is_sent_as_one_unbroken_stream(far: Far) -> None:
    far.sound.begin(far.agreed, False, "127.0.0.1")
    for _ in range(4):
        far.sound.say(bytes(2 * FRAME))
    heads = []
    for _ in range(4):
        data = await asyncio.to_thread(far.socket.recv, 2_000)
        assert len(data) == 12 + FRAME
        heads.append(struct.unpack_from("!BBHII", data))
    assert [(second & 0x80 != 0, second & 0x7F) for _, second, *_ in heads] == [(True, PCMU)] + [(False, PCMU)] * 3
    assert [head[2] - heads[0][2] for head in heads] == [0, 1, 2, 3]
    assert [head[3] - heads[0][3] for head in heads] == [0, 160, 320, 480]
    assert len({head[4] for head in heads}) == 1


@pytest.mark.parametrize(
    ("said", "seen", "way"),
    [
        ("10.0.0.5", "1.1.1.5", "seen"),  # behind NAT
        ("1.1.1.5", "1.1.1.9", "said"),
        ("1.1.1.5", "10.0.0.5", "said"),
        ("10.0.0.5", "10.0.0.9", "said"),
        ("sound.example.org", "1.1.1.9", "seen"),
    ],
)
def test_the_way_to_the_far_end_leads_round_nat(said: str, seen: str, way: str) -> None:
    assert way_to((said, 1), (seen, 2)) == ((said, 1) if way == "said" else (seen, 2))


def stranger(host: str) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((host, 0))
    return made


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
async def test_sound_of_a_stranger_is_not_taken(far: Far, host: str) -> None:
    far.sound.begin(far.agreed, False, "127.0.0.1")
    await far.say(1_000, 2)
    with stranger(host) as other:
        for k in range(40):
            other.sendto(packed(PCMU, 1_000 + k, 0, 9, bytes(FRAME)), ("127.0.0.1", far.sound.port))
        async with asyncio.timeout(5):
            while far.sound.strangers < 40:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
    await far.say(1_000, 2)
    assert far.sound.packets == 4
    assert len(await far.heard()) == 4


def test_an_agent_that_sends_from_another_port_is_followed_until_the_described_one_speaks() -> None:
    end = FarEnd(("192.0.2.7", 4_000), "192.0.2.7")
    assert end.takes(("192.0.2.7", 5_000))
    assert not end.takes(("192.0.2.7", 5_002))
    assert not end.takes(("198.51.100.1", 4_000))
    assert end.takes(("192.0.2.7", 4_000))
    assert not end.takes(("192.0.2.7", 5_000))
    assert end.strangers == 3
    assert end.takes_report(("192.0.2.7", 4_001))
    assert not end.takes_report(("198.51.100.1", 4_001))


def test_an_agent_behind_nat_is_followed_at_the_first_public_address() -> None:
    end = FarEnd(("10.0.0.5", 4_000), "8.8.8.8")
    assert not end.takes(("10.0.0.9", 4_000))
    assert end.takes(("8.8.4.4", 61_000))
    assert end.to == ("8.8.4.4", 61_000)
    assert not end.takes(("8.8.8.8", 61_000))


def test_a_call_that_is_moved_follows_its_new_address_and_one_on_hold_its_old() -> None:
    end = FarEnd(("192.0.2.7", 4_000), "192.0.2.1")
    assert end.takes(("192.0.2.7", 4_000))
    end.move(("0.0.0.0", 4_000))
    assert end.takes(("192.0.2.7", 4_000))
    end.move(("192.0.2.8", 6_000))
    assert not end.takes(("192.0.2.7", 4_000))
    assert end.takes(("192.0.2.8", 6_000))
    assert end.takes_report(("::ffff:192.0.2.8", 6_001))


async def test_a_report_on_the_caller_s_packets_is_recorded_and_one_from_elsewhere_is_not(far: Far) -> None:
    far.sound.begin(far.agreed, False, "127.0.0.1")
    report = rtp.RtcpRrPacket(1, [rtp.RtcpReceiverInfo(far.sound._source, 0, 3, 0, 80, 0, 0)])
    for sender in ("127.0.0.1", "192.0.2.9"):
        far.sound._on_report(bytes(report), (sender, 4_000), 5)
    far.inbox.end(None, None)
    reported = [event async for event in far.inbox.events() if isinstance(event, LineReport)]
    assert reported == [LineReport(5, None, 3, 10.0)]
