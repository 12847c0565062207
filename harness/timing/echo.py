"""Removal of echo: the caller's own voice in the agent's track is no answer.

Lines and bots that mix or loop audio return the caller some tens of milliseconds later and 20–40 dB down, which is speech to a
speech model. While the caller speaks, such a track correlates with the delayed caller: the echo is estimated (delay, then a
short impulse response by least squares over all frequencies) and removed. A track without echo is left exactly as it is.

It is removed from a stream in real time as it was sent, where its delay is one: late and dropped messages move it about in what
is heard, and no filter explains that. From any other track it is removed as heard.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import soxr
from numpy.typing import NDArray
from scipy.linalg import solve_toeplitz

from harness.audio.level import speech_power
from harness.recording.playout import HEARD_RATE_HZ, REAL_TIME, HeardTrack, resample
from harness.recording.record import CallerTrack, Recording
from harness.timeline import NS_PER_S, samples_to_ns

SEARCH_HZ: Final = 8_000
LONGEST_DELAY_S: Final = 1.0
EXPLAINED: Final = 0.3
"""Correlation above which the caller explains the track. Two different voices of 2 s correlate below 0.12 at any delay;
an echo through a telephone codec above 0.8."""
USUAL_POWER: Final = 10 ** (-22 / 10)
"""Level at which a recorded call's agent is heard at least, so that a faint line's agent is heard as any."""
RESPONSE_S: Final = 0.016
_BEFORE_S: Final = 0.004
FULL_SCALE: Final = 32_768.0
RIDGE: Final = 1e-6
"""Regularisation by the caller's own power, so that no empty band is amplified."""
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


def sent_without_echo(recording: Recording) -> Recording:
    """The recording without the echo in the agent's stream; the same one where there is none, or no stream in real time."""
    rate, arrivals = recording.agent_rate_hz, recording.arrivals
    if recording.agent_own is not None or not arrivals:
        return recording
    media = [a.media.at_ns for a in arrivals if a.media is not None]
    sent_ns = np.array(media if len(media) == len(arrivals) else [samples_to_ns(a.offset_samples, rate) for a in arrivals])
    lags_ns = np.array([a.arrival_ns for a in arrivals]) - sent_ns - recording.caller.t0_ns
    over_ns = arrivals[-1].arrival_ns - arrivals[0].arrival_ns
    if np.ptp(lags_ns) > REAL_TIME * over_ns:
        return recording
    starts = np.round((sent_ns + np.median(lags_ns)) * rate / NS_PER_S).astype(np.int64)
    at = np.concatenate([start + np.arange(a.count_samples) for start, a in zip(starts, arrivals, strict=True)])
    before = max(0, -int(at.min(initial=0)))
    stream = np.zeros(before + int(at.max(initial=0)) + 1, np.float32)
    stream[before + at] = recording.agent_pcm[: len(at)] / FULL_SCALE
    played = (recording.caller.played / FULL_SCALE).astype(np.float32)
    said = np.pad(soxr.resample(played, recording.caller.rate_hz, rate), (before, 0))
    echo = _echo(said, stream, rate)
    if echo is None:
        return recording
    alone = np.clip(np.rint((stream - echo)[before + at] * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1)
    return replace(recording, agent_pcm=alone.astype(np.int16))


def without_echo(track: HeardTrack, caller: CallerTrack) -> NDArray[np.float32]:
    """The heard samples with the caller's echo removed; the same array when there is none."""
    echo = _echo(resample(caller.played, caller.rate_hz), track.samples, HEARD_RATE_HZ)
    return track.samples if echo is None else np.asarray(track.samples - echo, np.float32)


def _echo(said: NDArray[np.float32], samples: NDArray[np.float32], rate_hz: int) -> NDArray[np.float32] | None:
    """The caller's echo in a track; None if there is none."""
    said = said[: len(samples)]
    turns = _turns(said, rate_hz)
    if not turns:
        return None
    hull = slice(turns[0].start, turns[-1].stop)
    # A reply between two turns is a thousand times as loud as the echo of both.
    beside = _only(samples, turns)
    if not np.any(np.abs(beside) > _AUDIBLE):
        return None
    delay = _delay(said[hull], beside[hull], rate_hz)
    if delay is None:
        return None
    # The sample that is spoken at t is sent at t, and both tracks begin at t0.
    shift, taps = max(0, delay - round(_BEFORE_S * rate_hz)), round(RESPONSE_S * rate_hz)
    delayed = np.concatenate([np.zeros(shift, np.float32), said])[: len(samples)]
    delayed = np.pad(delayed, (0, len(samples) - len(delayed)))
    beside = _only(samples, [slice(turn.start, turn.stop + shift + taps) for turn in turns])
    response = _response(delayed, beside, taps)
    return np.convolve(delayed, response)[: len(samples)].astype(np.float32)


def _turns(said: NDArray[np.float32], rate_hz: int) -> list[slice]:
    """The stretches in which the caller speaks, with pauses as long as an echo may be late."""
    loud = np.flatnonzero(np.abs(said) > 0.003)
    parts = np.split(loud, np.flatnonzero(np.diff(loud) > LONGEST_DELAY_S * rate_hz) + 1)
    return [slice(int(part[0]), int(part[-1]) + 1) for part in parts if len(part)]


def _only(samples: NDArray[np.float32], parts: Sequence[slice]) -> NDArray[np.float32]:
    """The samples of these parts, and silence elsewhere."""
    only = np.zeros_like(samples)
    for part in parts:
        only[part] = samples[part]
    return only


def _delay(said: NDArray[np.float32], samples: NDArray[np.float32], rate_hz: int) -> int | None:
    """The delay at which the caller explains the track while speaking, in samples."""
    longest = round(LONGEST_DELAY_S * SEARCH_HZ)
    one, other = (soxr.resample(each, rate_hz, SEARCH_HZ, quality="LQ") for each in (said, samples))
    size = 1 << int(np.ceil(np.log2(len(one) + len(other))))
    cross = np.fft.irfft(np.fft.rfft(other, size) * np.conj(np.fft.rfft(one, size)))[: min(longest, len(other))]
    strength = np.abs(cross) / np.sqrt(max(float(one @ one) * float(other @ other), 1e-12))
    best = int(np.argmax(strength))
    return round(best * rate_hz / SEARCH_HZ) if strength[best] >= EXPLAINED else None


def _response(said: NDArray[np.float32], heard: NDArray[np.float32], taps: int) -> NDArray[np.float64]:
    """The short impulse response that turns the caller into the echo."""
    size = 1 << int(np.ceil(np.log2(len(said) + taps)))
    one, other = np.fft.rfft(said, size), np.fft.rfft(heard, size)
    alike, crossed = (np.fft.irfft(each * np.conj(one))[:taps] for each in (one, other))
    alike[0] *= 1 + RIDGE
    return np.asarray(solve_toeplitz(alike, crossed), np.float64)
