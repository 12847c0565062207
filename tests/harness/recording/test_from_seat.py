"""Takes in the supporter's seat measured by the code that measures agents, against instants that are known beforehand."""

from pathlib import Path

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray

from benchmarks.made_recordings import AGENT_HZ, Said, make_recording, onset_ms, pcm, voice
from harness.audio.vocal import silero
from harness.recording import playout
from harness.recording.files import load, save
from harness.recording.from_seat import RATE_HZ, CallerSound, SeatTake, caller_sound, recording_of, seat_take
from harness.recording.record import Pause, SpokenTurn
from harness.recording.sitting import LoopError, Sitting, load_sitting, save_sitting
from harness.timing import measure, measure_turns
from tests.present import present

NEAR_MS = 3.0


def _caller(pauses_s: tuple[tuple[float, float], ...] = ()) -> tuple[CallerSound, float]:
    sound = caller_sound(make_recording(pauses_s=pauses_s).recording.caller)
    return sound, len(sound.samples) / RATE_HZ


def _at_seat(sound: NDArray[np.float64]) -> NDArray[np.int16]:
    return pcm(soxr.resample(sound, AGENT_HZ, RATE_HZ, quality="HQ"))


def _microphone(total_s: float, *said: tuple[float, NDArray[np.float64]], room_db: float = -62.0) -> NDArray[np.int16]:
    """A room with a voice at each of these seconds of the take."""
    room = np.random.default_rng(5).standard_normal(round(total_s * RATE_HZ)) * 10 ** (room_db / 20) * 32768
    for at_s, sound in said:
        speech, at = _at_seat(sound), round(at_s * RATE_HZ)
        room[at : at + len(speech)] += speech
    return np.clip(np.round(room), -32768, 32767).astype(np.int16)


@pytest.mark.parametrize("room_db", [-90.0, -62.0, -50.0])
@pytest.mark.parametrize("wait_s", [0.21, 0.9, 2.4])
def test_the_wait_is_what_it_was(wait_s: float, room_db: float) -> None:
    caller, ends_s = _caller()
    reply = voice(1.5, seed=3)
    take = SeatTake(caller, _microphone(ends_s + wait_s + 3, (ends_s + wait_s, reply), room_db=room_db))
    found = measure(recording_of(take), silero())
    assert found.ttfa_ms == pytest.approx(1000 * wait_s + onset_ms(reply), abs=NEAR_MS)
    assert not found.cut_in
    assert found.first_byte_ms is None  # a person sends nothing
    assert present(found.pacing_max_error_ms) == 0.0
    assert found.discarded is None


def test_a_cut_in_and_a_cut_pause_are_found() -> None:
    caller, ends_s = _caller(((0.8, 0.6),))
    into_pause = SeatTake(
        caller,
        _microphone(ends_s + 4, (1.0, voice(0.9, seed=1)), (ends_s + 0.5, voice(1.2, seed=2))),
    )
    found = measure(recording_of(into_pause), silero())
    assert (found.pauses_marked, found.pauses_cut) == (1, 1)
    assert found.pause_durations_ms[0] == pytest.approx(600, abs=1)
    assert found.ttfa_ms == pytest.approx(500 + onset_ms(voice(1.2, seed=2)), abs=NEAR_MS)
    early = SeatTake(caller, _microphone(ends_s + 4, (ends_s - 0.4, voice(2.0, seed=4))))
    found = measure(recording_of(early), silero())
    assert found.cut_in
    assert found.signed_ms == pytest.approx(-400 + onset_ms(voice(2.0, seed=4)), abs=NEAR_MS)


def test_a_person_who_yields_is_timed() -> None:
    made = caller_sound(make_recording().recording.caller)
    begins = len(made.samples) + round(1.5 * RATE_HZ)
    barge_in = _at_seat(voice(1.0, seed=9, db=-22))
    samples = np.concatenate([made.samples, np.zeros(begins - len(made.samples), np.int16), barge_in])
    turn = SpokenTurn(begins, begins + len(barge_in), kind="barge_in")
    ends_s = len(made.samples) / RATE_HZ
    # The reply begins 0.5 s after the turn and stops 1.3 s later: 0.3 s after the caller spoke into it.
    microphone = _microphone(ends_s + 6, (ends_s + 0.5, voice(1.3, seed=6)), room_db=-85)
    take = SeatTake(type(made)(samples, (*made.turns, turn)), microphone)
    found = measure(recording_of(take), silero())
    assert found.yield_ms == pytest.approx(300, abs=25)
    assert found.ttfa_ms == pytest.approx(500 + onset_ms(voice(1.3, seed=6)), abs=NEAR_MS)


def test_nobody_who_speaks_is_no_reply() -> None:
    caller, ends_s = _caller()
    found = measure(recording_of(SeatTake(caller, _microphone(ends_s + 17))), silero())
    assert found.no_reply
    assert found.ttfa_ms is None


@pytest.mark.parametrize("first", [0, 11_111, 100_000])
def test_the_loops_latency_is_taken_out(first: int) -> None:
    caller, ends_s = _caller()
    reply, played_at, latency = voice(1.0, seed=8), 31_000, 4_567.4
    clock = np.zeros(played_at + round((ends_s + 4) * RATE_HZ), np.int16)
    begins = played_at + round((ends_s + 0.7) * RATE_HZ) + round(latency)
    spoken = _at_seat(reply)
    clock[begins : begins + len(spoken)] = spoken
    take = seat_take(
        caller,
        clock[first:], first=first, played_at=played_at, latency_samples=latency, lost=((120_000, 124_800),),
    )  # fmt: skip
    assert measure(recording_of(take), silero()).ttfa_ms == pytest.approx(700 + onset_ms(reply), abs=NEAR_MS)
    ((from_ms, to_ms),) = take.lost_ms
    assert to_ms - from_ms == pytest.approx(100)
    assert from_ms == pytest.approx((120_000 - 4_567 - played_at) / 48, abs=0.1)


def test_a_call_and_a_seat_have_the_same_caller() -> None:
    call = make_recording(Said(0.6, voice(1.0)), pauses_s=((0.5, 0.4), (1.3, 0.25)))
    caller = caller_sound(call.recording.caller)
    assert caller.turns[0].pauses == (Pause(24_000, 43_200), Pause(62_400, 74_400))
    there = measure(call.recording, silero())
    here = measure(
        recording_of(SeatTake(caller, _microphone(len(caller.samples) / RATE_HZ + 4, (2.6, voice(1.0)), room_db=-90))), silero()
    )
    assert here.ttfa_ms == pytest.approx(there.ttfa_ms, abs=2)
    assert here.pause_durations_ms == pytest.approx(there.pause_durations_ms, abs=0.1)


def test_what_is_heard_is_the_microphone_and_both_come_back_from_disk(tmp_path: Path) -> None:
    caller, ends_s = _caller()
    take = SeatTake(caller, _microphone(ends_s + 3.0071, (ends_s + 0.4, voice(1.0))))
    recording = recording_of(take)
    heard = playout.heard(recording)
    assert np.array_equal(np.round(heard.samples[: len(take.microphone)] * 32768).astype(np.int16), take.microphone)
    assert heard.underruns == ()
    save(recording, tmp_path)
    assert measure_turns(load(tmp_path), silero()) == measure_turns(recording, silero())
    sitting = Sitting("P03", False, "s1", "t7", LoopError(41.2, 6.5, -3.0, 28), ((1_200.5, 1_221.8),), ("quiet",))
    save_sitting(sitting, tmp_path)
    assert load_sitting(tmp_path) == sitting
