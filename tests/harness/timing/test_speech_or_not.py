"""Speech against other sounds: the hard rows of docs/decisions/timing-speech-or-not.md, in short."""

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray
from scipy.signal import chirp

from benchmarks.made_recordings import AGENT_HZ, Said, make_recording, onset_ms, silence, voice
from benchmarks.made_sounds import whispered
from harness.audio.level import last_sample, speech_power
from harness.audio.prosody import Prosody, Speaker
from harness.audio.speech_floor import Ending, Stretch
from harness.audio.synthesis_hibari import HibariSynthesiser
from harness.calibrate.voice import coloured_noise, synthetic_voice
from harness.recording.playout import HEARD_RATE_HZ
from harness.timing import measure
from harness.timing.utterances import speech_end

Floats = NDArray[np.float64]
AT_S = 0.6


@pytest.fixture(scope="module")
def hibari() -> HibariSynthesiser:
    return HibariSynthesiser()


def _said(hibari: HibariSynthesiser, text: str, prosody: Prosody, db: float = -22.0) -> Floats:
    sound = np.concatenate(hibari.perform([Stretch(text, Ending("turn_end"), 0)], Speaker(), prosody, 1.0, 4)[0])
    return _at(np.asarray(sound, np.float64), db)


def _at(sound: Floats, db: float) -> Floats:
    return np.asarray(sound * 10 ** (db / 20) / np.sqrt(speech_power(sound, AGENT_HZ)), np.float64)


def _note(seconds: float, low_hz: float, high_hz: float, db: float = -22.0) -> Floats:
    t = np.arange(round(seconds * AGENT_HZ)) / AGENT_HZ
    note = np.sum([chirp(t, low_hz * p, t[-1], high_hz * p) / p for p in (1, 2, 3)], axis=0)
    return _at(note * np.hanning(len(t)) ** 0.3, db)


@pytest.mark.parametrize("text", ["Mm.", "Yes.", "I am sorry that you had to wait for so long."])
@pytest.mark.parametrize("db", [-22.0, -45.0])
def test_a_voice_of_one_pitch_is_an_answer(hibari: HibariSynthesiser, text: str, db: float) -> None:
    sound = _said(hibari, text, Prosody(f0_range_factor=0.0), db)
    timing = measure(make_recording(Said(AT_S, sound)).recording)
    assert timing.ttfa_ms == pytest.approx(AT_S * 1000 + onset_ms(sound), abs=25)


def test_a_whisper_is_an_answer(hibari: HibariSynthesiser) -> None:
    spoken = _said(hibari, "Could you tell me the number on the letter?", Prosody())
    timing = measure(make_recording(Said(AT_S, _at(whispered(spoken, AGENT_HZ), -36))).recording)
    assert timing.ttfa_ms is not None


@pytest.mark.parametrize("gap_s", [0.15, 0.3, 0.6])
def test_a_note_before_a_voice_neither_answers_nor_hides_it(gap_s: float) -> None:
    before = np.concatenate([_note(0.15, 400, 700), silence(gap_s)])
    timing = measure(make_recording(Said(AT_S, np.concatenate([before, voice(1.5)]))).recording)
    assert timing.discarded is None
    assert timing.ttfa_ms == pytest.approx(AT_S * 1000 + len(before) / AGENT_HZ * 1000 + onset_ms(voice(1.5)), abs=25)


@pytest.mark.parametrize("seed", range(4))
def test_a_blip_of_a_voice_is_no_answer(seed: int) -> None:
    blip = synthetic_voice(0.038, AGENT_HZ, np.random.default_rng(seed), 110 + 25 * seed)
    sound = np.concatenate([_at(blip, -25), silence(1.6), voice(1.0)])
    timing = measure(make_recording(Said(AT_S, sound)).recording)
    assert timing.ttfa_ms == pytest.approx(AT_S * 1000 + 1638 + onset_ms(voice(1.0)), abs=25)


@pytest.mark.parametrize("seed", range(3))
def test_hums_ringing_and_melodies_are_no_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    notes = [_note(0.3, hz, hz) for hz in rng.choice([220, 247, 277, 294, 330, 370], 8)]
    hum = np.sum([_note(2.0, hz, hz) for hz in (50, 100, 150, 250)], axis=0)
    ring = _note(1.0, 425, 425)
    for sound in (np.concatenate(notes), hum, np.concatenate([ring, silence(1), ring])):
        timing = measure(make_recording(Said(AT_S, _at(sound, float(rng.uniform(-40, -15))))).recording)
        assert timing.no_reply


@pytest.mark.parametrize("db", [-58, -42])
def test_a_voice_in_steady_noise_is_found_each_time_and_ends_where_it_ends(db: float) -> None:
    parts = [silence(4), voice(1.0, 1), silence(6), voice(1.2, 2), silence(3)]
    clean = np.concatenate(parts)
    noisy = clean + coloured_noise(len(clean), db, np.random.default_rng(5))
    timing = measure(make_recording(Said(0.1, noisy), total_s=20).recording)
    said = [u for u in timing.utterances if u.kind != "nonvocal"]
    starts_ms = [4_100.0, 11_100.0]
    assert [u.start_ms for u in said] == pytest.approx(starts_ms, abs=30)
    assert [u.end_ms for u in said] == pytest.approx([5_100, 12_300], abs=100)


def test_the_next_phrase_is_no_noise_after_the_one_before() -> None:
    """A loud syllable, the quiet rest of its phrase, a short pause, and a phrase nearly as loud as the syllable."""
    phrase = voice(0.7)
    phrase[round(0.12 * AGENT_HZ) :] *= 0.25
    sound = np.concatenate([phrase, silence(0.12), voice(1.5, 2) * 0.7])
    (said,) = measure(make_recording(Said(AT_S, sound)).recording).utterances
    assert said.kind == "answer"
    assert said.end_ms - said.start_ms == pytest.approx(2_320, abs=60)


def test_speech_ends_before_the_noise_that_goes_on() -> None:
    speech = voice(1.0)
    narrow = np.concatenate([speech, silence(0.5)])
    noisy = np.asarray(soxr.resample(narrow, AGENT_HZ, HEARD_RATE_HZ), np.float32)
    noisy += coloured_noise(len(noisy), -50, np.random.default_rng(1)).astype(np.float32)
    last = last_sample(speech, AGENT_HZ)
    assert last is not None
    assert speech_end(noisy, 0, round(1.2 * HEARD_RATE_HZ), len(noisy)) / HEARD_RATE_HZ == pytest.approx(
        last / AGENT_HZ, abs=0.03
    )
