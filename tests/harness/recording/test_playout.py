"""What a listener would have heard, from messages that arrive in bursts, late, and are cleared."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.recording.playout import HEARD_RATE_HZ, heard, lay_out, stereo
from harness.recording.record import Arrival, CallerTrack, Recording

T0 = 1_000_000_000
RATE = 24_000


def _recording(*messages: tuple[float, float], clears_ms: tuple[float, ...] = ()) -> Recording:
    """Messages as (arrival in ms, length in ms); the agent's samples count up so that each can be found again."""
    arrivals, offset = [], 0
    for at_ms, length_ms in messages:
        count = round(length_ms * RATE / 1000)
        arrivals.append(Arrival(T0 + round(at_ms * 1e6), offset, count))
        offset += count
    silence = np.zeros(16_000, np.int16)
    departures = T0 + (np.arange(50, dtype=np.int64) + 1) * 20_000_000
    caller = CallerTrack(16_000, silence, silence, T0, departures, 0, 0)
    pcm: NDArray[np.int16] = (np.arange(offset) % 8_000 + 4_000).astype(np.int16)
    return Recording(caller, RATE, pcm, tuple(arrivals), tuple(T0 + round(c * 1e6) for c in clears_ms))


def _starts_ms(recording: Recording) -> list[float]:
    return [(piece.start_ns - T0) / 1e6 for piece in lay_out(recording)]


def test_a_burst_plays_one_piece_after_another() -> None:
    recording = _recording((100, 40), (101, 40), (102, 40))
    assert _starts_ms(recording) == pytest.approx([100, 140, 180])
    assert heard(recording).underruns == ()


def test_a_late_piece_shifts_what_follows() -> None:
    recording = _recording((100, 40), (160, 40), (161, 40))
    assert _starts_ms(recording) == pytest.approx([100, 160, 200])
    (underrun,) = heard(recording).underruns
    assert (underrun.at_ms, underrun.duration_ms) == pytest.approx((140, 20))


def test_jitter_under_five_milliseconds_is_no_underrun() -> None:
    assert heard(_recording((100, 40), (144, 40))).underruns == ()


def test_a_new_utterance_is_no_underrun() -> None:
    assert heard(_recording((100, 40), (1_200, 40))).underruns == ()


def test_a_clear_drops_what_has_not_been_heard_and_frees_the_player() -> None:
    recording = _recording((100, 40), (101, 1_000), (400, 40), clears_ms=(300,))
    pieces = lay_out(recording)
    assert [p.count_samples * 1000 / RATE for p in pieces] == pytest.approx([40, 160, 40])
    assert _starts_ms(recording) == pytest.approx([100, 140, 400])
    track = heard(recording)
    assert track.dropped_samples == pytest.approx(840 * RATE / 1000)
    assert track.underruns == ()


def test_an_empty_message_keeps_nothing_from_a_clear() -> None:
    with_empty = _recording((100, 40), (101, 1_000), (102, 0), clears_ms=(300,))
    assert [p.count_samples * 1000 / RATE for p in lay_out(with_empty)] == pytest.approx([40, 160])
    before = _recording((100, 40), (101, 0), (400, 40), clears_ms=(300,))
    assert [p.count_samples * 1000 / RATE for p in lay_out(before)] == pytest.approx([40, 0, 40])


def test_a_clear_after_everything_was_heard_drops_nothing() -> None:
    assert heard(_recording((100, 40), clears_ms=(500,))).dropped_samples == 0


def test_the_heard_track_lies_where_the_pieces_do() -> None:
    track = heard(_recording((100, 40), (300, 40)))
    loud = np.flatnonzero(track.samples > 0.05) * 1000 / HEARD_RATE_HZ
    assert loud[0] == pytest.approx(100, abs=0.3)
    assert loud[-1] == pytest.approx(340, abs=0.3)
    assert not ((loud > 141) & (loud < 299)).any()


def test_message_borders_leave_no_trace() -> None:
    whole, cut = _recording((100, 400)), _recording(*((100 + 0.1 * k, 20) for k in range(20)))
    assert np.array_equal(heard(whole).samples, heard(cut).samples)


def test_rounding_of_lengths_makes_no_border() -> None:
    """Of an agent that sends in time, each message begins where the one before it ends; 53 and 107 samples are no whole ns."""
    whole = _recording(*((100 + 160 * k * 1000 / RATE, 160 * 1000 / RATE) for k in range(60)))
    parts = [
        part
        for a in whole.arrivals
        for part in (replace(a, count_samples=53), Arrival(a.arrival_ns, a.offset_samples + 53, 107))
    ]
    in_parts = replace(whole, arrivals=tuple(parts))
    at_once = replace(whole, arrivals=(Arrival(whole.arrivals[0].arrival_ns, 0, len(whole.agent_pcm)),))
    assert np.array_equal(heard(whole).samples, heard(at_once).samples)
    assert np.array_equal(heard(in_parts).samples, heard(at_once).samples)


def test_the_exported_mix_has_the_caller_left_and_the_agent_right() -> None:
    mix = stereo(_recording((100, 40)))
    assert mix.shape == (HEARD_RATE_HZ + 1, 2)
    assert not mix[:, 0].any()
    assert np.abs(mix[:, 1]).max() > 1_000
