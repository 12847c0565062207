"""Voices and emotions: what is asked of the vocoder is what is measured in the sound."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from harness.audio.caller_voices import CALLER_VOICES, caller_voice
from harness.audio.pcm import Float32, to_float
from harness.audio.prosody import Prosody, Speaker, f0_track, reshape
from harness.audio.prosody_emotions import RENDERED, RENDERED_AS, UnknownEmotion, prosody_for
from harness.audio.prosody_measures import check_emotion, measure_prosody, syllables
from harness.audio.speech import PlainDirections, render_turn
from harness.audio.synthesis import PiperSynthesiser
from harness.scenarios.emotions import EMOTIONS

RATE_HZ = 16_000


def _vowel(f0_hz: np.ndarray[Any, Any], rate_hz: int = RATE_HZ) -> Float32:
    """A pulse train at a given F0 contour through two resonances: a vowel whose pitch is known."""
    from scipy.signal import lfilter

    phase = np.cumsum(f0_hz / rate_hz)
    pulses = np.diff(np.floor(phase), prepend=0.0)
    for formant_hz, width_hz in ((700, 90), (1_200, 110)):
        radius = np.exp(-np.pi * width_hz / rate_hz)
        pulses = lfilter([1.0], [1, -2 * radius * np.cos(2 * np.pi * formant_hz / rate_hz), radius**2], pulses)
    return np.asarray(0.3 * pulses / np.abs(pulses).max(), dtype=np.float32)


def _median_f0(signal: Float32) -> float:
    track = f0_track(signal, RATE_HZ)
    return float(np.median(track[track > 0]))


@pytest.mark.parametrize("f0_hz", [80.0, 140.0, 220.0])
def test_the_track_finds_a_known_pitch(f0_hz: float) -> None:
    assert _median_f0(_vowel(np.full(RATE_HZ, f0_hz))) == pytest.approx(f0_hz, rel=0.02)


def test_silence_and_scraps_have_no_pitch() -> None:
    assert not f0_track(np.zeros(RATE_HZ, dtype=np.float32), RATE_HZ).any()
    assert not f0_track(np.ones(20, dtype=np.float32), RATE_HZ).any()


def test_pitch_range_and_length_move_as_asked() -> None:
    sweep = 110 * 2 ** (np.sin(2 * np.pi * np.arange(2 * RATE_HZ) / RATE_HZ) * 3 / 12)
    signal = _vowel(sweep)
    higher = reshape([signal], RATE_HZ, Speaker(), Prosody(f0_semitones=4))[0]
    assert _median_f0(higher) / _median_f0(signal) == pytest.approx(2 ** (4 / 12), rel=0.03)
    flatter = reshape([signal], RATE_HZ, Speaker(), Prosody(f0_range_factor=0.5))[0]

    def spread(wave: Float32) -> float:
        track = f0_track(wave, RATE_HZ)
        return float(np.std(12 * np.log2(track[track > 0])))

    assert spread(flatter) / spread(signal) == pytest.approx(0.5, abs=0.1)
    faster = reshape([signal], RATE_HZ, Speaker(), Prosody(), rate=1.25)[0]
    assert faster.size == round(signal.size / 1.25)
    assert _median_f0(faster) == pytest.approx(_median_f0(signal), rel=0.03)


def test_formants_move_without_the_pitch() -> None:
    signal = _vowel(np.full(RATE_HZ, 110.0))
    moved = reshape([signal], RATE_HZ, Speaker(formant_factor=1.2), Prosody())[0]

    def strongest_hz(wave: Float32) -> float:
        # The first formant stands far over the second here, so the spectrum's peak is on it, to a harmonic.
        spectrum = np.abs(np.fft.rfft(wave * np.hanning(wave.size)))
        return float(np.argmax(spectrum) * RATE_HZ / wave.size)

    assert strongest_hz(moved) - strongest_hz(signal) == pytest.approx(0.2 * 700, abs=115)
    assert strongest_hz(moved) > strongest_hz(signal)
    assert _median_f0(moved) == pytest.approx(110, rel=0.03)


def test_the_vocoder_gives_the_same_samples_twice() -> None:
    signal = _vowel(np.full(RATE_HZ, 120.0))
    first, second = (reshape([signal], RATE_HZ, Speaker(1.5, 1.1), Prosody(2.0)) for _ in range(2))
    assert np.array_equal(first[0], second[0])


def test_every_emotion_a_context_may_name_has_a_rendering() -> None:
    assert set(EMOTIONS) <= set(RENDERED_AS)
    assert len([name for name in RENDERED if name != "neutral"]) >= 6
    assert all(len(entry.expected) >= 3 for name, entry in RENDERED.items() if name != "neutral")


def test_an_unknown_emotion_is_one_line_with_a_hint() -> None:
    with pytest.raises(UnknownEmotion, match="unknown emotion 'sadnes'; did you mean sadness"):
        prosody_for("sadnes", 0.5)


def test_no_intensity_is_neutral() -> None:
    assert prosody_for("anger", 0.0) == Prosody()


def test_a_wish_for_a_voice_is_met_or_said_to_be_unknown() -> None:
    assert caller_voice("jo") == (CALLER_VOICES["jo"], True)
    assert caller_voice("default") == (CALLER_VOICES["joe"], True)
    assert caller_voice("nobody") == (CALLER_VOICES["joe"], False)
    assert Counter(voice.name for voice in CALLER_VOICES.values()).most_common(1)[0][1] == 1


def test_syllables_are_counted_as_spoken_text_has_them() -> None:
    assert [syllables(t) for t in ("cake", "nearly an accountant", "rhythm", "the")] == [1, 6, 1, 1]


TURN = "I had two good hours on Sunday, and I can't remember any of it now. <pause 600> And if I fail, they take me off."


@pytest.mark.models
@pytest.mark.parametrize(
    ("name", "emotions"),
    [
        ("joe", ("anger", "sadness")),
        pytest.param("jo", ("frustration", "joy"), marks=pytest.mark.long),
        pytest.param("joe", ("fear", "shame"), marks=pytest.mark.long),
        pytest.param("jo", ("despair", "relief"), marks=pytest.mark.long),
    ],
)
def test_each_emotion_is_audible_against_neutral(joe: PiperSynthesiser, name: str, emotions: tuple[str, ...]) -> None:
    speaker = CALLER_VOICES[name].speaker
    plain = measure_prosody(render_turn(TURN, PlainDirections(), joe, None, speaker))
    for emotion in emotions:
        turn = render_turn(TURN, PlainDirections(emotion, intensity=0.8), joe, None, speaker)
        check = check_emotion(emotion, [(measure_prosody(turn), plain)])
        assert check.audible, check


@pytest.mark.models
def test_the_callers_are_a_man_and_a_woman_by_their_pitch(joe: PiperSynthesiser) -> None:
    medians = {}
    for name in ("joe", "jo"):
        turn = render_turn(TURN, None, joe, None, CALLER_VOICES[name].speaker)
        medians[name] = _median_f0(to_float(turn.samples))
    assert 80 <= medians["joe"] <= 145
    assert 160 <= medians["jo"] <= 255
