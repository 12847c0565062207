"""What a listener would have heard, from messages that arrive in bursts, late, and are cleared."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.recording.playout import HEARD_RATE_HZ, heard, stereo
from harness.recording.record import Arrival, CallerTrack, Recording, SpokenTurn
from harness.timing import measure_turns

T0 = 1_000_000_000
RATE = 24_000


def _recording(*messages: tuple[float, float], clears_ms: tuple[float, ...] = ()) -> Recording:
    """Messages as (arrival in ms, length in ms); the samples count up, with alternating signs, so that each can be found."""
    arrivals, offset = [], 0
    for at_ms, length_ms in messages:
        count = round(length_ms * RATE / 1000)
        arrivals.append(Arrival(T0 + round(at_ms * 1e6), offset, count))
        offset += count
    silence = np.zeros(16_000, np.int16)
    departures = T0 + (np.arange(50, dtype=np.int64) + 1) * 20_000_000
    caller = CallerTrack(16_000, silence, silence, T0, departures, 0, 0)
    signs = np.where(np.arange(offset) // 12 % 2, -1, 1)
    pcm: NDArray[np.int16] = ((np.arange(offset) % 8_000 + 4_000) * signs).astype(np.int16)
    return Recording(caller, RATE, pcm, tuple(arrivals), tuple(T0 + round(c * 1e6) for c in clears_ms))


def _starts_ms(recording: Recording) -> list[float]:
    return [(piece.start_ns - T0) / 1e6 for piece in heard(recording).pieces]


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
    pieces = heard(recording).pieces
    assert [p.count_samples * 1000 / RATE for p in pieces] == pytest.approx([40, 160, 40])
    assert _starts_ms(recording) == pytest.approx([100, 140, 400])
    track = heard(recording)
    assert track.dropped_samples == pytest.approx(840 * RATE / 1000)
    assert track.underruns == ()


def test_an_empty_message_keeps_nothing_from_a_clear() -> None:
    with_empty = _recording((100, 40), (101, 1_000), (102, 0), clears_ms=(300,))
    assert [p.count_samples * 1000 / RATE for p in heard(with_empty).pieces] == pytest.approx([40, 160])
    before = _recording((100, 40), (101, 0), (400, 40), clears_ms=(300,))
    assert [p.count_samples * 1000 / RATE for p in heard(before).pieces] == pytest.approx([40, 0, 40])


def test_a_clear_after_everything_was_heard_drops_nothing() -> None:
    assert heard(_recording((100, 40), clears_ms=(500,))).dropped_samples == 0


def test_the_heard_track_lies_where_the_pieces_do() -> None:
    track = heard(_recording((100, 40), (300, 40)))
    loud = np.flatnonzero(np.abs(track.samples) > 0.05) * 1000 / HEARD_RATE_HZ
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


FRAME_MS = 80.0
SPOKEN_MS = (500.0, 2_500.0)


def _endless(stall_at_ms: float, stall_ms: float, voice_at_ms: float, level: int = 8_000, fill: int = 0) -> Recording:
    """Six seconds of frames of 80 ms without end, of which some come late and all at once; half a second of voice in them.

    The caller speaks from 0.5 to 2.5 s.
    """
    arrivals, pcm = [], []
    count = round(FRAME_MS * RATE / 1000)
    for k in range(75):
        due_ms = 100 + k * FRAME_MS
        late = stall_at_ms <= due_ms < stall_at_ms + stall_ms
        at_ms = stall_at_ms + stall_ms + 0.01 * k if late else due_ms
        arrivals.append(Arrival(T0 + round(at_ms * 1e6), k * count, count))
        speaks = voice_at_ms <= due_ms < voice_at_ms + 500
        square = np.where(np.arange(count) // 12 % 2, -level, level)
        pcm.append(square if speaks else np.full(count, fill))
    silence = np.zeros(16_000 * 6, np.int16)
    silence[8_000:40_000] = np.where(np.arange(32_000) // 40 % 2, -3_000, 3_000)
    departures = T0 + (np.arange(300, dtype=np.int64) + 1) * 20_000_000
    turn = SpokenTurn(round(SPOKEN_MS[0] * 16), round(SPOKEN_MS[1] * 16))
    caller = CallerTrack(16_000, silence, silence, T0, departures, turn.start_sample, turn.end_sample, turns=(turn,))
    return Recording(caller, RATE, np.concatenate(pcm).astype(np.int16), tuple(arrivals))


def _voice_ms(recording: Recording) -> float:
    return float(np.flatnonzero(np.abs(heard(recording).samples) > 0.05)[0]) * 1000 / HEARD_RATE_HZ


@pytest.mark.parametrize("fill", [0, 12, 4_000, -32_124])
@pytest.mark.parametrize("stall_ms", [240.0, 720.0, 1_600.0])
def test_an_endless_stream_has_caught_up_before_its_answer(stall_ms: float, fill: int) -> None:
    """A player drops late silence, whatever the code fills it with: the answer is heard as it arrives."""
    recording = _endless(900, stall_ms, 3_300, fill=fill)
    assert _voice_ms(recording) == pytest.approx(_voice_ms(_endless(0, 0, 3_300, fill=fill)), abs=1)
    (stall,) = heard(recording).stalls
    assert stall.duration_ms == pytest.approx(stall_ms, abs=FRAME_MS)


def _sounding(sound: NDArray[np.float32]) -> NDArray[np.float32]:
    """A detector that takes every loud window for a voice."""
    windows = sound[: len(sound) // 512 * 512].reshape(-1, 512)
    sure: NDArray[np.float32] = ((windows**2).mean(axis=1) > 1e-4).astype(np.float32)
    return sure


def test_a_stall_is_said_with_its_turn_and_moves_no_answer() -> None:
    (stalled,), (steady,) = (measure_turns(_endless(900, ms, 3_300), _sounding) for ms in (720, 0))
    assert stalled.stalled_ms == pytest.approx(720, abs=FRAME_MS)
    assert steady.stalled_ms is None
    assert stalled.ttfa_ms == pytest.approx(steady.ttfa_ms, abs=1)


def test_a_voice_that_came_late_is_heard_late() -> None:
    """Nothing is quiet between the stall and the answer: a listener waits for both."""
    assert _voice_ms(_endless(3_300, 720, 3_300)) - _voice_ms(_endless(0, 0, 3_300)) == pytest.approx(720, abs=FRAME_MS)


def test_the_pauses_of_an_answer_that_is_sent_ahead_are_played() -> None:
    """No stall, no dropping: sound that comes early waits, with its silences."""
    recording = _endless(0, 0, 3_300)
    early = tuple(
        replace(a, arrival_ns=min(a.arrival_ns, T0 + 3_300_000_000 + k)) if a.arrival_ns < T0 + 4_500_000_000 else a
        for k, a in enumerate(recording.arrivals)
    )
    assert np.array_equal(heard(replace(recording, arrivals=early)).samples != 0, heard(recording).samples != 0)


def test_an_agent_that_sends_its_replies_alone_keeps_its_pauses() -> None:
    """Voice, a gap, then silence and voice at once: the silence is its own."""
    recording = _recording((1_000, 200), (1_600, 100), (1_601, 300), (1_602, 200))
    quiet = recording.agent_pcm.copy()
    quiet[round(0.3 * RATE) : round(0.6 * RATE)] = 0
    assert _starts_ms(replace(recording, agent_pcm=quiet)) == pytest.approx([1_000, 1_600, 1_700, 2_000])
