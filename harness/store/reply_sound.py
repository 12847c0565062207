"""The sound of a reply, cut from a session: from its first measured sound to its end, without the delay before it.

Whoever compares two replies by ear must not hear who answered sooner, or latency would be on the axis of quality. The page's
votes, listening tests and judges that hear cut by this one rule; all but the page, which plays a part of the session's own
file, bring replies to one active speech level (ITU-T P.56, −26 dB of full scale, the customary level of listening tests),
because otherwise the louder one would win.
"""

from typing import Final

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.audio.level import speech_power
from harness.recording import playout
from harness.recording.record import Recording
from harness.timing.figures import TurnTiming

LEAD_MS: Final = 60.0
"""Sound before the first measured sound: a player begins on a frame of the file, and must not cut a consonant."""
TAIL_MS: Final = 300.0
"""Sound after the last: a player notices the end up to a quarter of a second late."""
RATE_HZ: Final = 24_000
LEVEL_DB: Final = -26.0
_SILENT: Final = 1e-4

Sound = NDArray[np.float32]


def part_of(timing: TurnTiming | None) -> tuple[float, float] | None:
    """Begin and end of a turn's reply on the recording's timeline, in ms; None where no sound of it was measured."""
    if timing is None or timing.sound_at_ms is None:
        return None
    begin_ms = max(0.0, timing.spoken_end_ms + timing.sound_at_ms - LEAD_MS)
    end_ms = timing.spoken_end_ms + max((u.end_ms for u in timing.utterances), default=0.0) + TAIL_MS
    return (begin_ms, end_ms) if end_ms > begin_ms else None


def cut(recording: Recording, begin_ms: float, end_ms: float | None = None) -> Sound:
    """The agent as heard between two times of the recording's timeline, up to its last sound, levelled, at `RATE_HZ`."""
    heard = playout.heard(recording).samples
    begin = max(0, round(begin_ms * playout.HEARD_RATE_HZ / 1_000))
    end = None if end_ms is None else round(end_ms * playout.HEARD_RATE_HZ / 1_000)
    part = heard[begin:end]
    loud = np.flatnonzero(np.abs(part) > _SILENT)
    part = part[: loud[-1] + 1] if loud.size else part[:0]
    resampled: Sound = soxr.resample(part, playout.HEARD_RATE_HZ, RATE_HZ, quality="HQ").astype(np.float32)
    return levelled(resampled)


def levelled(sound: Sound) -> Sound:
    """The sound at −26 dB active speech level, lowered further only if it would clip."""
    power = speech_power(sound, RATE_HZ)
    if power <= 0:
        return sound
    gain = 10 ** (LEVEL_DB / 20) / np.sqrt(power)
    peak = float(np.max(np.abs(sound)))
    out: Sound = (sound * min(gain, 0.98 / peak)).astype(np.float32)
    return out
