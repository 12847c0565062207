"""A breath before the first word is a sound of its own: the reply begins with the word."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.made_recordings import AGENT_HZ, Said, make_recording, onset_ms, silence, voice
from benchmarks.made_sounds import breath
from harness.calibrate.voice import coloured_noise
from harness.timing import measure
from harness.timing.figures import TurnTiming

AT_MS = 400.0
WORD = voice(1.5, seed=3)


def _air(seconds: float, db: float, seed: int = 1) -> NDArray[np.float64]:
    return breath(seconds, db, AGENT_HZ, np.random.default_rng(seed))


def _answer(*parts: NDArray[np.float64]) -> tuple[TurnTiming, float, float]:
    """The timing of an answer, its true onset with everything before the word, and that of the word alone."""
    before = np.concatenate(parts[:-1]) if len(parts) > 1 else silence(0)
    sound = np.concatenate([before, parts[-1]])
    timing = measure(make_recording(Said(AT_MS / 1000, sound)).recording)
    return timing, AT_MS + onset_ms(sound), AT_MS + len(before) / AGENT_HZ * 1000 + onset_ms(parts[-1])


@pytest.mark.parametrize("quiet_s", [0.06, 0.15, 0.4], ids="quiet {} s".format)
@pytest.mark.parametrize("db", [-30, -42], ids="{} dB".format)
def test_a_breath_is_labelled_and_ends_no_wait(db: float, quiet_s: float) -> None:
    timing, onset, word = _answer(_air(0.35, db), silence(quiet_s), WORD)
    assert timing.ttfa_ms == timing.answer_ms == pytest.approx(word, abs=12)
    assert timing.utterances[0].start_ms == pytest.approx(onset, abs=5)
    assert [u.kind for u in timing.utterances] == ["breath", "answer"]
    assert all(one.end_ms <= other.start_ms for one, other in pairwise(timing.utterances))
    assert timing.discarded is None


def test_a_breath_softer_than_any_speech_is_not_heard() -> None:
    timing, _, word = _answer(_air(0.35, -64), silence(0.15), WORD)
    assert timing.ttfa_ms == pytest.approx(word, abs=3)


def test_a_burst_of_noise_is_no_breath() -> None:
    burst = coloured_noise(round(0.3 * AGENT_HZ), -40, np.random.default_rng(2))
    timing, _, word = _answer(burst, silence(0.2), WORD)
    assert timing.ttfa_ms == pytest.approx(word, abs=3)
    assert "breath" not in [u.kind for u in timing.utterances]


def test_noise_that_fades_in_and_goes_on_under_the_word_is_no_breath() -> None:
    hiss = coloured_noise(round(0.5 * AGENT_HZ) + len(WORD), -50, np.random.default_rng(2))
    hiss[: AGENT_HZ // 20] *= np.linspace(0, 1, AGENT_HZ // 20)
    mixed = hiss + np.concatenate([silence(0.5), WORD])
    timing = measure(make_recording(Said(AT_MS / 1000, mixed)).recording)
    assert timing.ttfa_ms == pytest.approx(AT_MS + 500 + onset_ms(WORD), abs=8)


def test_a_breath_that_no_word_follows_is_no_answer() -> None:
    timing = measure(make_recording(Said(AT_MS / 1000, _air(0.35, -30))).recording)
    assert timing.no_reply
    assert timing.first_sound_ms is not None
