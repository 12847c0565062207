"""Packets are put in order and onto one clock, whatever the network and the counters do."""

import random

from hypothesis import given
from hypothesis import strategies as st

from harness.agents.connections.rtp_stream import HOLD_NS, JUMP_S, MOST_HELD, Ordered, RtpPacket, RtpStream
from tests.fuzz.linear import is_linear

STEP = 960
MS = 1_000_000


def packet(k: int, first: int = 0, at_ms: float | None = None, source: int = 7) -> RtpPacket:
    at_ns = round((20 * k if at_ms is None else at_ms) * MS) + MS
    return RtpPacket((first + k) % 65_536, (first * STEP + k * STEP) % (1 << 32), at_ns, b"x", source)


def through(packets: list[RtpPacket]) -> list[Ordered]:
    stream = RtpStream(48_000)
    return [o for p in packets for o in stream.add(p)] + stream.flush()


@given(st.integers(0, 65_535), st.integers(1, 60))
def test_counters_wrap_and_the_clock_goes_on(first: int, count: int) -> None:
    released = through([packet(k, first) for k in range(count)])
    assert [o.media_ns for o in released] == [20 * MS * k for k in range(count)]
    assert all(o.lost_before == 0 for o in released)


@given(st.permutations(range(4)))
def test_packets_that_overtake_each_other_are_put_in_order(order: list[int]) -> None:
    swapped = [packet(1 + k, at_ms=20 + j) for j, k in enumerate(order)]
    released = through([packet(0), *swapped, packet(5)])
    assert [o.packet.sequence for o in released] == list(range(6))
    assert all(o.lost_before == 0 for o in released)


def test_a_lost_packet_is_waited_for_and_then_counted() -> None:
    stream = RtpStream(48_000)
    assert stream.add(packet(0))
    held = [stream.add(packet(k)) for k in (2, 3, 4)]
    assert held == [[], [], []]
    released = stream.add(packet(5))
    assert 20 * MS * 3 >= HOLD_NS
    assert [(o.packet.sequence, o.lost_before) for o in released] == [(2, 1), (3, 0), (4, 0), (5, 0)]
    assert released[0].media_ns == 40 * MS
    assert stream.add(packet(1, at_ms=200)) == []
    assert stream.late == 1


def test_what_comes_twice_counts_once() -> None:
    assert [o.packet.sequence for o in through([packet(0), packet(1), packet(1), packet(2)])] == [0, 1, 2]


def test_a_source_that_is_changed_goes_on_by_the_arrivals() -> None:
    first = [packet(k) for k in range(3)]
    other = [packet(k, first=30_000, at_ms=100 + 20 * k, source=8) for k in range(3)]
    released = through([*first, *other])
    assert [o.media_ns for o in released] == [0, 20 * MS, 40 * MS, 100 * MS, 120 * MS, 140 * MS]
    assert sum(o.lost_before for o in released) == 0


def scattered(count: int) -> list[RtpPacket]:
    """Packets whose numbers are in no order, all within the time for which a missing one is waited for."""
    numbers = random.Random(1).sample(range(2, 32_000), count)
    return [packet(0), *(packet(number, at_ms=1 + 40 * k / count) for k, number in enumerate(numbers))]


def test_packets_in_no_order_take_time_in_proportion() -> None:
    is_linear(scattered, through)


def test_only_so_many_packets_wait() -> None:
    stream = RtpStream(48_000)
    released = [ordered for each in scattered(5_000) for ordered in stream.add(each)]
    assert len(stream.flush()) <= MOST_HELD < len(released)


def test_a_clock_that_jumps_farther_than_any_pause_was_restarted() -> None:
    def placed(jump: int) -> int:
        """Where a packet lies that comes 40 ms after the one before, and `jump` samples later by its stamp."""
        return through([packet(0), RtpPacket(1, jump, 41 * MS, b"x", 7)])[1].media_ns // MS

    most = round(JUMP_S * 48_000)
    assert (placed(most), placed(most + 1), placed(-most - 1)) == (5_000, 40, 40)
