"""Tells the caller's voice from voices behind it, by level.

A voice detector answers "is this speech?", and babble is speech: among other talkers it never falls silent and the
caller's turn never ends. The caller is the loudest voice on the line. So a window counts as the caller's only if it stands
clear of the level that the line falls back to between the caller's words, followed as a low percentile of the last
seconds. On a clean line that level is far below speech, and the gate only closes sooner than the detector, which lags.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

_MEMORY_WINDOWS: Final = 94
"""Three seconds of 32 ms windows: long enough to hold a few gaps between words, short enough to follow a changing room."""
_FLOOR_PERCENTILE: Final = 10.0
_CLEAR_DB: Final = 5.0
"""Tried on spoken turns: with 3 dB, three of six turns among six talkers at 10 dB never ended; with 5 dB one of six, and
on a clean line every marked pause was seen and the silence was dated about 40 ms earlier than by the detector alone."""
_QUIETEST_DB: Final = -80.0


@dataclass(slots=True)
class LevelGate:
    """Feed every window in order; `push` says whether it stands clear of the line's floor."""

    _levels_db: deque[float] = field(default_factory=lambda: deque(maxlen=_MEMORY_WINDOWS))

    def push(self, window: NDArray[np.int16]) -> bool:
        power = float(np.mean(np.square(window.astype(np.float64) / 32768)))
        level_db = max(_QUIETEST_DB, 10 * float(np.log10(power + 1e-12)))
        self._levels_db.append(level_db)
        return level_db >= float(np.percentile(self._levels_db, _FLOOR_PERCENTILE)) + _CLEAR_DB
