"""The starts, pauses and ends of a person's turns in a recording from any room.

Silero VAD decides *whether* a sound is speech, the level decides *where* it begins and ends: within 40 dB of the speech and 10
dB over the room's own noise. A sound without a voice, or a short one without pitch (a breath, a click), is part of the pause
around it, unless it is closer to speech than a stop consonant's closure. In a call of two channels a turn ends where the other
side begins to speak; up to about two words of it are a backchannel and end nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import EDGE_DB, WINDOW_S, block_power, decibels, islands, speech_power
from harness.audio.onset import CLOSURE_S
from harness.audio.pcm import Float32, resample_float
from harness.audio.vocal import RATE_HZ, WINDOW, VocalDetector, vocal_spans
from harness.audio.voicing import FRAME, HOP_S, VOICED, voicing
from harness.audio.voicing import RATE_HZ as PITCH_HZ

OVER_FLOOR_DB: Final = 10.0
"""Least level over the noise, as for the breath before a word (`harness.timing.breath`): above it a sound is not noise."""
FLOOR_PERCENTILE: Final = 5.0
"""Percentile for the room's noise: a recording with silence is silent for more than a twentieth of its length."""
LEAST_ROOM_DB: Final = 15.0
"""Least level of speech over the noise: below it P.56's own gate (15.9 dB) is in the noise, and no edge can be trusted."""
LEAST_PAUSE_S: Final = 0.2
"""Shortest pause, as in eot-bench and in the endpointing figures."""
LONGEST_PAUSE_S: Final = 5.0
"""Longest pause; after a longer silence the turn is over (`harness.scenarios.pauses.MOST_MS`)."""
FARTHEST_DB: Final = 18.0
"""A stretch whose loudest syllable is this far under the speech of its channel is another person's in the room."""
SHORTEST_WORD_S: Final = 0.08
"""A voiced blip that is shorter, and stands alone, is no word."""
LOUD_DB: Final = 15.0
BESIDE_S: Final = 0.5
BEFORE_S: Final = 1.0
LEAST_NOISE_S: Final = 5.0
SWELL_PERCENTILE: Final = 95.0
OVER_SWELLS_DB: Final = 3.0
"""The blocks that show how the noise swells: half a second after all that is loud, a second before it, where people draw
breath, and five seconds of them, so that one breath in a pause is no such swell."""
BLOCK: Final = round(RATE_HZ * WINDOW_S)
SYLLABLE: Final = 6
"""Blocks over which the level of a syllable is taken: 48 ms."""
BACKCHANNEL_S: Final = 0.7
"""Longest backchannel: two words at 180 words a minute."""

LONGEST_BREATH_S: Final = 1.0
LEAST_PITCHED: Final = 0.2
"""Both as for the breath before an agent's word (`harness.timing.breath`): a breath has no pitch, a word has."""

Span = tuple[float, float]
"""(start, end) in seconds of the recording."""


class NoTurn(ValueError):
    """No turn can be found in this recording; the message is one line with the reason."""


class TooNoisy(NoTurn):
    """The noise is too close to the voice."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One turn, in seconds of the recording. `pauses` are its silences of 200 ms and more."""

    start_s: float
    end_s: float
    pauses: tuple[Span, ...]

    @property
    def span(self) -> Span:
        """The span from the first to the last of its speech."""
        return self.start_s, self.end_s


def speech_in(signal: Float32, vocal: VocalDetector, own: NDArray[np.bool_] | None = None) -> tuple[Span, ...]:
    """Stretches of speech with at least 200 ms between them. `signal`: one channel at 16 kHz.

    `own`: False for the blocks of 8 ms in which the channel holds no more than another side's leak.

    Raises `NoTurn` if there is no speech, and `TooNoisy` if the noise is too close to the voice.
    """
    level = block_power(signal, BLOCK)
    speech = speech_level(signal)
    accepted = vocal_spans(vocal(signal)) if speech > 0 else []
    if not accepted:
        raise NoTurn("nothing is spoken in it")
    floor = float(np.percentile(level, FLOOR_PERCENTILE))
    if floor > 0 and decibels(speech) - decibels(floor) < LEAST_ROOM_DB:
        raise TooNoisy(
            f"it is never silent: its quietest parts lie {decibels(speech) - decibels(floor):.0f} dB below its speech, and "
            f"{LEAST_ROOM_DB:.0f} dB are needed to find pauses"
        )
    sounding = level >= least_sound(level, speech)
    sounds = joined(runs(sounding if own is None else sounding & own[: len(level)]), CLOSURE_S)
    voiced = [(first * WINDOW / RATE_HZ, past * WINDOW / RATE_HZ) for first, past in accepted]
    near = np.convolve(level, np.ones(SYLLABLE) / SYLLABLE, "same") >= speech * 10 ** (-FARTHEST_DB / 10)
    spoken = [
        span
        for span in sounds
        if touches(span, voiced)
        and (span[1] - span[0] > LONGEST_BREATH_S or _is_pitched(signal, span))
        and np.any(near[in_blocks(span)])
    ]
    if not spoken:
        raise NoTurn("nothing is spoken in it")
    return tuple(span for span in joined(spoken, LEAST_PAUSE_S) if span[1] - span[0] >= SHORTEST_WORD_S)


def speech_level(signal: Float32) -> float:
    """The power of the speech in a channel, of what is no noise alone: where a side says little, a noise 20 dB below its speech
    passes the gate of P.56, and the level came out 7 dB too low."""
    level = block_power(signal, BLOCK)
    loud = level >= float(np.percentile(level, FLOOR_PERCENTILE)) * 10 ** (OVER_FLOOR_DB / 10)
    return speech_power(np.where(np.repeat(loud, BLOCK)[: signal.size], signal, np.float32(0)), RATE_HZ)


def least_sound(level: NDArray[np.float64], speech: float) -> float:
    """The power from which a block of 8 ms is no noise: within 40 dB of the speech, 10 dB over the steady noise, and over the
    swells of an unsteady one (a street, other people)."""
    floor = float(np.percentile(level, FLOOR_PERCENTILE))
    over_swells = min(swells(level, speech) * 10 ** (OVER_SWELLS_DB / 10), speech * 10 ** (-LEAST_ROOM_DB / 10))
    return max(speech * 10 ** (-EDGE_DB / 10), floor * 10 ** (OVER_FLOOR_DB / 10), over_swells)


def swells(level: NDArray[np.float64], speech: float) -> float:
    """The power that a channel's noise reaches at times, where nothing loud is near; 0 where too little is heard of it."""
    before, after = round(BEFORE_S / WINDOW_S), round(BESIDE_S / WINDOW_S)
    near = np.convolve(level >= speech * 10 ** (-LOUD_DB / 10), np.ones(before + after + 1)) > 0.5
    noise = level[~near[before : before + len(level)]]
    return float(np.percentile(noise, SWELL_PERCENTILE)) if len(noise) * WINDOW_S >= LEAST_NOISE_S else 0.0


def one_turn(speech: Sequence[Span]) -> RecordedTurn:
    """All speech of a recording as one turn."""
    gaps = tuple((before[1], after[0]) for before, after in pairwise(speech))
    return RecordedTurn(speech[0][0], speech[-1][1], gaps)


def turns_beside(speech: Sequence[Span], other: Sequence[Span]) -> tuple[RecordedTurn, ...]:
    """The turns of one side of a call, separated by speech of the other side, or by a silence of over five seconds.

    >>> [turn.span for turn in turns_beside([(0.0, 1.0), (1.5, 2.0), (4.0, 5.0)], [(2.2, 3.8)])]
    [(0.0, 2.0), (4.0, 5.0)]
    """
    answers = [span for span in other if span[1] - span[0] > BACKCHANNEL_S]
    turns: list[list[Span]] = []
    for span in speech:
        before = turns[-1][-1] if turns else None
        answered = before and any(before[0] < start < span[0] and end > before[1] for start, end in answers)
        if before and span[0] - before[1] <= LONGEST_PAUSE_S and not answered:
            turns[-1].append(span)
        else:
            turns.append([span])
    return tuple(one_turn(turn) for turn in turns)


def _is_pitched(signal: Float32, span: Span) -> bool:
    # A frame of the pitch finder on either side, so that the shortest words fill one.
    edge = FRAME / PITCH_HZ
    part = signal[max(0, round((span[0] - edge) * RATE_HZ)) : round((span[1] + edge) * RATE_HZ)]
    frames = voicing(resample_float(part, RATE_HZ, PITCH_HZ))
    return float(np.sum(frames >= VOICED)) * HOP_S > LEAST_PITCHED * (span[1] - span[0])


def in_blocks(span: Span) -> slice:
    """The blocks of 8 ms of a span."""
    return slice(round(span[0] * RATE_HZ / BLOCK), round(span[1] * RATE_HZ / BLOCK))


def runs(blocks: NDArray[np.bool_]) -> tuple[Span, ...]:
    """The spans in which blocks of 8 ms are True."""
    return tuple((a * BLOCK / RATE_HZ, b * BLOCK / RATE_HZ) for a, b in islands(blocks, 1))


def joined(spans: Iterable[Span], least_gap_s: float) -> tuple[Span, ...]:
    """Spans in order, those less than a gap apart made one.

    >>> joined([(0.0, 1.0), (1.1, 2.0), (2.5, 3.0)], 0.2)
    ((0.0, 2.0), (2.5, 3.0))
    """
    found: list[Span] = []
    for start, end in spans:
        if found and start - found[-1][1] < least_gap_s - 1e-9:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(found)


def touches(span: Span, others: Iterable[Span]) -> bool:
    """True if a span has an instant in common with any of the others."""
    return any(span[0] < end and start < span[1] for start, end in others)
