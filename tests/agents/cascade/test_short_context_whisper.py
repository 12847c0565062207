"""The pure parts of short-window transcription: the window's length and the guard against loops."""

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.agents.cascade.settings import StreamingWhisper
from harness.agents.cascade.short_context_whisper import RATE_HZ, ShortContextWhisper, looks_looped, window_frames
from harness.models.store import resolve


def test_window_is_clip_and_padding_within_bounds() -> None:
    assert window_frames(100, least=800, padding=200) == 800
    assert window_frames(900, least=800, padding=200) == 1100
    assert window_frames(2950, least=800, padding=200) == 3000


def test_loops_are_seen_and_speech_is_not_mistaken_for_them() -> None:
    assert looks_looped("and I just " * 30, seconds=10)
    assert looks_looped("one two three four five six seven eight nine ten eleven twelve", seconds=0.5)
    assert not looks_looped("I lost my job last week and I haven't told my wife yet.", seconds=3.4)
    assert not looks_looped("No, no, no.", seconds=1.0)


class _Loops(ShortContextWhisper):
    """Its decoder loops over every window, and takes its time over it."""

    windows: list[int]

    def _decode(self, features: NDArray[np.float32], window: int, seconds: float) -> tuple[str, NDArray[np.float32]]:
        if not hasattr(self, "windows"):
            return super()._decode(features, window, seconds)
        self.windows.append(window)
        time.sleep(0.05)
        return "I told him so " + "and I just left " * 30, np.zeros((1, 384), np.float32)


@pytest.mark.models
def test_a_decoder_that_loops_costs_a_bounded_time_and_what_is_known_is_used() -> None:
    weights = str(resolve("whisper-tiny.en"))
    hurried = _Loops(StreamingWhisper(service="streaming-whisper", threads=1), weights, guard_s=0.04)
    hurried.windows = []
    heard = hurried.transcribe(np.zeros(3 * RATE_HZ, np.float32))
    assert len(hurried.windows) == 1
    assert heard.text == "I told him so and I just left and I just left"

    unhurried = _Loops(StreamingWhisper(service="streaming-whisper", threads=1), weights, guard_s=60)
    unhurried.windows = []
    unhurried.transcribe(np.zeros(3 * RATE_HZ, np.float32))
    assert unhurried.windows == [800, 1600, 3000]
