"""The caller's voice and not voices behind it, by level.

A voice detector answers "is this speech?", and babble is speech: among other talkers it never falls silent and the caller's
turn never ends. The caller is the loudest voice on the line. So a window counts as the caller's only if it is clearly above
the noise floor of the line between the caller's words, tracked as a low percentile of the last seconds. On a clean line that
level is far below speech, and the gate only closes sooner than the detector, which lags.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
