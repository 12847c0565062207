"""Recordings made by hand, whose every time is known before they are measured.

The tests and the benchmark of the analyser share them. The truth of an onset is where the *dry* agent signal comes within
40 dB of its own speech level, before noise, codecs or playout touch it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.agents.connection import Mark
from harness.audio.level import first_sample
from harness.calibrate.voice import attack, synthetic_voice
from harness.recording.record import Arrival, CallerTrack, Pause, Recording, SpokenTurn
from harness.timeline import samples_to_ns

CALLER_HZ = 16_000
AGENT_HZ = 24_000
T0_NS = 5_000_000_000_000
LEAD_S = 0.5


@dataclass(frozen=True, slots=True)
class Said:
    """Agent audio (float, ±1) whose first sample is heard `at_s` after the caller's spoken end (may be negative)."""

    at_s: float
    sound: NDArray[np.float64]
    message_ms: int = 40


@dataclass(frozen=True, slots=True)
class Made:
    """A recording, and the true end of the caller's speech in it."""

    recording: Recording
    spoken_end_ns: int

    def ms(self, after_s: float) -> int:
        """A time after the spoken end as ns on the clock."""
        return self.spoken_end_ns + round(after_s * 1e9)


def voice(
    seconds: float, seed: int = 0, db: float = -20.0, attack_s: float = 0.0, pitch_hz: float = 120.0
) -> NDArray[np.float64]:
    """Agent speech with an RMS of `db` of full scale."""
    rng = np.random.default_rng(seed)
    sound = synthetic_voice(seconds, AGENT_HZ, rng, pitch_hz)
    return sound * attack(len(sound), attack_s, AGENT_HZ) * 10 ** (db / 20)


def noise(seconds: float, db: float, seed: int = 0) -> NDArray[np.float64]:
    """White noise with an RMS of `db` of full scale."""
    return np.random.default_rng(seed).standard_normal(round(seconds * AGENT_HZ)) * 10 ** (db / 20)


def silence(seconds: float) -> NDArray[np.float64]:
    """Digital silence."""
    return np.zeros(round(seconds * AGENT_HZ))


def pcm(sound: NDArray[np.float64]) -> NDArray[np.int16]:
    """As 16-bit samples."""
    return np.clip(np.round(sound * 32768), -32768, 32767).astype(np.int16)


def onset_ms(sound: NDArray[np.float64]) -> float:
    """Where the dry signal comes within 40 dB of its speech level: the truth of every TTFA test."""
    first = first_sample(pcm(sound), AGENT_HZ)
    assert first is not None
    return first / AGENT_HZ * 1000


def make_recording(
    *said: Said,
    speech_s: float = 2.0,
    pauses_s: Sequence[tuple[float, float]] = (),
    total_s: float = 8.0,
    marks: Sequence[Mark] = (),
    clears_s: Sequence[float] = (),
) -> Made:
    """A caller who speaks with pauses (start and length in s, from the turn's start), and what the agent said.

    `clears_s` are relative to the spoken end.
    """
    begin, dry, pauses = _caller(speech_s, pauses_s, total_s)
    end = begin + round(speech_s * CALLER_HZ)
    departures = T0_NS + (np.arange(len(dry) // 320, dtype=np.int64) + 1) * 20_000_000
    turn = SpokenTurn(begin, end, pauses)
    track = CallerTrack(CALLER_HZ, dry, dry, T0_NS, departures, begin, end, pauses, (turn,))
    spoken_end = T0_NS + samples_to_ns(end, CALLER_HZ)
    sent: list[NDArray[np.int16]] = [np.zeros(0, np.int16)]
    arrivals: list[Arrival] = []
    offset = 0
    for one in said:
        samples, size = pcm(one.sound), AGENT_HZ * one.message_ms // 1000
        start_ns = spoken_end + round(one.at_s * 1e9)
        arrivals += [Arrival(start_ns + at, offset + at, min(size, len(samples) - at)) for at in range(0, len(samples), size)]
        offset += len(samples)
        sent.append(samples)
    clears = tuple(spoken_end + round(at_s * 1e9) for at_s in clears_s)
    agent = np.concatenate(sent)
    return Made(Recording(track, AGENT_HZ, agent, tuple(arrivals), clears, tuple(marks), loop_lag_ms=(0.2, 0.3)), spoken_end)


def _caller(
    speech_s: float, pauses_s: Sequence[tuple[float, float]], total_s: float
) -> tuple[int, NDArray[np.int16], tuple[Pause, ...]]:
    speech = synthetic_voice(speech_s, CALLER_HZ, np.random.default_rng(99), 110) * 0.08
    begin = round(LEAD_S * CALLER_HZ)
    pauses = []
    for start_s, length_s in pauses_s:
        start, end = round(start_s * CALLER_HZ), round((start_s + length_s) * CALLER_HZ)
        speech[start:end] = 0
        pauses.append(Pause(begin + start, begin + end))
    dry = np.zeros(round(total_s * CALLER_HZ) // 320 * 320, np.int16)
    dry[begin : begin + len(speech)] = pcm(speech)
    return begin, dry, tuple(pauses)
