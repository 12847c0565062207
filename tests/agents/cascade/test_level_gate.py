"""The caller is the loudest voice on the line."""

import numpy as np

from harness.agents.cascade.turn_tracker import LevelGate

WINDOW = 512


def windows(amplitudes: list[float], seed: int = 0) -> list[bool]:
    """Whether noise of each amplitude, window by window, stood clear."""
    noise = np.random.default_rng(seed)
    gate = LevelGate()
    return [gate.push((noise.standard_normal(WINDOW) * a * 32767).clip(-32768, 32767).astype(np.int16)) for a in amplitudes]


def test_a_voice_over_quieter_ones_passes_and_they_do_not() -> None:
    clear = windows([0.02] * 60 + [0.1] * 20 + [0.02] * 20)
    assert all(clear[60:80])
    assert not any(clear[80:])


def test_on_a_clean_line_speech_of_any_level_passes() -> None:
    clear = windows([0.0] * 30 + [0.002, 0.05, 0.01] * 10)
    assert all(clear[30:])
    assert not any(clear[:30])


def test_bursts_of_the_talkers_behind_stay_under_half_the_callers_height() -> None:
    clear = windows([0.02, 0.02, 0.04] * 20 + [0.2] * 20 + [0.02, 0.04] * 10)
    assert all(clear[60:80])
    assert not any(clear[80:])
