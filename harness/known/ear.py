"""The ear of a known agent: where its caller begins and ends, by level alone.

A speech model would decide later than the sound does, and by how much nobody could say. A level is exact to the sample, which a
truth has to be; the price is that the caller's line has to be quiet, as that of a synthesised caller is.
"""

from typing import Final

import numpy as np

from harness.audio.pcm import Int16
from harness.timeline import samples_to_ns

UNDER_PEAK: Final = 0.01
"""−40 dB of the loudest sample so far, at which a listener in a quiet room loses a voice (`harness.audio.level`)."""
LEAST: Final = 100
"""−50 dB of full scale: over what a codec leaves in silence."""
CLEARLY: Final = 0.1
"""−20 dB of the loudest sample so far, at which no codec rings."""
PAUSE_NS: Final = 200_000_000
"""Silence between two utterances at least; the closure of a plosive lasts 90 ms."""


class Ear:
    """Follows one caller. Times are those of arrival, in ns of the monotonic clock. `rings_ns`: how long the line's codec may
    ring after a sound that ends at once; a voice of a person fades more slowly, so a fall as quick as that is the end itself.
    """

    def __init__(self, rate_hz: int, rings_ns: int = 0) -> None:
        self._rate_hz, self._rings_ns = rate_hz, rings_ns
        self._peak = self._clear_ns = 0
        self.begin_ns = 0
        """Onset of the caller's last stretch of sound after a pause; 0 before the first."""
        self.end_ns = 0
        """The end of the caller's last loud sample; 0 before the first."""

    def hear(self, samples: Int16, arrived_ns: int) -> bool:
        """True if the caller begins in these samples, after a pause or for the first time; they ended as they arrived."""
        size = np.abs(samples.astype(np.int32))
        self._peak = max(self._peak, int(size.max(initial=0)))
        loud = np.flatnonzero(size > max(LEAST, UNDER_PEAK * self._peak))
        if not len(loud):
            return False
        first_ns, last_ns = (arrived_ns - samples_to_ns(len(samples) - int(k), self._rate_hz) for k in (loud[0], loud[-1] + 1))
        begins = not self.end_ns or first_ns - self.end_ns > PAUSE_NS
        if begins:
            self.begin_ns = first_ns
        if len(clear := np.flatnonzero(size > CLEARLY * self._peak)):
            self._clear_ns = arrived_ns - samples_to_ns(len(samples) - int(clear[-1]) - 1, self._rate_hz)
        self.end_ns = self._clear_ns if last_ns - self._clear_ns <= self._rings_ns else last_ns
        return begins
