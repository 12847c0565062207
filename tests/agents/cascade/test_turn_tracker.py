"""Turns and pauses from voice probabilities."""

import numpy as np

from harness.agents.cascade.turn_tracker import WINDOW_SAMPLES, LevelGate, SpeechEvent, TurnTracker


def events(pattern: str) -> list[tuple[int, SpeechEvent]]:
    """Windows as letters: `x` voiced, `.` silent; returns (window number, event)."""
    tracker = TurnTracker(0.5)
    seen = [(k, tracker.push(0.9 if letter == "x" else 0.1)) for k, letter in enumerate(pattern)]
    return [(k, event) for k, event in seen if event is not None]


def test_a_turn_with_a_pause() -> None:
    assert events("...xxxx...xx..") == [
        (5, SpeechEvent.STARTED),
        (7, SpeechEvent.FELL_SILENT),
        (11, SpeechEvent.RESUMED),
        (12, SpeechEvent.FELL_SILENT),
    ]


def test_clicks_open_no_turn_and_breaths_end_no_pause() -> None:
    assert events(".xx..x.xx.") == []
    assert events("xxx..x..x..")[1:] == [(3, SpeechEvent.FELL_SILENT)]


def test_the_pause_is_dated_from_its_first_silent_window() -> None:
    tracker = TurnTracker(0.5)
    for voiced in (1, 1, 1, 1, 0, 0, 0):
        tracker.push(float(voiced))

    assert tracker.silence_start == 4 * WINDOW_SAMPLES
    assert tracker.speech_start == 0
    tracker.end_turn()
    assert not tracker.in_turn


def test_who_goes_on_soon_after_a_turn_was_ended_is_heard_a_window_sooner() -> None:
    def windows_until_start(silent: int) -> int:
        tracker = TurnTracker(0.5)
        for voiced in (1, 1, 1, 1, 0, 0, 0):
            tracker.push(float(voiced))
        tracker.end_turn()
        for _ in range(silent):
            tracker.push(0.0)
        return next(k for k in range(1, 9) if tracker.push(1.0) is SpeechEvent.STARTED)

    assert windows_until_start(5) == 2
    assert windows_until_start(2 * 16_000 // WINDOW_SAMPLES + 1) == 3


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
