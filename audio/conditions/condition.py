"""A line condition by name: stages in the order of the physical chain, each with its own seeded random generator.

Names are written as people say them (`telephone+babble10`), and the order of writing does not matter: sound passes a room,
meets noise, reaches a microphone that may be weak or overdriven, then a codec, then a network. Two spellings of the same
condition are one condition, with one name in every table.

Every stage keeps the number of samples and the place in time of what it passes on. A stage that would delay (a filter, a
resampler, a jitter buffer) is made delay-free or counted as a loss, because latencies are measured from the dry signal.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.audio.conditions.line import OnLine, clip, low_level, reverberate, telephone
from harness.audio.conditions.network import late_packets, lose_packets
from harness.audio.conditions.noise import FILE_MARK, Noise, add_noise, babble, from_file, hum, street, white
from harness.audio.pcm import Float32, Int16, to_float, to_int16
from harness.audio.speech_edges import level_db
from harness.nearest import did_you_mean

CLEAN = "clean"
NOMINAL_SPEECH_DBFS = -26.0


Effect = Callable[[OnLine, float], Float32]
"""The sound after a stage, from what came to the stage and its figure."""


class ConditionError(ValueError):
    """A condition that does not exist or cannot be applied; the message is one line."""


@dataclass(frozen=True, slots=True)
class _Kind:
    word: str
    order: int
    about: str
    default: float
    bounds: tuple[float, float]
    effect: Effect


def _noise(source: Noise) -> Effect:
    return lambda line, snr_db: add_noise(line, source, line.speech_dbfs - snr_db)


_KINDS = (
    _Kind("room", 0, "room with a reverberation time in ms", 400, (100, 2_000), lambda line, ms: reverberate(line, ms / 1000)),
    _Kind("babble", 1, "several people talking, at an SNR in dB", 10, (-10, 60), _noise(babble)),
    _Kind("street", 1, "traffic, at an SNR in dB", 10, (-10, 60), _noise(street)),
    _Kind("hum", 1, "mains hum, at an SNR in dB", 20, (-10, 60), _noise(hum)),
    _Kind("hiss", 1, "white noise, at an SNR in dB", 20, (-10, 60), _noise(white)),
    _Kind("quiet", 2, "a caller fainter by so many dB", 20, (1, 50), low_level),
    _Kind("clip", 3, "peaks cut off by so many dB", 12, (1, 40), clip),
    _Kind("telephone", 4, "telephone band, G.711 μ-law", 0, (0, 0), lambda line, _: telephone(line, "ulaw")),
    _Kind("telephone-alaw", 4, "telephone band, G.711 A-law", 0, (0, 0), lambda line, _: telephone(line, "alaw")),
    _Kind("jitter", 5, "packets late by so many ms on average; what misses a 60 ms buffer is lost", 20, (1, 200), late_packets),
    _Kind("loss", 5, "percent of packets lost, in bursts", 5, (0.1, 60), lose_packets),
)
_BY_WORD = {kind.word: kind for kind in _KINDS}
_PIECE = re.compile(r"([a-z]+(?:-[a-z]+)?)([0-9]+(?:\.[0-9]+)?|-[0-9]+)?")


@dataclass(frozen=True, slots=True)
class _Stage:
    order: int
    name: str
    effect: Effect
    figure: float


@dataclass(frozen=True, slots=True)
class Condition:
    """A composed line condition; `name` is its one spelling."""

    name: str
    _stages: tuple[_Stage, ...]

    def apply(self, samples: Int16, rate_hz: int, seed: int, speech_dbfs: float | None = None) -> Int16:
        """The sound at the agent for `samples` (mono int16). Same length, same timing, same result for the same seed.

        `speech_dbfs` is the level that signal-to-noise ratios refer to; None measures it in `samples`, and takes the
        nominal -26 dBFS for a silent signal: so the silence around a turn gets the same noise as the turn itself.
        """
        if not self._stages or samples.size == 0:
            return samples.copy()
        signal = to_float(samples)
        if speech_dbfs is None:
            measured = level_db(signal, rate_hz)
            speech_dbfs = measured if np.isfinite(measured) else NOMINAL_SPEECH_DBFS
        for stage in self._stages:
            chance = np.random.default_rng([seed & 0xFFFFFFFFFFFFFFFF, zlib.crc32(stage.name.encode())])
            signal = stage.effect(OnLine(signal, rate_hz, speech_dbfs, chance), stage.figure)
        return to_int16(signal)


def parse_condition(text: str) -> Condition:
    """The condition of a name: `clean`, or kinds joined by `+`, each with its figure if it has one.

    Noise from a recording is written `file:PATH@SNR`. Raises `ConditionError`.

    >>> parse_condition("babble10+telephone").name == parse_condition("telephone+babble").name
    True
    """
    if text.strip() == CLEAN:
        return Condition(CLEAN, ())
    pieces = [piece.strip() for piece in text.strip().split("+")]
    stages = [_file_noise(piece) if piece.startswith(FILE_MARK) else _stage(piece, text) for piece in pieces]
    stages.sort(key=lambda stage: (stage.order, stage.name))
    names = [stage.name for stage in stages]
    if len(set(names)) < len(names):
        raise ConditionError(f"line condition {text!r} names the same thing twice")
    return Condition("+".join(names), tuple(stages))


def kinds() -> tuple[tuple[str, str], ...]:
    """All kinds as (example, description), for listings."""
    return tuple((f"{kind.word}{kind.default:g}" if kind.bounds[1] else kind.word, kind.about) for kind in _KINDS)


def _stage(piece: str, whole: str) -> _Stage:
    match = _PIECE.fullmatch(piece)
    kind = _BY_WORD.get(match.group(1)) if match else None
    if match is None or kind is None:
        examples = ", ".join(example for example, _ in kinds())
        hint = did_you_mean(match.group(1) if match else piece, _BY_WORD)
        place = "" if piece == whole else f" in {whole!r}"
        there = f"there are: {CLEAN}, {examples}, file:PATH@10, joined by +"
        raise ConditionError(f"unknown line condition {piece!r}{place}{f'{hint} T' if hint else '; t'}{there[1:]}")
    figure = float(match.group(2)) if match.group(2) else kind.default
    low, high = kind.bounds
    if match.group(2) and not high:
        raise ConditionError(f"line condition {piece!r}: {kind.word} takes no figure")
    if not low <= figure <= high:
        raise ConditionError(f"line condition {piece!r}: {figure:g} is outside {low:g} to {high:g} ({kind.about})")
    return _Stage(kind.order, f"{kind.word}{figure:g}" if high else kind.word, kind.effect, figure)


def _file_noise(piece: str) -> _Stage:
    path, at, snr = piece.removeprefix(FILE_MARK).rpartition("@")
    if not at or not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", snr):
        raise ConditionError(
            f"line condition {piece!r}: noise from a recording is written file:PATH@SNR, e.g. file:cafe.wav@10"
        )
    try:
        source = from_file(Path(path))
    except ValueError as error:
        raise ConditionError(f"line condition {piece!r}: {error}") from error
    return _Stage(1, f"{FILE_MARK}{path}@{float(snr):g}", _noise(source), float(snr))
