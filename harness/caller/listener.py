"""The agent's audio as the caller follows it during a call: only whether it is heard, and until when.

A coarse, running version of `harness.recording.playout` that decides when a session ends and when the next turn starts.
It is not a measurement: timing is done afterwards from the recording. "Heard" needs a level because some agents stream digital
silence or comfort noise without end.

Sound that the agent takes back before it could be understood is ignored, as timing ignores it: a caller that took it for the
reply would hang up on the answer, or speak into it.
"""

import numpy as np
from numpy.typing import NDArray

from harness.recording.withdrawn import is_withdrawn
from harness.timeline import NS_PER_MS, samples_to_ns

AUDIBLE_RMS = 33.0
"""−60 dB of full scale: 20 dB under quiet speech, over the rounding noise of a silent synthesiser."""
_BLOCK_MS = 20
_PAUSE_MS = 500
"""Longer pauses separate two utterances (`harness.timing.utterances`)."""


class Listener:
    """Follows the playout of arriving audio at depth 0."""

    def __init__(self) -> None:
        self.sound_start_ns: int | None = None
        """Time at which the first audible block since the last `mark` is (or will be) heard."""
        self.sound_end_ns: int | None = None
        """Time at which the last audible block that has arrived is (or will be) over."""
        self._playout_end_ns = 0
        self._begun_ns: int | None = None
        """Start of the current or latest utterance; None once the caller has spoken or coughed into it."""
        self._before_ns: int | None = None
        """End of the utterance before that one."""
        self._broke_off = False

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
        begins_ns = start_ns + samples_to_ns(int(edges[audible[0]]), rate_hz)
        if self.sound_start_ns is None:
            self.sound_start_ns = begins_ns
        if self.sound_end_ns is None or self._broke_off or begins_ns - self.sound_end_ns >= _PAUSE_MS * NS_PER_MS:
            self._begun_ns, self._before_ns, self._broke_off = begins_ns, self.sound_end_ns, False
        last = min(len(samples), int(edges[audible[-1]]) + block)
        self.sound_end_ns = start_ns + samples_to_ns(last, rate_hz)

    def clear(self, at_ns: int) -> None:
        """Remove the audio that the agent dropped before it was heard."""
        self._playout_end_ns = min(self._playout_end_ns, at_ns)
        if self.sound_end_ns is not None:
            self.sound_end_ns = min(self.sound_end_ns, at_ns)
        if self.sound_start_ns is not None and self.sound_start_ns >= at_ns:
            self.sound_start_ns = None
        self._broke_off = True
        if self._begun_ns is None or self.sound_end_ns is None:
            return
        if self._begun_ns >= at_ns or is_withdrawn(self._begun_ns, self.sound_end_ns, (at_ns,)):
            if self.sound_start_ns == self._begun_ns:
                self.sound_start_ns = None
            self.sound_end_ns, self._begun_ns = self._before_ns, None

    def heard_after(self, at_ns: int) -> bool:
        """True if anything audible sounds after the time given."""
        return self.sound_end_ns is not None and self.sound_end_ns > at_ns

    def mark(self) -> None:
        """Forget when the reply began: the next sound begins a new one."""
        self.sound_start_ns = self._begun_ns = None
