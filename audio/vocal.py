"""The detection of vocal sound: silero VAD (`harness.audio.silero_net`), run over whole signals.

The model decides *whether* a sound is vocal, not *where* it starts (`harness.audio.onset`). It needs the last 64 samples of the
window before in front of each window. Non-speech disturbs its memory, so the memory is reset for every stretch of sound, and
inside one after two seconds that end in clear non-speech. At its own threshold it accepts melodies, hums and blips, but with
little conviction: 99 % of voices, whispers aside, have 64 ms at 0.95 and more, of 440 other sounds none has; a whisper goes on
for a fifth of a second without a pitch, a note never does (docs/decisions/timing-speech-or-not).
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.audio import silero_net, voicing
from harness.audio.level import block_power
from harness.audio.silero_net import CONTEXT, SileroNet, fresh

RATE_HZ: Final = 16_000
WINDOW: Final = silero_net.WINDOW
ENTER: Final = 0.5
"""The model's own recommended threshold."""
LEAVE: Final = 0.35
"""Hysteresis of 0.15, as the model's authors use."""
SURE: Final = 0.95
SURE_WINDOWS: Final = 2
NEARLY_SURE: Final = 0.8
NEARLY_SURE_WINDOWS: Final = 5
LONG_WINDOWS: Final = 20
"""A voice in noise of 5 dB, or over an old telephone line, convinces less, and for longer: 0.64 s over `ENTER`, of which 160 ms
are nearly sure. Of 288 other sounds (docs/decisions/timing-speech-or-not.md) it takes none that 64 ms at 0.95 does not."""
AIRY_WINDOWS: Final = 6
"""Windows over `ENTER` of a voice without pitch: 192 ms, longer than a blip or a cough that the model half accepts."""
MOST_PITCHED: Final = 0.45
"""Share of frames with a pitch: whispers and breathy voices 0–0.51, music and notes that the model half accepts 0.47–1."""
LEVEL_DB: Final = -20.0
MOST_GAIN_DB: Final = 20.0
_LOUDEST_S: Final = 0.25
"""Longer than a click, shorter than a word."""
_RESET_AFTER: Final = round(2.0 * RATE_HZ / WINDOW)
_QUIET_WINDOWS: Final = 5
_QUIET: Final = 0.1

VocalDetector = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""A function from mono float32 at 16 kHz to one probability of voice for each whole window of 512 samples."""


class SpeechStream:
    """The model over one stream of sound, which comes in pieces of any length, as during a call."""

    def __init__(self, net: SileroNet) -> None:
        self._net = net
        self._waiting = np.zeros(0, np.float32)
        self.reset()

    def reset(self) -> None:
        """Forget the sound before: the model's memory is of what it heard in this stretch."""
        self._memory, self._context = fresh(), np.zeros(CONTEXT, np.float32)

    def push(self, samples: NDArray[np.float32]) -> list[float]:
        """The probability of voice of each window of `WINDOW` samples that is now complete; mono float32 at 16 kHz."""
        self._waiting = np.concatenate([self._waiting, samples])
        whole = len(self._waiting) // WINDOW
        found = [self._window(self._waiting[k * WINDOW : (k + 1) * WINDOW]) for k in range(whole)]
        self._waiting = self._waiting[whole * WINDOW :]
        return found

    def _window(self, window: NDArray[np.float32]) -> float:
        found, self._memory = self._net.hear(np.concatenate((self._context, window)), self._memory)
        self._context = window[-CONTEXT:]
        return found


def speech_stream() -> SpeechStream:
    """A new stream of the detector."""
    return SpeechStream(silero_net.loaded())


def silero() -> VocalDetector:
    """The detector over whole signals."""
    return _probabilities


def vocal_spans(probabilities: NDArray[np.float32]) -> list[tuple[int, int]]:
    """The stretches of accepted windows, as (first, past the last), with hysteresis."""
    spans: list[tuple[int, int]] = []
    start: int | None = None
    for k, p in enumerate(probabilities):
        if start is None and p >= ENTER:
            start = k
        elif start is not None and p < LEAVE:
            spans.append((start, k))
            start = None
    if start is not None:
        spans.append((start, len(probabilities)))
    return spans


def is_voice(probabilities: NDArray[np.float32], sound: NDArray[np.float32]) -> bool:
    """True if the windows that the model accepted are a voice; `sound` is their sound at 16 kHz."""
    accepted = np.count_nonzero(probabilities >= ENTER)
    if np.count_nonzero(probabilities >= SURE) >= SURE_WINDOWS:
        return True
    if accepted >= LONG_WINDOWS and np.count_nonzero(probabilities >= NEARLY_SURE) >= NEARLY_SURE_WINDOWS:
        return True
    if accepted < AIRY_WINDOWS:
        return False
    pitch = voicing.voicing(np.asarray(soxr.resample(sound, RATE_HZ, voicing.RATE_HZ, quality="HQ"), np.float32))
    return len(pitch) > 0 and float(np.mean(pitch >= voicing.VOICED)) <= MOST_PITCHED


def at_one_level(sound: NDArray[np.float32]) -> NDArray[np.float32]:
    """A stretch of sound with its loudest quarter of a second at `LEVEL_DB`; the model misses quiet whispers else."""
    loudest = float(block_power(sound, round(_LOUDEST_S * RATE_HZ)).max(initial=0.0))
    gain = 10 ** (LEVEL_DB / 20) / np.sqrt(max(loudest, 1e-12))
    levelled: NDArray[np.float32] = (sound * min(gain, 10 ** (MOST_GAIN_DB / 20))).astype(np.float32)
    return levelled


def _probabilities(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    windows = len(samples) // WINDOW
    found = np.zeros(windows, np.float32)
    stream, age, quiet = speech_stream(), 0, 0
    for k in range(windows):
        (found[k],) = stream.push(samples[k * WINDOW : (k + 1) * WINDOW])
        age, quiet = age + 1, quiet + 1 if found[k] < _QUIET else 0
        if age >= _RESET_AFTER and quiet >= _QUIET_WINDOWS:
            stream.reset()
            age = quiet = 0
    return found
