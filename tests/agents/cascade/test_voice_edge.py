"""The edges of a voice: its last sound to the sample, in quiet and over noise, and the first sound after it."""

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.agents.cascade.recogniser import RATE_HZ
from harness.agents.cascade.voice_edge import voice_edge
from harness.audio.level import last_sample

RNG = np.random.default_rng(3)


def voice(seconds: float, fade_s: float = 0.0) -> NDArray[np.float32]:
    """A hum of 120 Hz with overtones, fading by 60 dB at its end."""
    t = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    hum = sum(np.sin(2 * np.pi * 120 * k * t) / k for k in range(1, 12)) * 0.1
    fade = np.ones(t.size)
    if fade_s:
        fade[-int(fade_s * RATE_HZ) :] = 10 ** (np.linspace(0, -60, int(fade_s * RATE_HZ)) / 20)
    return np.asarray(hum * fade, np.float32)


@pytest.mark.parametrize("fade_s", [0.0, 0.15])
@pytest.mark.parametrize("lag_ms", [-150, -40, 0, 30])
def test_the_last_sound_is_found_wherever_the_detector_saw_the_silence(fade_s: float, lag_ms: int) -> None:
    said = voice(2.0, fade_s)
    silence = RATE_HZ // 5
    sound = np.concatenate([said, np.zeros(silence + lag_ms * RATE_HZ // 1000, np.float32)])
    edge = voice_edge(sound, silence)
    truth = last_sample(said, RATE_HZ)
    assert edge is not None
    assert truth is not None
    assert len(sound) - edge.silent_samples - 1 == pytest.approx(truth, abs=RATE_HZ // 500)


def test_over_noise_the_noise_is_no_sound() -> None:
    noise = RNG.normal(0, 0.003, 2 * RATE_HZ + RATE_HZ // 5).astype(np.float32)
    noise[: 2 * RATE_HZ] += voice(2.0)
    edge = voice_edge(noise, RATE_HZ // 5)
    assert edge is not None
    assert edge.silent_samples == pytest.approx(RATE_HZ // 5, abs=RATE_HZ // 200)
    assert not edge.is_sound(noise[-RATE_HZ // 50 :])
    assert edge.is_sound(np.concatenate([noise[-RATE_HZ // 100 :], voice(0.01)]))


def test_silence_and_clicks_have_no_edge() -> None:
    assert voice_edge(np.zeros(RATE_HZ, np.float32), RATE_HZ // 5) is None
    assert voice_edge(np.zeros(0, np.float32), RATE_HZ // 5) is None
    edge = voice_edge(np.concatenate([voice(1.0), np.zeros(RATE_HZ // 5, np.float32)]), RATE_HZ // 5)
    assert edge is not None
    assert not edge.is_sound(np.zeros(RATE_HZ // 50, np.float32))
    assert not edge.is_sound(np.zeros(0, np.float32))
