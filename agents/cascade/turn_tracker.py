"""The detection of speech and pauses from the voice probabilities of 32 ms windows.

Counted in samples of audio, never by the clock on the wall, so that the same audio gives the same turns however busy the
machine is. A start needs three windows in a row, or a click would open a turn; a resumption needs two, because one window
of breath must not throw away a reply that is already prepared. Who speaks soon after a turn was taken for over is going on with
it, and an answer that has begun into a pause must stop at once: there two windows are a start.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

WINDOW_SAMPLES: Final = 512
"""Silero's window at 16 kHz: 32 ms."""
_ONSET_WINDOWS: Final = 3
_RESUME_WINDOWS: Final = 2
GOES_ON_WITHIN_SAMPLES: Final = 2 * 16_000
"""Time after a presumed end in which renewed speech continues the turn: a reply has hardly begun by then."""


class SpeechEvent(Enum):
    """The change that a window causes."""

    STARTED = auto()
    FELL_SILENT = auto()
    RESUMED = auto()


class _State(Enum):
    QUIET = auto()
    SPEAKING = auto()
    PAUSING = auto()


@dataclass(slots=True)
class TurnTracker:
    """A tracker of one caller. Sample positions count from the first window pushed."""

    speech_probability: float
    position: int = 0
    """Samples seen."""
    speech_start: int = 0
    """Start of the current turn's speech."""
    silence_start: int = 0
    """Start of the current pause."""
    _state: _State = _State.QUIET
    _voiced: int = 0
    _goes_on_until: int = 0

    @property
    def in_turn(self) -> bool:
        return self._state is not _State.QUIET

    @property
    def pausing(self) -> bool:
        """True if the caller is in a turn and silent now."""
        return self._state is _State.PAUSING

    @property
    def voiced(self) -> bool:
        """True if the last window was voiced: in a pause, the caller may just be going on."""
        return self._voiced > 0

    def push(self, probability: float) -> SpeechEvent | None:
        """Take the voice probability of the next window."""
        begin = self.position
        self.position += WINDOW_SAMPLES
        voiced = probability >= self.speech_probability
        self._voiced = self._voiced + 1 if voiced else 0
        needed = _RESUME_WINDOWS if begin < self._goes_on_until else _ONSET_WINDOWS
        if self._state is _State.QUIET and self._voiced >= needed:
            self._state = _State.SPEAKING
            self.speech_start = begin - (needed - 1) * WINDOW_SAMPLES
            return SpeechEvent.STARTED
        if self._state is _State.SPEAKING and not voiced:
            self._state = _State.PAUSING
            self.silence_start = begin
            return SpeechEvent.FELL_SILENT
        if self._state is _State.PAUSING and self._voiced >= _RESUME_WINDOWS:
            self._state = _State.SPEAKING
            return SpeechEvent.RESUMED
        return None

    def end_turn(self) -> None:
        """End the turn: the next speech is a new one, or soon after it the same turn continued."""
        self._goes_on_until = self.position + GOES_ON_WITHIN_SAMPLES
        self._state = _State.QUIET
        self._voiced = 0
