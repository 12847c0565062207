"""The agent's sound in the order in which it is heard, as windows that are given out once they have been played.

Sound may arrive long before it is heard: some agents send a whole reply at once. A caller that examined it at arrival would
examine three hundred windows between two frames, and send the second one late; a listener does not know the rest of a
sentence either. So sound waits here until it has been played, at depth 0, as `harness.recording.playout` does offline.
"""

from collections import deque
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.timeline import NS_PER_MS

WINDOW_MS: Final = 32
"""A window of the speech model (512 samples at 16 kHz)."""
BRIDGED_NS: Final = 60 * NS_PER_MS
"""A shorter gap between two messages is jitter: an agent that sends in real time is a few milliseconds late with each."""


_BEHIND_NS: Final = 2 * BRIDGED_NS
"""A window that is complete, a tick, and jitter."""
_NS: Final = 1_000_000_000


class Window(NamedTuple):
    """A stretch of sound that has been heard: a whole window, or the shorter rest before a gap."""

    start_ns: int
    end_ns: int
    samples: NDArray[np.int16]
    rate_hz: int


class DueSound:
    """The sound that has arrived and was not examined yet. Digital silence does not wait: it is a gap."""

    def __init__(self) -> None:
        self.end_ns = 0
        """Time at which all sound that has arrived is over."""
        self._pieces: deque[Window] = deque()
        self._taken = 0
        """Samples of the first piece that were given out."""
        self._not_before_ns = 0
        """No window is complete before."""

    def put(self, arrival_ns: int, samples: NDArray[np.int16], rate_hz: int) -> None:
        """Add one message. Each may have its own rate."""
        start_ns = max(arrival_ns, self.end_ns)
        self.end_ns = start_ns + len(samples) * _NS // rate_hz
        if samples.any():
            self._pieces.append(Window(start_ns, self.end_ns, samples, rate_hz))

    def drop(self, at_ns: int) -> None:
        """Remove the sound that would be heard after a time, with the rest of a window that was heard before it."""
        self.end_ns = min(self.end_ns, at_ns)
        self._pieces.clear()
        self._taken = self._not_before_ns = 0

    def behind(self, now_ns: int) -> bool:
        """True if sound waits that was heard some time ago."""
        return bool(self._pieces) and self._first_ns() < now_ns - _BEHIND_NS

    def next(self, now_ns: int, length_ms: int = WINDOW_MS) -> Window | None:
        """The next window that has been heard in whole; None if there is none yet."""
        if not self._pieces or now_ns < self._not_before_ns:
            return None
        start_ns, first = self._first_ns(), self._pieces[0]
        size = first.rate_hz * length_ms // 1000
        end_ns, count, ends = start_ns + size * _NS // first.rate_hz, size, False
        if len(first.samples) - self._taken < size:
            end_ns, count, ends = self._collected(size)
        if end_ns > now_ns or (count < size and not ends and now_ns <= end_ns + BRIDGED_NS):
            # Only a whole window has its end already: what follows a part of one may come at once.
            self._not_before_ns = end_ns if count == size else 0
            return None
        self._not_before_ns = 0
        return Window(start_ns, end_ns, self._take(count), first.rate_hz)

    def _first_ns(self) -> int:
        first = self._pieces[0]
        return first.start_ns + self._taken * _NS // first.rate_hz

    def _collected(self, size: int) -> tuple[int, int, bool]:
        """The end and the length of the sound that may become one window, and True if a gap or another rate ends it."""
        first = self._pieces[0]
        count, end_ns = len(first.samples) - self._taken, first.end_ns
        for piece in islice(self._pieces, 1, None):
            if piece.rate_hz != first.rate_hz or piece.start_ns - end_ns > BRIDGED_NS:
                return end_ns, count, True
            more = min(size - count, len(piece.samples))
            count, end_ns = count + more, piece.start_ns + more * _NS // piece.rate_hz
            if count == size:
                break
        return end_ns, count, False

    def _take(self, count: int) -> NDArray[np.int16]:
        parts: list[NDArray[np.int16]] = []
        while count > 0:
            samples = self._pieces[0].samples
            part = samples[self._taken : self._taken + count]
            parts.append(part)
            count -= len(part)
            self._taken += len(part)
            if self._taken >= len(samples):
                self._pieces.popleft()
                self._taken = 0
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
