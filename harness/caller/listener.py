"""What the caller must know about the agent's audio while the call runs: only whether, and until when, it is heard.

A coarse, running version of `harness.recording.playout` that decides when a session ends and when the next turn starts.
It is no measurement: timing is done afterwards from the recording. "Heard" needs a level because some agents stream digital
silence or comfort noise without end.
"""

import numpy as np
from numpy.typing import NDArray

from harness.timeline import samples_to_ns

AUDIBLE_RMS = 33.0
"""−60 dB of full scale: 20 dB under quiet speech, over the rounding noise of a silent synthesiser."""
_BLOCK_MS = 20


class Listener:
    """Follows the playout of arriving audio at depth 0."""

    def __init__(self) -> None:
        self.sound_start_ns: int | None = None
        """When the first audible block since the last `mark` is (or will be) heard."""
        self.sound_end_ns: int | None = None
        """When the last audible block that has arrived is (or will be) over."""
        self._playout_end_ns = 0

    def hear(self, arrival_ns: int, samples: NDArray[np.int16], rate_hz: int) -> None:
        """Take one message of agent audio."""
        start_ns = max(arrival_ns, self._playout_end_ns)
        self._playout_end_ns = start_ns + samples_to_ns(len(samples), rate_hz)
        block = max(1, rate_hz * _BLOCK_MS // 1000)
        edges = np.arange(0, len(samples), block)
        energy = np.add.reduceat(samples.astype(np.float64) ** 2, edges) if len(samples) else np.zeros(0)
        audible = np.flatnonzero(energy / np.diff(np.append(edges, len(samples))) > AUDIBLE_RMS**2)
        if not len(audible):
            return
        if self.sound_start_ns is None:
            self.sound_start_ns = start_ns + samples_to_ns(int(edges[audible[0]]), rate_hz)
        last = min(len(samples), int(edges[audible[-1]]) + block)
        self.sound_end_ns = start_ns + samples_to_ns(last, rate_hz)

    def clear(self, at_ns: int) -> None:
        """The agent dropped what had not been heard yet."""
        self._playout_end_ns = min(self._playout_end_ns, at_ns)
        if self.sound_end_ns is not None:
            self.sound_end_ns = min(self.sound_end_ns, at_ns)
        if self.sound_start_ns is not None and self.sound_start_ns >= at_ns:
            self.sound_start_ns = None

    def heard_after(self, at_ns: int) -> bool:
        """Whether anything audible sounds after the time given."""
        return self.sound_end_ns is not None and self.sound_end_ns > at_ns

    def mark(self) -> None:
        """Forget when the reply began: what is heard next begins a new one."""
        self.sound_start_ns = None
