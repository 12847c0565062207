"""Automatic speakers for the tests of people's seats: the project's own voices in a room, with known ends and pauses."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import last_sample
from harness.audio.pcm import Float32, Int16, resample_float, to_float, to_int16
from harness.audio.speech import RenderedTurn
from harness.audio.speech_edges import level_db
from harness.audio.speech_floor import FloorSettings
from harness.scenarios import load_pack
from harness.voices.choice import open_voices

RATE_HZ = 48_000
LEAD_S = 1.2
TAIL_S = 1.0
FAINT_DB = 30.0
"""What a voice does after it is last within 30 dB of its speech is removed. Some stretches end in a rest, 60 to 260 ms after
the word and 37 to 47 dB below speech: at and beyond the limit of what is speech by definition (40 dB)."""


@dataclass(frozen=True)
class Spoken:
    """A turn in a room at 48 kHz, with its true end and pauses in seconds."""

    samples: Int16
    end_s: float
    pauses: tuple[tuple[float, float], ...]


@cache
def turns() -> tuple[RenderedTurn, ...]:
    """The 12 spoken turns of `heart-mini` without breaths, because a breath belongs to the pause by definition."""
    pack = load_pack("heart-mini")
    voices = open_voices(pack)
    voices.floor = FloorSettings(breath_share=0)
    return tuple(without_rests(voices.render(c.spoken, voices.wish_of(c))) for c in pack.contexts)


def without_rests(turn: RenderedTurn) -> RenderedTurn:
    """The turn with silence from the end of each stretch, and its pauses from there."""
    samples = turn.samples.copy()
    starts = [0, *(b for _, b in turn.pauses)]
    stops = [*(a for a, _ in turn.pauses), samples.size]
    ends = []
    for start, stop in zip(starts, stops, strict=True):
        last = last_sample(samples[start:stop], turn.rate_hz, FAINT_DB)
        assert last is not None
        ends.append(start + last + 1)
        samples[ends[-1] : stop] = 0
    pauses = tuple((end, resumed) for end, (_, resumed) in zip(ends, turn.pauses, strict=False))
    return RenderedTurn(samples[: ends[-1]], turn.rate_hz, pauses, turn.text)


def dry(turn: RenderedTurn, tail_s: float = TAIL_S) -> Float32:
    """The voice alone at 48 kHz, with silence around it."""
    said = resample_float(to_float(turn.samples), turn.rate_hz, RATE_HZ)
    edges = np.zeros(round(LEAD_S * RATE_HZ), np.float32), np.zeros(round(tail_s * RATE_HZ), np.float32)
    return np.concatenate([edges[0], said, edges[1]])


def room(samples: int, seed: int) -> NDArray[np.float64]:
    """Noise of a room with an RMS of 1: it falls by 3 dB an octave from 50 Hz on."""
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(samples))
    noise = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), samples * 50 // RATE_HZ)), samples)
    return np.asarray(noise / np.sqrt(np.mean(noise**2)))


def in_room(sound: Float32, below_db: float, seed: int) -> Float32:
    """Speech in a room whose noise lies so many dB below it."""
    noise = room(sound.size, seed) * 10 ** ((level_db(sound, RATE_HZ) - below_db) / 20)
    return np.asarray(sound + noise, dtype=np.float32)


def spoken(k: int, below_db: float = 40.0) -> Spoken:
    """The `k`th of the 12 turns in a room."""
    turn = turns()[k]
    pauses = tuple((LEAD_S + a / turn.rate_hz, LEAD_S + b / turn.rate_hz) for a, b in turn.pauses)
    return Spoken(to_int16(in_room(dry(turn), below_db, k)), LEAD_S + turn.duration_s, pauses)
