"""What a telephone call is made of: packets from any bytes, keys, reports, codecs and the names of refusals."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agents.connections import sip_causes
from harness.agents.connections.rtp_packet import Keypad, packed, report_on, sender_report, unpacked
from harness.agents.connections.rtp_stream import RtpPacket
from harness.agents.connections.sip_codecs import CODECS, CodecName, caller_rate_hz, voice_of


@given(st.integers(0, 63), st.integers(0, 2**20), st.integers(0, 2**34), st.integers(0, 2**32 - 1), st.binary(max_size=400))
def test_a_packet_comes_back_as_it_was_sent(kind: int, sequence: int, timestamp: int, source: int, payload: bytes) -> None:
    found = unpacked(packed(kind, sequence, timestamp, source, payload), 5)
    assert found == RtpPacket(sequence % 2**16, timestamp % 2**32, 5, payload, source, kind)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_packet_or_none(data: bytes) -> None:
    found = unpacked(data, 0)
    assert found is None or len(found.payload) <= len(data)
    report_on(data, 7, 0, 0, 8_000)
    for mark in (*(keypad := Keypad()).take(RtpPacket(0, 0, 0, data)), *keypad.flush()):
        assert mark.name == "sip.dtmf"


def test_extensions_and_padding_are_no_sound() -> None:
    plain = packed(0, 1, 2, 3, b"")
    with_extension = bytes([plain[0] | 0x10]) + plain[1:] + b"\xbe\xde\0\x01\x10\xff\0\0" + b"sound"
    assert (found := unpacked(with_extension, 0)) is not None
    assert found.payload == b"sound"
    padded = bytes([plain[0] | 0x20]) + plain[1:] + b"sound\0\0\x03"
    assert (found := unpacked(padded, 0)) is not None
    assert found.payload == b"sound"


def test_the_round_trip_is_what_the_stamp_did_not_wait_at_the_far_end() -> None:
    sent_ns, source = 1_700_000_000_250_000_000, 77
    report = sender_report(source, sent_ns, 160, 1, 160)
    assert len(report) % 4 == 0
    seconds, fraction = (int.from_bytes(report[at : at + 4], "big") for at in (8, 12))
    stamp = ((seconds & 0xFFFF) << 16) | fraction >> 16
    waited = round(0.100 * 65_536)
    block = b"".join(n.to_bytes(4, "big") for n in (source, 3 | 10 << 24, 0, 80, stamp, waited))
    answer = bytes((0x81, 201, 0, 7)) + bytes(4) + block
    found = report_on(answer, source, sent_ns + 130_000_000, 9, 8_000)
    assert found is not None
    assert found.round_trip_ms == pytest.approx(30, abs=0.1)
    assert (found.sent_lost, found.sent_jitter_ms, found.arrival_ns) == (3, 10.0, 9)
    assert report_on(answer, source + 1, sent_ns, 9, 8_000) is None


@pytest.mark.parametrize("codecs", [("pcmu",), ("pcma",), ("opus",), ("opus", "pcmu")])
def test_a_codec_gives_back_what_was_said(codecs: tuple[CodecName, ...]) -> None:
    rate_hz = caller_rate_hz(codecs)
    codec = CODECS[codecs[-1]]
    said = (8_000 * np.sin(2 * np.pi * 300 * np.arange(rate_hz) / rate_hz)).astype("<i2")
    mouth, ear = voice_of(codec, rate_hz), voice_of(codec, rate_hz)
    frames = said.reshape(-1, rate_hz // 50)
    back = [ear.decode(mouth.encode(frame.tobytes())) for frame in frames]
    assert {len(part or b"") for part in back} == {codec.clock_hz // 25}
    heard = np.frombuffer(b"".join(part or b"" for part in back), "<i2")
    spectrum = np.abs(np.fft.rfft(heard.astype(float)))
    assert int(np.argmax(spectrum)) == 300
    assert np.abs(heard.astype(int)).max() == pytest.approx(8_000, rel=0.2)


@given(st.integers(300, 699), st.text(max_size=200), st.booleans())
def test_every_refusal_is_one_line_with_a_kind(status: int, phrase: str, rang: bool) -> None:
    error = sip_causes.refusal(status, phrase, rang)
    assert len(str(error).splitlines()) == 1
    assert str(status) in str(error)
    assert (error.kind == "rang_out") == (rang and status in (408, 480, 487))


@pytest.mark.parametrize(
    ("kind", "statuses"),
    [
        ("busy", (486, 600)),
        ("declined", (603, 607, 608)),
        ("unauthorised", (401, 403, 407)),
        ("not_found", (301, 302, 404, 410, 484, 485, 604)),
        ("codec", (415, 488, 606)),
        ("open_timeout", (408,)),
        ("refused", (400, 480, 487, 500, 503, 504)),
    ],
)
def test_a_refusal_that_did_not_ring_has_the_kind_of_its_status(kind: str, statuses: Sequence[int]) -> None:
    assert [sip_causes.refusal(status, "", False).kind for status in statuses] == [kind] * len(statuses)


def test_a_call_without_an_answer_says_how_far_it_came() -> None:
    rang = sip_causes.no_answer(3, rang=True, trying=True)
    taken = sip_causes.no_answer(3, rang=False, trying=True)
    nothing = sip_causes.no_answer(3, rang=False, trying=False)
    assert [error.kind for error in (rang, taken, nothing)] == ["rang_out", "open_timeout", "open_timeout"]
    assert "neither rang nor was answered within 3 s" in str(taken)
    assert "not one reply within 3 s" in str(nothing)


def test_a_cause_is_said_in_its_own_words() -> None:
    assert sip_causes.cause('Q.850;cause=16;text="Normal call clearing"') == "Q.850 16 Normal call clearing"
    assert sip_causes.cause("SIP ;cause=200") == "SIP 200"
    assert sip_causes.cause("\x1b[31m;;;") == ""
    assert sip_causes.cause(None) == ""
