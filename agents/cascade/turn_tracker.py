"""The detection of speech and pauses from the voice probabilities of 32 ms windows.

Counted in samples of audio, never by the clock on the wall, so that the same audio gives the same turns however busy the
machine is. A start needs three windows in a row, or a click would open a turn; a resumption needs two, because one window of
breath must not throw away a reply that is already prepared. Who speaks soon after a turn was taken for over is going on with
it, and an answer that has begun into a pause must stop at once: there two windows are a start.

A detector answers "is this speech?", and babble is speech: among other talkers it never falls silent. The caller is the
loudest voice on the line, so `LevelGate` passes only windows clearly above the line's noise floor, a low percentile of the
last seconds.
"""

from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

import numpy as np
from numpy.typing import NDArray

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


_MEMORY_WINDOWS: Final = 94
"""Three seconds of 32 ms windows: long enough for a few gaps between words, short enough to follow a changing room."""
_FLOOR_PERCENTILE: Final = 10.0
_CALLER_PERCENTILE: Final = 90.0
_CLEAR_SHARE: Final = 0.5
_LEAST_CLEAR_DB: Final = 5.0
_MOST_CLEAR_DB: Final = 8.0
"""A window must be half way between the noise floor and the caller's level, which follows how loud the talkers behind are.
Tried on the 60 turns of heart-open under `babble10`, with the waits of `polaris-like` and the language model's score held
still: with 5 dB whatever the levels, 5 turns were open two seconds after their end, and the median wait was 521 ms; half
way, but 5 to 8 dB, 1 turn and 413 ms, for 10 of 172 short pauses cut instead of 5. A share of 0.6 up to 10 dB took more gaps
between words for silences of 410 ms (126, against 52 and 11). On the clean line the median silence is seen 1 ms sooner."""
_QUIETEST_DB: Final = -80.0


@dataclass(slots=True)
class LevelGate:
    """The gate. It needs every window in order; `push` returns True for one that is clearly above the noise floor."""

    _levels_db: deque[float] = field(default_factory=lambda: deque(maxlen=_MEMORY_WINDOWS))

    def push(self, window: NDArray[np.int16]) -> bool:
        power = float(np.mean(np.square(window.astype(np.float64) / 32768)))
        level_db = max(_QUIETEST_DB, 10 * float(np.log10(power + 1e-12)))
        self._levels_db.append(level_db)
        floor_db, caller_db = np.percentile(self._levels_db, [_FLOOR_PERCENTILE, _CALLER_PERCENTILE])
        clear_db = min(max(_CLEAR_SHARE * (caller_db - floor_db), _LEAST_CLEAR_DB), _MOST_CLEAR_DB)
        return bool(level_db >= floor_db + clear_db)
