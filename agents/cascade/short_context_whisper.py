"""Whisper with an encoder window only as long as the speech.

Whisper was trained on 30 s windows, and nearly all the time that a short clip takes is spent encoding padding: on two CPU
cores 305 ms of 400 for tiny.en. CTranslate2 encodes any length. A window of the clip plus two seconds, and eight at least,
gave the same word errors (2 in 327 words, against 0 with the full window) in 46–72 ms. Two traps, both measured:
the padding must be zero *feature* frames (padding with silence made 249 errors in 327), and windows shorter than
this let the decoder fall into loops. So a guard checks each result and decodes again over a longer window. The same is done
when a decoder stops in mid-speech, which shows when a grown clip has far fewer words than its beginning had.
"""

import time
import zlib
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.cascade.filled_pause import STATES
from harness.agents.cascade.reply_loops import before_repetition
from harness.agents.cascade.settings import StreamingWhisper

RATE_HZ: Final = 16_000
_FRAME_SAMPLES: Final = 160
_FULL_WINDOW_FRAMES: Final = 3_000
_COMPRESSION_LIMIT: Final = 2.4
"""Whisper's own bound: text that zlib shrinks more than this repeats itself."""
_WORDS_PER_SECOND_LIMIT: Final = 6.0
"""Fast speech has four words a second; a decoder that claims more than six is making them up."""
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


@dataclass(frozen=True, slots=True)
class Heard:
    """A transcript, and how often the guard had to lengthen the window for it.

    `states` are the encoder's for the last `STATES` times 20 ms, for scorers that listen to more than words.
    """

    text: str
    retries: int
    states: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)


def window_frames(clip_frames: int, least: int, padding: int) -> int:
    """Feature frames (10 ms each) to encode for a clip of `clip_frames`."""
    return min(_FULL_WINDOW_FRAMES, max(least, clip_frames + padding))


def looks_looped(text: str, seconds: float) -> bool:
    """True if a transcript repeats itself, or has more words than anyone could say in `seconds`."""
    data = text.encode()
    if len(data) > 20 and len(data) / len(zlib.compress(data)) > _COMPRESSION_LIMIT:
        return True
    return len(text.split()) > 3 + seconds * _WORDS_PER_SECOND_LIMIT


class ShortContextWhisper:
    """A faster-whisper model decoded greedily, without timestamps, over short windows. Safe to share by sessions."""

    def __init__(self, settings: StreamingWhisper, weights: str, guard_s: float = _GUARD_S) -> None:
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

    def transcribe(self, samples: NDArray[np.float32], least_words: int = 0) -> Heard:
        """The words in `samples` (16 kHz, -1 to 1, at most 30 s: what is longer is cut at the start).

        `least_words`: fewer are not accepted, because the beginning of these samples already gave more.
        """
        samples = samples[-_FULL_WINDOW_FRAMES * _FRAME_SAMPLES :]
        features = self._whisper.feature_extractor(samples, padding=0)[:, :_FULL_WINDOW_FRAMES]
        clip_frames = features.shape[-1]
        window = window_frames(clip_frames, self._settings.least_window_frames, self._settings.padding_frames)
        seconds = len(samples) / RATE_HZ
        best, known, began_s = "", "", time.monotonic()
        for retries in count():
            text, states = self._decode(features, window, seconds)
            if looks_looped(text, seconds):
                known = known or before_repetition(text)
            else:
                best = max(best, text, key=lambda heard: len(heard.split()))
                if len(text.split()) >= least_words:
                    return Heard(text, retries, states)
            if window == _FULL_WINDOW_FRAMES or time.monotonic() - began_s > self._guard_s:
                return Heard(best or known, retries, states)
            window = min(_FULL_WINDOW_FRAMES, window * 2)
        raise AssertionError("unreachable: the window grows until it is full")

    def _decode(self, features: NDArray[np.float32], window: int, seconds: float) -> tuple[str, NDArray[np.float32]]:
        most = len(self._prompt) + min(2 * _GENERATED_LIMIT, 16 + round(seconds * _TOKENS_PER_SECOND))
        padded = np.zeros((1, features.shape[0], window), np.float32)
        padded[0, :, : min(window, features.shape[1])] = features[:, :window]
        encoded = self._whisper.encode(padded[0])
        results: list[Any] = self._whisper.model.generate(
            encoded, [self._prompt], beam_size=1, max_length=most, suppress_blank=True
        )
        # A state covers two frames.
        spoken = max(1, min(features.shape[1], window) // 2)
        states = np.array(encoded, dtype=np.float32)[0, max(0, spoken - STATES) : spoken]
        return str(self._whisper.hf_tokenizer.decode(results[0].sequences_ids[0])).strip(), states
