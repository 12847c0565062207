"""Both sides of a call, each with the stretches of its own speech: without offset, level, leak, noise and room.

Each of these can pass for speech in a recording of others. The method is the same for both sides and relative throughout:
offset off, the other side's leak subtracted, speech found against the channel's own speech and noise, its edges by the change
point, a room's tail cut. Where the two sides cannot be distinguished, nothing is measured, with the reason. Pure: no file, no
clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.leak import Leak, find_leak
from harness.audio.level import block_power, decibels
from harness.audio.pcm import Float32, Int16, resample_float, to_float
from harness.audio.recorded_edges import audible, true_edges
from harness.audio.recorded_turns import (
    BLOCK,
    FLOOR_PERCENTILE,
    NoTurn,
    Span,
    TooNoisy,
    in_blocks,
    runs,
    speech_in,
    speech_level,
    swells,
    touches,
)
from harness.audio.room_tail import without_tails
from harness.audio.vocal import RATE_HZ, VocalDetector
from harness.errors import UserError

NEAREST_LEAK_DB: Final = -9.0
"""A leak that is this loud against the speech of its channel cannot be distinguished from it."""
UNDER_SPEECH_DB: Final = 25.0
UNSTEADY_DB: Final = 8.0
"""Noise that swells by more than this, to less than 25 dB under the speech, is refused: with people at 22 dB under it, 2 of 15
turns of the choosing set were wrong, and a quarter of the ends over 100 ms."""
LEAST_OWN: Final = 0.01
"""Share of a channel's power that its own side has, if it says anything; the rest of a leak that was subtracted has less."""
LEAST_LEAK_S: Final = 0.02
"""Two blocks of 8 ms and less without own sound may be a dip of the voice."""


@dataclass(frozen=True, slots=True)
class OwnSide:
    """One side of a call, at 16 kHz. `speech`: its own, in seconds; `sounds`: what else of it is no noise and no leak."""

    signal: Float32
    offset: float
    speech: tuple[Span, ...]
    sounds: tuple[Span, ...]
    rt60_s: float | None


def own_sides(caller: tuple[Int16, int], agent: tuple[Int16, int], vocal: VocalDetector) -> tuple[OwnSide, OwnSide]:
    """The caller's side and the agent's, each from its samples and their rate.

    Raises:
        UserError: a side is never silent, the two cannot be distinguished, or the caller says nothing; a clause that says why.
    """
    signals, offsets = zip(*(_without_offset(*side) for side in (caller, agent)), strict=True)
    leaks = _leaks(signals[0], signals[1])
    silent = leaks[1] is not None and _is_nothing_else(leaks[1], signals[1])
    for leak, side, other in ((leaks[0], "caller", "agent"), (leaks[1], "agent", "caller")):
        if leak is not None and leak.gain_db > NEAREST_LEAK_DB and not silent:
            raise UserError(
                f"nothing is measured, because the {other} is in the {side}'s channel, only {-leak.gain_db:.0f} dB under the "
                f"{side}: nobody can say which of them speaks"
            )
    found = []
    for side, signal, offset, leak in zip(("caller", "agent"), signals, offsets, leaks, strict=True):
        try:
            is_silent = silent and side == "agent"
            found.append(OwnSide(signal, offset, (), (), None) if is_silent else _own(signal, offset, leak, vocal))
        except TooNoisy as fault:
            raise UserError(f"nothing is measured, because of the {side}'s side: {fault}") from None
        except NoTurn as fault:
            if side == "caller":
                raise UserError(f"nothing is measured, because of the caller's side: {fault}") from None
            found.append(OwnSide(signal, offset, (), _sounds(signal, leak, ()), None))
    return found[0], found[1]


def _without_offset(samples: Int16, rate_hz: int) -> tuple[Float32, float]:
    """The signal at 16 kHz and the constant that was in it: of silence to the last bit it is the silence's own value."""
    wide = to_float(samples)
    offset = float(np.median(wide)) if wide.size else 0.0
    return resample_float(wide - np.float32(offset), rate_hz, RATE_HZ), offset


def _leaks(caller: Float32, agent: Float32) -> tuple[Leak | None, Leak | None]:
    """The agent's leak in the caller's channel, and the caller's in the agent's."""
    mine, theirs = find_leak(caller, agent), find_leak(agent, caller)
    if mine is None or theirs is None:
        return mine, theirs
    # Where both leak, each is sought again in the other without its own leak: an echo of an echo is nobody's.
    return find_leak(caller, _only_own(theirs)) or mine, find_leak(agent, _only_own(mine)) or theirs


def _only_own(leak: Leak) -> Float32:
    return np.where(np.repeat(leak.own, BLOCK)[: leak.cleaned.size], leak.cleaned, np.float32(0))


def _own(signal: Float32, offset: float, leak: Leak | None, vocal: VocalDetector) -> OwnSide:
    own = None if leak is None else leak.own
    cleaned = signal if leak is None else leak.cleaned
    _refuse_other_people(cleaned, own)
    found = speech_in(cleaned, vocal, own)
    direct, rt60_s = without_tails(cleaned, found)
    # A tail fades into the noise without an edge: a change point would be sought far behind the speech.
    leaked = () if own is None else [span for span in runs(~own) if span[1] - span[0] > LEAST_LEAK_S]
    speech = true_edges(cleaned, direct, leaked, ends=rt60_s is None)
    return OwnSide(cleaned, offset, speech, _sounds(signal, leak, (*found, *speech)), rt60_s)


def _is_nothing_else(leak: Leak, signal: Float32) -> bool:
    """True if a channel has no other sound than the other side's leak: its own side says nothing all call long."""
    return float(np.mean(leak.cleaned**2)) < LEAST_OWN * float(np.mean(signal**2))


def _sounds(signal: Float32, leak: Leak | None, speech: Sequence[Span]) -> tuple[Span, ...]:
    """What else is heard of a side beside its speech."""
    found = audible(signal if leak is None else leak.cleaned)
    return tuple(s for s in found if not touches(s, speech) and (leak is None or _mostly(leak.own, s)))


def _refuse_other_people(signal: Float32, own: NDArray[np.bool_] | None) -> None:
    """Raise `TooNoisy` where an unsteady noise comes near the speech: to a speech model people in the background are speech."""
    level = block_power(signal, BLOCK)
    speech, floor = speech_level(signal), float(np.percentile(level, FLOOR_PERCENTILE))
    reaches = swells(level if own is None else level[own[: len(level)]], speech)
    if reaches > max(speech * 10 ** (-UNDER_SPEECH_DB / 10), floor * 10 ** (UNSTEADY_DB / 10)):
        raise TooNoisy(
            f"other people or another unsteady noise are in it, only "
            f"{decibels(speech) - decibels(reaches):.0f} dB below its speech"
        )


def _mostly(own: NDArray[np.bool_], span: Span) -> bool:
    part = own[in_blocks(span)]
    return bool(part.size) and float(part.mean()) > 0.5
