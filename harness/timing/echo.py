"""Removal of echo: the caller's own voice in the agent's track is no answer.

Lines and bots that mix or loop audio return the caller some tens of milliseconds later and 20–40 dB down, which is speech to a
speech model. While the caller speaks, such a track correlates with the delayed caller: the echo is estimated (delay, then a
short impulse response by least squares over all frequencies) and removed. A track without echo is left exactly as it is.
"""

from typing import Final

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.audio.level import speech_power
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack, resample
from harness.recording.record import CallerTrack, Recording

SEARCH_HZ: Final = 8_000
LONGEST_DELAY_S: Final = 1.0
EXPLAINED: Final = 0.3
"""Correlation above which the caller explains the track. Two different voices of 2 s correlate below 0.12 at any delay;
an echo through a telephone codec above 0.8."""
USUAL_POWER: Final = 10 ** (-22 / 10)
"""Level at which a recorded call's agent is heard at least, so that a faint line's agent is heard as any."""
RESPONSE_S: Final = 0.016
_BEFORE_S: Final = 0.004
_AUDIBLE: Final = 1e-5


def agent_alone(track: HeardTrack, recording: Recording) -> NDArray[np.float32]:
    """The heard samples of the agent: without the caller's echo, or of a recorded call its own stretches at a usual level,
    without offset, and silence elsewhere."""
    if recording.agent_own is None:
        return without_echo(track, recording.caller)
    alone = np.zeros_like(track.samples)
    scale = HEARD_RATE_HZ / recording.agent_rate_hz
    offset = np.float32(np.median(track.samples)) if len(track.samples) else np.float32(0)
    for start, end in recording.agent_own:
        part = slice(round(start * scale), round(end * scale))
        alone[part] = track.samples[part] - offset
    level = speech_power(alone, HEARD_RATE_HZ)
    return alone if level <= 0 else np.asarray(alone * max(1.0, USUAL_POWER / level) ** 0.5, np.float32)


def without_echo(track: HeardTrack, caller: CallerTrack) -> NDArray[np.float32]:
    """The heard samples with the caller's echo removed; the same array when there is none."""
    samples = track.samples
    said = resample(caller.played, caller.rate_hz)[: len(samples)]
    active = _active(said)
    if active is None or not np.any(np.abs(samples[active]) > _AUDIBLE):
        return samples
    delay = _delay(said[active], samples, active.start)
    if delay is None:
        return samples
    # The sample that is spoken at t is sent at t; the track's sample m sounds at m / rate. Both begin at t0.
    shift = max(0, delay - round(_BEFORE_S * HEARD_RATE_HZ))
    delayed = np.concatenate([np.zeros(shift, np.float32), said])[: len(samples)]
    delayed = np.pad(delayed, (0, len(samples) - len(delayed)))
    part = slice(active.start, min(len(samples), active.stop + shift))
    response = _response(delayed[part], samples[part])
    echo = np.convolve(delayed, response)[: len(samples)].astype(np.float32)
    cleaned: NDArray[np.float32] = samples - echo
    return cleaned


def _active(said: NDArray[np.float32]) -> slice | None:
    loud = np.flatnonzero(np.abs(said) > 0.003)
    return slice(int(loud[0]), int(loud[-1]) + 1) if len(loud) else None


def _delay(said: NDArray[np.float32], samples: NDArray[np.float32], start: int) -> int | None:
    """The delay at which the caller explains the track while speaking, in samples at 48 kHz."""
    longest = round(LONGEST_DELAY_S * SEARCH_HZ)
    one = soxr.resample(said, HEARD_RATE_HZ, SEARCH_HZ, quality="LQ")
    other = soxr.resample(samples[start : start + len(said)], HEARD_RATE_HZ, SEARCH_HZ, quality="LQ")
    size = 1 << int(np.ceil(np.log2(len(one) + len(other))))
    cross = np.fft.irfft(np.fft.rfft(other, size) * np.conj(np.fft.rfft(one, size)))[: min(longest, len(other))]
    strength = np.abs(cross) / np.sqrt(max(float(one @ one) * float(other @ other), 1e-12))
    best = int(np.argmax(strength))
    return best * (HEARD_RATE_HZ // SEARCH_HZ) if strength[best] >= EXPLAINED else None


def _response(said: NDArray[np.float32], heard: NDArray[np.float32]) -> NDArray[np.float64]:
    """The short impulse response that turns the caller into the echo."""
    taps = round(RESPONSE_S * HEARD_RATE_HZ)
    size = 1 << int(np.ceil(np.log2(len(said) + taps)))
    one, other = np.fft.rfft(said, size), np.fft.rfft(heard, size)
    power = np.abs(one) ** 2
    response: NDArray[np.float64] = np.fft.irfft(other * np.conj(one) / (power + 1e-4 * power.mean()))[:taps]
    return response
