"""The agent's sound in the order in which it is heard, as windows that are given out once they have been played.

Sound may arrive long before it is heard: some agents send a whole reply at once. A caller that examined it at arrival would
examine three hundred windows between two frames, and send the second one late; a listener does not know the rest of a
sentence either. So sound waits here until it has been played, at depth 0, as `harness.recording.playout` does offline.
"""

from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.timeline import NS_PER_MS, samples_to_ns

WINDOW_MS: Final = 32
"""A window of the speech model (512 samples at 16 kHz)."""
BRIDGED_NS: Final = 60 * NS_PER_MS
"""A shorter gap between two messages is jitter: an agent that sends in real time is a few milliseconds late with each."""


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of sound that has been heard: a whole window, or the shorter rest before a gap."""

    start_ns: int
    end_ns: int
    samples: NDArray[np.int16]
    rate_hz: int


@dataclass(slots=True)
class _Piece:
    start_ns: int
    """When its first sample is heard."""
    samples: NDArray[np.int16]
    rate_hz: int
    taken: int = 0

    def at_ns(self, sample: int) -> int:
        return self.start_ns + samples_to_ns(sample, self.rate_hz)


class DueSound:
    """The sound that has arrived and was not examined yet."""

    def __init__(self) -> None:
        self.end_ns = 0
        """Time at which all sound that has arrived is over."""
        self._pieces: deque[_Piece] = deque()

    def put(self, arrival_ns: int, samples: NDArray[np.int16], rate_hz: int) -> None:
        """Add one message. Each may have its own rate."""
        start_ns = max(arrival_ns, self.end_ns)
        self.end_ns = start_ns + samples_to_ns(len(samples), rate_hz)
        if len(samples):
            self._pieces.append(_Piece(start_ns, samples, rate_hz))

    def drop(self, at_ns: int) -> None:
        """Remove the sound that would be heard after a time."""
        self.end_ns = min(self.end_ns, at_ns)
        while self._pieces and self._pieces[-1].start_ns >= at_ns:
            self._pieces.pop()
        if self._pieces:
            last = self._pieces[-1]
            last.samples = last.samples[: max(last.taken, round((at_ns - last.start_ns) * last.rate_hz / 1e9))]
            if len(last.samples) <= last.taken:
                self._pieces.pop()

    def behind(self, now_ns: int) -> bool:
        """True if sound that has been heard for longer than a window waits."""
        if not self._pieces:
            return False
        return self._pieces[0].at_ns(self._pieces[0].taken) < now_ns - 2 * WINDOW_MS * NS_PER_MS - BRIDGED_NS

    def next(self, now_ns: int) -> Window | None:
        """The next window that has been heard in whole; None if there is none yet."""
        if not self._pieces:
            return None
        first = self._pieces[0]
        size = first.rate_hz * WINDOW_MS // 1000
        whole = self._collected(size)
        start_ns, end_ns, count = first.at_ns(first.taken), whole[0], whole[1]
        if end_ns > now_ns or (count < size and not whole[2] and now_ns <= end_ns + BRIDGED_NS):
            return None
        return Window(start_ns, end_ns, self._take(count), first.rate_hz)

    def _collected(self, size: int) -> tuple[int, int, bool]:
        """The end and the length of the sound that may become one window, and True if a gap or another rate ends it."""
        first = self._pieces[0]
        count = min(size, len(first.samples) - first.taken)
        end_ns = first.at_ns(first.taken + count)
        if count == size:
            return end_ns, count, False
        for piece in islice(self._pieces, 1, None):
            if piece.rate_hz != first.rate_hz or piece.start_ns - end_ns > BRIDGED_NS:
                return end_ns, count, True
            more = min(size - count, len(piece.samples))
            count, end_ns = count + more, piece.at_ns(more)
            if count == size:
                break
        return end_ns, count, False

    def _take(self, count: int) -> NDArray[np.int16]:
        parts: list[NDArray[np.int16]] = []
        while count:
            first = self._pieces[0]
            part = first.samples[first.taken : first.taken + count]
            parts.append(part)
            count -= len(part)
            first.taken += len(part)
            if first.taken == len(first.samples):
                self._pieces.popleft()
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
