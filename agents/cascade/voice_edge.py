"""The last sound before a silence, to the sample, and the first one after it.

A voice detector works in windows of 32 ms, and follows a voice that fades late or, by the level gate, early: on 413 turns the
silence that it saw began 170 ms before to 30 ms after the caller's last sound. A wait that is counted from there is not the
wait that was chosen. And it takes two windows to say that the caller goes on; a pause that ends just before the decision is
then cut. So both edges are found by level, as an editor finds them by eye: sound is within 40 dB of the caller's speech, and
above the line's noise. On those turns the last sound was found within 2 ms in 92 of 100.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.cascade.recogniser import RATE_HZ
from harness.audio.level import EDGE_DB, SILENCE_DB, WINDOW_S, block_power, decibels, last_sample, speech_power

HEARD_SAMPLES: Final = 3 * RATE_HZ
"""Sound from which the level of the speech and of the noise are taken."""
SEARCHED_SAMPLES: Final = RATE_HZ // 4
"""The last sound is searched from this long before the silence that the detector saw."""
_WINDOW: Final = round(RATE_HZ * WINDOW_S)
_QUIET: Final = 3 * _WINDOW
"""The line's noise is that of the quietest 24 ms: even a silence that was seen 150 ms too soon has as much of it by then."""
_OVER_NOISE_DB: Final = 6.0
"""Steady noise varies by half a decibel between windows of 8 ms."""


@dataclass(frozen=True, slots=True)
class VoiceEdge:
    """The end of speech: the samples from it to the end of what was searched, and the level from which sound counts."""

    silent_samples: int
    sound_from_db: float

    def is_sound(self, samples: NDArray[np.float32]) -> bool:
        """True if 8 ms of `samples` are sound: the caller may be going on."""
        return decibels(float(block_power(samples, _WINDOW).max(initial=0.0))) >= self.sound_from_db


def voice_edge(samples: NDArray[np.float32], silence_samples: int) -> VoiceEdge | None:
    """The edge of the speech in `samples` (16 kHz), whose last `silence_samples` the detector takes for silence; None if
    nothing was said there."""
    heard = samples[-HEARD_SAMPLES:]
    speech_db = decibels(speech_power(heard, RATE_HZ))
    if speech_db <= SILENCE_DB:
        return None
    searched = heard[-silence_samples - SEARCHED_SAMPLES :]
    noise = float(block_power(searched[len(searched) % _QUIET :], _QUIET).min(initial=1.0))
    sound_from_db = max(speech_db - EDGE_DB, decibels(noise) + _OVER_NOISE_DB)
    last = last_sample(searched, RATE_HZ, decibels(speech_power(searched, RATE_HZ)) - sound_from_db)
    return None if last is None else VoiceEdge(len(searched) - 1 - last, sound_from_db)
