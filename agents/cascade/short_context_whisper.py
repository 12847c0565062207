"""Whisper with an encoder window only as long as the speech.

Nearly all the time that a short clip takes in Whisper's 30 s window is spent on padding: 305 ms of 400 for tiny.en on two
cores. A window of the clip plus two seconds, and eight at least, gave the same word errors in 46–72 ms. The padding must be
zero *feature* frames (silence made 249 errors in 327 words), and shorter windows let the decoder fall into loops; so a guard
decodes again over a longer window, also when a grown clip has far fewer words than its beginning had.
"""

import threading
import time
from collections.abc import Sequence
from itertools import count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.cascade.recogniser import RATE_HZ, Heard, looks_looped
from harness.agents.cascade.reply_loops import before_repetition
from harness.agents.cascade.settings import ShortContext

_FRAME_SAMPLES: Final = 160
_FULL_WINDOW_FRAMES: Final = 3_000
_GENERATED_LIMIT: Final = 224
"""Tokens in one window at most, as in Whisper's reference decoder."""
_TOKENS_PER_SECOND: Final = 12
"""Twice the words that anyone says: a decoder in a loop is stopped there instead of at `_GENERATED_LIMIT`, which took it two
seconds for five seconds of speech."""
_AT_ONCE: Final = 2
"""Transcriptions that may run side by side: what is heard again, and what a caller waits for. Beside 24 s that took 1.5 s, four
seconds of speech took 0.27 s, as they do alone (two cores, AVX2)."""
_GUARD_S: Final = 0.4
"""Total time for the guard: no longer window is begun after it. A caller waits for this transcript, and in one call of a
first run the guard alone took five seconds."""


def window_frames(clip_frames: int, least: int, padding: int) -> int:
    """Feature frames (10 ms each) to encode for a clip of `clip_frames`."""
    return min(_FULL_WINDOW_FRAMES, max(least, clip_frames + padding))


class ShortContextWhisper:
    """A faster-whisper model decoded greedily, without timestamps, over short windows. Safe to share by sessions."""

    piece_from_s = 4.0
    """A piece of up to 6 s costs no more than a shorter one would (the window is 8 s at least, and 2 s of it are padding), so
    it is left to grow, with 2 s left to find a pause in. Over the 60 regular turns of heart-open, heard again: from 4 s 9.4 %
    misheard, from 5 s 9.6 %."""
    stretch_most_s = 24.0
    """Whisper takes 30 s at most, and two of them are padding. Over 40 last turns of `heart-open`, 4.1 % of the words were
    misheard with 24 s, 7.7 % with 12 and 7.4 % with 8."""

    def __init__(self, settings: ShortContext, weights: str, guard_s: float = _GUARD_S) -> None:
        from faster_whisper import WhisperModel

        self._settings = settings
        self._guard_s = guard_s
        self._whisper = WhisperModel(
            weights,
            device=settings.device,
            compute_type=settings.compute_type,
            cpu_threads=settings.threads,
            num_workers=_AT_ONCE,
        )
        self._prompt = self._opening()
        self.transcribe(np.zeros(RATE_HZ, np.float32))

    def _opening(self) -> list[int]:
        token = self._whisper.hf_tokenizer.token_to_id
        opening = ["<|startoftranscript|>"]
        if self._whisper.model.is_multilingual:
            opening += ["<|en|>", "<|transcribe|>"]
        return [int(token(name)) for name in [*opening, "<|notimestamps|>"]]

    def text_of(self, _tokens: Sequence[int]) -> str:
        return ""

    def agreed(self, _one: Sequence[int], _other: Sequence[int]) -> tuple[int, ...]:
        """Nothing: forcing a known beginning on this decoder saves no time."""
        return ()

    def transcribe(
        self,
        samples: NDArray[np.float32],
        least_words: int = 0,
        known: Sequence[int] = (),
        stop: threading.Event | None = None,
    ) -> Heard:
        """The words in `samples` (16 kHz, -1 to 1, at most 30 s: what is longer is cut at the start).

        `least_words`: fewer are not accepted, because the beginning of these samples already gave more. It cannot be stopped.
        """
        del known, stop
        samples = samples[-_FULL_WINDOW_FRAMES * _FRAME_SAMPLES :]
        features = self._whisper.feature_extractor(samples, padding=0)[:, :_FULL_WINDOW_FRAMES]
        clip_frames = features.shape[-1]
        window = window_frames(clip_frames, self._settings.least_window_frames, self._settings.padding_frames)
        seconds = len(samples) / RATE_HZ
        best, looped, began_s = "", "", time.monotonic()
        for retries in count():
            text = self._decode(features, window, seconds)
            if looks_looped(text, seconds):
                looped = looped or before_repetition(text)
            else:
                best = max(best, text, key=lambda heard: len(heard.split()))
                if len(text.split()) >= least_words:
                    return Heard(text, retries)
            if window == _FULL_WINDOW_FRAMES or time.monotonic() - began_s > self._guard_s:
                return Heard(best or looped, retries)
            window = min(_FULL_WINDOW_FRAMES, window * 2)
        raise AssertionError("unreachable: the window grows until it is full")

    def _decode(self, features: NDArray[np.float32], window: int, seconds: float) -> str:
        most = len(self._prompt) + min(2 * _GENERATED_LIMIT, 16 + round(seconds * _TOKENS_PER_SECOND))
        padded = np.zeros((1, features.shape[0], window), np.float32)
        padded[0, :, : min(window, features.shape[1])] = features[:, :window]
        encoded = self._whisper.encode(padded[0])
        results: list[Any] = self._whisper.model.generate(
            encoded, [self._prompt], beam_size=1, max_length=most, suppress_blank=True
        )
        return str(self._whisper.hf_tokenizer.decode(results[0].sequences_ids[0])).strip()
