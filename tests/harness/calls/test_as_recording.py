"""A call of two channels is measured as a run's call is: the waits, the cut pauses and the interruptions that are in it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.made_recordings import Said, make_recording, voice
from harness.audio.pcm import resample
from harness.audio.vocal import silero
from harness.calls.as_recording import TwoSides, as_recording
from harness.errors import UserError
from harness.measuring.timings import timings_of
from harness.recording import playout
from harness.recording.files import load, save
from harness.recording.record import Recording
from harness.store.step_failure import StepFailure
from harness.timing import measure_turns
from harness.timing.figures import TurnTiming
from harness.timing.interruptions import NOT_ANSWERED
from harness.timing.unknown_waits import CALL_ENDED, GAVE_UP_MS, ON_HOLD
from tests.harness.calls.made_calls import AGENT_HZ, CALLER_HZ, RATE_HZ, pcm, short_call, side, sides
from tests.present import present


def measured(call: TwoSides) -> tuple[TurnTiming, ...]:
    return figures(as_recording(call, silero()))


def figures(recording: Recording) -> tuple[TurnTiming, ...]:
    found = timings_of("x", lambda: recording, lambda: None, silero())
    assert not isinstance(found, StepFailure), found
    return found


def waits(found: Sequence[TurnTiming]) -> list[float | None]:
    return [turn.ttfa_ms for turn in found]


def test_each_turn_has_its_wait() -> None:
    first, second, goodbye = measured(short_call(wait_s=0.7))
    assert present(first.ttfa_ms) == pytest.approx(700, abs=15)
    assert present(second.ttfa_ms) == pytest.approx(700, abs=15)
    assert (goodbye.ttfa_ms, goodbye.no_reply, goodbye.discarded) == (None, False, CALL_ENDED)


@pytest.mark.parametrize("seed", range(4))
def test_a_runs_own_stereo_file_gives_the_runs_own_wait(seed: int) -> None:
    """What the run knows of its caller, the recording shows: 5 ms at the most, as the sound of a call allows."""
    wait_s = 0.25 + 0.4 * seed
    made = make_recording(Said(wait_s, voice(1.4, seed, db=-18 - 3 * seed)), speech_s=2.4, pauses_s=[(0.7, 0.35)])
    stereo = playout.stereo(made.recording)
    call = TwoSides(stereo[:, 0].copy(), playout.HEARD_RATE_HZ, stereo[:, 1].copy(), playout.HEARD_RATE_HZ)
    (turn,), (own,) = measured(call), measure_turns(made.recording)
    assert abs(present(turn.ttfa_ms) - present(own.ttfa_ms)) < 5
    assert abs(turn.spoken_end_ms - own.spoken_end_ms) < 5
    assert (turn.pauses_marked, turn.pauses_cut) == (own.pauses_marked, own.pauses_cut) == (1, 0)


def test_the_two_sides_may_have_rates_of_their_own() -> None:
    call = short_call()
    narrow = replace(call, agent=resample(call.agent, RATE_HZ, 8_000), agent_rate_hz=8_000)
    for one, other in zip(waits(measured(call))[:2], waits(measured(narrow))[:2], strict=True):
        assert present(one) == pytest.approx(present(other), abs=5)


def test_noise_on_the_callers_side_moves_the_wait_by_less_than_a_syllable() -> None:
    quiet = sides([(1.0, 2.4), (5.0, 6.5)], [(3.1, 4.2), (7.2, 8.4)], 12.0)
    noisy = sides([(1.0, 2.4), (5.0, 6.5)], [(3.1, 4.2), (7.2, 8.4)], 12.0, noise_db=-57)
    for one, other in zip(waits(measured(quiet)), waits(measured(noisy)), strict=True):
        assert present(one) == pytest.approx(present(other), abs=60)


def test_a_side_that_is_never_silent_is_refused_with_the_reason() -> None:
    with pytest.raises(UserError, match="caller's side: it is never silent"):
        as_recording(sides([(1.0, 2.4)], [(3.1, 4.2)], 6.0, noise_db=-28), silero())


def test_a_caller_without_a_word_is_refused_with_the_reason() -> None:
    with pytest.raises(UserError, match="caller's side: nothing is spoken in it"):
        as_recording(sides([], [(3.1, 4.2)], 6.0), silero())


@pytest.mark.parametrize("mine", ["caller", "agent"])
def test_an_echo_is_no_speech(mine: str) -> None:
    """Each side hears the other 40 ms later and 24 dB down."""
    whole = sides([(1.0, 2.6), (6.0, 7.6)], [(3.4, 5.0), (8.4, 9.8)], 12.0)
    call = whole if mine == "caller" else sides([(1.0, 2.6)], [(3.4, 5.0)], 9.0)
    sounds = {"caller": call.caller, "agent": call.agent}
    other = sounds["agent" if mine == "caller" else "caller"].astype(np.float64)
    late = np.concatenate([np.zeros(round(0.04 * RATE_HZ)), other])[: len(other)] * 10 ** (-24 / 20)
    mixed = np.clip(np.round(sounds[mine] + late), -32768, 32767).astype(np.int16)
    echoed = replace(call, caller=mixed) if mine == "caller" else replace(call, agent=mixed)
    plain, found = waits(measured(call)), waits(measured(echoed))
    assert len(plain) == len(found)
    for one, two in zip(plain, found, strict=True):
        assert present(one) == pytest.approx(present(two), abs=15)


def test_an_agent_that_speaks_into_a_pause_cuts_it() -> None:
    (turn, *_) = measured(sides([(1.0, 2.2), (3.4, 5.0)], [(2.9, 4.1), (5.8, 7.0)], 13.0))
    assert (turn.pauses_marked, turn.pauses_cut) == (1, 1)
    assert present(turn.ttfa_ms) == pytest.approx(800, abs=20)


def test_an_agent_that_speaks_over_the_caller_cuts_in() -> None:
    (turn, *_) = measured(sides([(1.0, 4.0)], [(2.0, 2.8), (4.7, 6.0)], 12.0))
    assert turn.cut_in


def test_an_interruption_has_a_yield_and_its_turn_a_wait() -> None:
    first, second = measured(sides([(1.0, 2.4), (6.0, 8.5)], [(3.0, 6.4), (9.2, 10.4)], 16.0))
    assert present(first.yield_ms) == pytest.approx(400, abs=30)
    assert NOT_ANSWERED not in first.labels
    assert present(second.ttfa_ms) == pytest.approx(700, abs=30)
    assert not second.cut_in


def test_a_backchannel_into_the_agents_speech_is_no_turn() -> None:
    found = measured(sides([(1.0, 2.4), (5.0, 5.5)], [(3.0, 7.0)], 13.0))
    assert len(found) == 1
    assert found[0].yield_ms is None


def test_a_caller_who_waits_in_vain_was_not_answered() -> None:
    waits_s = GAVE_UP_MS / 1_000
    patient = measured(sides([(1.0, 2.4), (5.0, 6.0)], [(3.0, 4.2)], 6.0 + waits_s + 0.5))
    short = measured(sides([(1.0, 2.4), (5.0, 6.0)], [(3.0, 4.2)], 6.0 + waits_s - 0.5))
    assert (patient[-1].no_reply, patient[-1].discarded) == (True, None)
    assert (short[-1].no_reply, short[-1].discarded) == (False, CALL_ENDED)


def with_music(call: TwoSides, start_s: float, lasts_s: float) -> TwoSides:
    """The call, with music on the agent's side."""
    at = np.arange(round(lasts_s * RATE_HZ)) / RATE_HZ
    notes = np.array([262, 330, 392, 523])[(at // 0.5).astype(int) % 4]
    agent = call.agent.copy()
    music = pcm(np.asarray(0.05 * sum(np.sin(2 * np.pi * notes * k * at) / k for k in (1, 2, 3))))
    agent[round(start_s * RATE_HZ) :][: len(music)] += music
    return replace(call, agent=agent)


@pytest.mark.parametrize("hello", [[], [(14.0, 15.2)]])
def test_music_on_hold_is_no_answer_and_no_silence(hello: list[tuple[float, float]]) -> None:
    """Nor is it one for a caller who asks over the music whether anybody is there."""
    call = with_music(sides([(1.0, 2.4), (5.0, 6.0), *hello], [(3.0, 4.2)], 30.0), 7, 12)
    held = measured(call)[1:]
    assert [(turn.ttfa_ms, turn.no_reply, turn.discarded) for turn in held] == [(None, False, ON_HOLD)] * (1 + len(hello))


def test_music_that_has_ended_holds_nobody() -> None:
    *_, last = measured(with_music(sides([(1.0, 2.4), (5.0, 6.0), (14.0, 15.2)], [(3.0, 4.2)], 30.0), 7, 6.5))
    assert (last.no_reply, last.discarded) == (True, None)


def test_a_chime_of_a_second_holds_nobody() -> None:
    chime = 0.05 * np.sin(2 * np.pi * 880 * np.arange(RATE_HZ) / RATE_HZ)
    call = sides([(1.0, 2.4), (5.0, 6.0)], [(3.0, 4.2)], 30.0)
    call.agent[7 * RATE_HZ : 8 * RATE_HZ] += pcm(chime)
    *_, last = measured(call)
    assert (last.no_reply, last.discarded) == (True, None)


def test_a_pause_is_one_turns_though_the_agents_side_echoes_the_caller() -> None:
    call = sides([(1.0, 2.0), (4.0, 5.0)], [(5.7, 7.0)], 9.0)
    late = np.concatenate([np.zeros(round(0.2 * RATE_HZ)), call.caller.astype(np.float64)])[: len(call.caller)]
    echoed = replace(call, agent=np.clip(np.round(call.agent + late * 10 ** (-24 / 20)), -32768, 32767).astype(np.int16))
    (turn,) = as_recording(echoed, silero()).caller.turns
    assert len(turn.pauses) == 1


def test_a_caller_who_only_speaks_into_the_agents_speech_has_no_turn() -> None:
    with pytest.raises(UserError, match="only speaks into the agent's speech"):
        as_recording(sides([(2.0, 3.5)], [(1.0, 6.0)], 9.0), silero())


def test_what_no_recording_shows_is_absent() -> None:
    for turn in measured(sides([(1.0, 3.0)], [(2.8, 4.2)], 6.0)):
        absent = (turn.first_byte_ms, turn.waterfall, turn.ttft_ms, turn.pacing_p99_error_ms, turn.realtime_ratio, turn.line)
        assert absent == (None,) * 6


def test_it_is_stored_and_measured_again_alike(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("call")
    recording = as_recording(short_call(), silero())
    save(recording, folder)
    assert figures(load(folder)) == figures(recording)


def test_a_voice_of_any_pitch_begins_a_turn_at_its_first_sample() -> None:
    caller, agent = side([(1.0, 2.5)], 6.0, CALLER_HZ), side([(3.0, 4.0)], 6.0, AGENT_HZ)
    recording = as_recording(TwoSides(pcm(caller), RATE_HZ, pcm(agent), RATE_HZ), silero())
    (turn,) = recording.caller.turns
    # In a channel without noise 20 ms beside the speech are its own, so that the spoken end is found to the sample.
    assert [turn.start_sample / RATE_HZ, turn.end_sample / RATE_HZ] == pytest.approx([0.98, 2.52], abs=0.01)
    assert recording.agent_own is not None
    assert np.array(recording.agent_own) / RATE_HZ == pytest.approx(np.array([[2.98, 4.02]]), abs=0.01)
    assert not np.any(recording.caller.dry[turn.end_sample :])
