"""Speech or not, while the call runs: the one detector (`harness.audio.vocal`) behind a cheap gate.

The model costs as much as ten frames of the caller, so two hundred callers cannot give it every window. A gate over the call's
own noise floor opens it; it accepts a stretch or not, and the level then follows the stretch to its end. It is asked again
every three seconds, at once where the level falls far, and after a pause. The level is the variance of a window, so that an
offset or a constant run is silence; the floor is the least level of the last seconds.
"""

import copy
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.audio.level import AUDIBLE_RMS
from harness.audio.pcm import FULL_SCALE
from harness.audio.vocal import ENTER, RATE_HZ, WINDOW, SpeechStream, speech_stream
from harness.caller.due_sound import BRIDGED_NS, WINDOW_MS, Window
from harness.replies.kinds import APART_MS
from harness.timeline import NS_PER_MS

PAUSE_NS: Final = round(APART_MS * NS_PER_MS)
_WINDOW_NS: Final = WINDOW_MS * NS_PER_MS
_OVER_FLOOR: Final = 10**0.6
"""6 dB: the windows of steady noise are within 1 dB of each other, and speech so close to noise is not understood."""
_FLOOR_WINDOWS: Final = 47
"""1.5 s, twice: speech dips to the noise behind it several times in that, and a call soon knows its own noise."""
_ACCEPTED: Final = 2
"""Windows in a row. One alone was a tick or a note now and then; "Mm." has three."""
_WARM_WINDOWS: Final = 2
"""Silence before a stretch: without it the model took 16 windows for a first word ("Are you still there?"), with it one. More
than two changed nothing in nine clips."""
_GAP_NS: Final = 300 * NS_PER_MS
"""Silence that ends a sound which is no voice. The model's memory of it is a hindrance (`harness.audio.vocal`)."""
_LATE_NS: Final = 250 * NS_PER_MS
"""A voice begins where its stretch of sound does, unless that was longer ago than the model is late."""
_TIRED: Final = 62
"""After 2 s of a sound that is no voice, a third of its windows is examined: hold music may last for minutes."""
_GLANCE: Final = 4
"""The windows of each such look."""
_RUN: Final = 8
"""Windows that a second look may take, a quarter of a second: in the middle of speech, the model mostly accepts by then."""
_AGAIN_NS: Final = 3_000 * NS_PER_MS
_FOLLOWED_MS: Final = 96
"""The length of a window of which only the level is needed."""
_RESUMED_NS: Final = 300 * NS_PER_MS
"""After a longer pause the voice is to be recognised again: the next sound may be a key or a tick."""
_LOW: Final = 1e-2
"""20 dB under the stretch's own level: the last syllable's fall, or noise behind it."""
_GONE: Final = 1e-3
_FADING: Final = 0.97
"""4 dB a second: a voice that turns away is still followed."""
_RING_POWER: Final = FULL_SCALE**2 * 1e-4
"""−40 dB: a ringing tone or hold music is played to be heard, ambience is not."""
_RING_OVER_FLOOR: Final = 30.0
_RING_NS: Final = 350 * NS_PER_MS
"""The shortest ring in use is the British double one, 0.4 s; ticks and most earcons are shorter."""


class Speech(NamedTuple):
    """A stretch of speech: when it was first and last heard."""

    start_ns: int
    end_ns: int


class _Floor:
    """The least power of the last 1.5 to 3 s. Before the call, and in a gap, the line is silent."""

    def __init__(self) -> None:
        self._before = self._least = 0.0
        self._count = 0

    def add(self, power: float) -> float:
        self._count += 1
        if self._count >= _FLOOR_WINDOWS:
            self._before, self._least, self._count = self._least, power, 0
        self._least = min(self._least, power)
        return min(self._before, self._least)


class SpeechGate:
    """The detector over the windows of one call, in order."""

    def __init__(self) -> None:
        self.rang_ns: int | None = None
        """Time at which a long, loud sound that is no speech was last heard: a ringing tone, hold music."""
        self._stream = copy.copy(_warm())
        self._resampler: soxr.ResampleStream | None = None
        self._rate_hz = RATE_HZ
        self._floor = _Floor()
        self._heard_ns = 0
        self._opened_ns: int | None = None
        self._over_ns = 0
        self._speech_ns: int | None = None
        self._until_ns = 0
        self._level = 0.0
        self._loud_ns = 0
        """Start of the loud sound that goes on."""
        self._examined = self._accepted = self._since_ns = self._looking = 0

    @property
    def wants_ms(self) -> int:
        """The length of the next window."""
        return WINDOW_MS if self._speech_ns is None or self._looking else _FOLLOWED_MS

    def hear(self, window: Window) -> Speech | None:
        """The stretch of speech of which this window is part, as far as it has been heard; None if there is none."""
        sound = window.samples.astype(np.float32)
        sound -= _sum(sound) / len(sound)
        power = float(sound.dot(sound)) / len(sound)
        if window.start_ns - self._heard_ns > BRIDGED_NS:
            self._floor.add(0.0)
        self._heard_ns = window.end_ns
        floor = self._floor.add(power)
        over = power > max(AUDIBLE_RMS**2, floor * _OVER_FLOOR)
        past_ns = self._over_ns + _GAP_NS if self._speech_ns is None else self._until_ns + PAUSE_NS
        if self._opened_ns is not None and window.start_ns >= past_ns:
            self.close()
        if over:
            if self._opened_ns is None:
                self._open(window.start_ns + _lead_ns(sound, power, window.rate_hz))
            self._over_ns = window.end_ns
        if self._opened_ns is None:
            return None
        if self._speech_ns is None:
            self._seek(window, sound)
            self._note_ringing(window, power, floor)
        else:
            self._follow(window, sound, power, over)
        return None if self._speech_ns is None else Speech(self._speech_ns, self._until_ns)

    def close(self) -> None:
        """End the stretch: the next sound is another one."""
        self._opened_ns = self._speech_ns = None

    def _open(self, at_ns: int) -> None:
        self._opened_ns = at_ns
        self._examined = self._accepted = self._looking = self._since_ns = 0
        self._level = 0.0
        self._forget()

    def _seek(self, window: Window, sound: NDArray[np.float32]) -> None:
        """Ask the model if the stretch is speech."""
        assert self._opened_ns is not None
        self._examined += 1
        if self._examined > _TIRED:
            turn = self._examined % (3 * _GLANCE)
            if turn == 0:
                self._accepted = 0
                self._forget()
            elif turn >= _GLANCE:
                return
        for probability in self._probabilities(window, sound):
            self._accepted = self._accepted + 1 if probability >= ENTER else 0
        if self._accepted >= _ACCEPTED:
            late = self._over_ns - self._opened_ns > _LATE_NS
            self._speech_ns = self._over_ns - 2 * _ACCEPTED * _WINDOW_NS if late else self._opened_ns
            self._until_ns, self._since_ns, self._looking = self._over_ns, 0, 0

    def _follow(self, window: Window, sound: NDArray[np.float32], power: float, over: bool) -> None:
        """Follow the level of a voice, and ask the model now and then if it still is one."""
        if over and not self._looking and (self._since_ns >= _AGAIN_NS or window.start_ns - self._until_ns >= _RESUMED_NS):
            self._since_ns, self._looking, self._accepted = 0, _RUN, 0
            self._forget()
        if self._looking:
            self._look(window, sound, over)
        elif over:
            self._level = max(self._level * _FADING, power)
            if power > self._level * _GONE:
                self._until_ns = window.end_ns
            length_ns = window.end_ns - window.start_ns
            self._since_ns += length_ns if power > self._level * _LOW else 8 * length_ns

    def _look(self, window: Window, sound: NDArray[np.float32], over: bool) -> None:
        if over:
            self._accepted += sum(probability >= ENTER for probability in self._probabilities(window, sound))
        self._looking -= 1
        if self._accepted >= _ACCEPTED:
            self._looking, self._until_ns = 0, window.end_ns
        elif not self._looking:
            self.close()

    def _note_ringing(self, window: Window, power: float, floor: float) -> None:
        assert self._opened_ns is not None
        if power <= max(_RING_POWER, floor * _RING_OVER_FLOOR):
            self._loud_ns = window.end_ns
        elif self._speech_ns is None and window.end_ns - max(self._loud_ns, self._opened_ns) >= _RING_NS:
            self.rang_ns = window.end_ns

    def _forget(self) -> None:
        self._stream = copy.copy(_warm())
        self._resampler = None

    def _probabilities(self, window: Window, sound: NDArray[np.float32]) -> list[float]:
        narrow = sound / np.float32(FULL_SCALE)
        if window.rate_hz != RATE_HZ:
            if self._resampler is None or self._rate_hz != window.rate_hz:
                self._rate_hz = window.rate_hz
                self._resampler = soxr.ResampleStream(window.rate_hz, RATE_HZ, 1, dtype="float32", quality="LQ")
            narrow = self._resampler.resample_chunk(narrow)
        return self._stream.push(narrow)


def _lead_ns(sound: NDArray[np.float32], power: float, rate_hz: int) -> int:
    """The silence with which the first window of a stretch begins."""
    loud = np.flatnonzero(sound**2 > power / 10)
    return int(loud[0]) * 1_000_000_000 // rate_hz if len(loud) else 0


_sum = np.add.reduce


@lru_cache(maxsize=1)
def _warm() -> SpeechStream:
    """The model after a little silence, to be copied: it replaces its memory at each window and changes none."""
    stream = speech_stream()
    stream.push(np.zeros(_WARM_WINDOWS * WINDOW, np.float32))
    return stream
