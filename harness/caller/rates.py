"""Conversion of a plan's audio to the connection's sample rate, before the call.

Agents differ in their input rate (8 kHz telephony, 16 kHz pipecat, 24 kHz realtime APIs). The recording keeps the signal
at the line's rate, the one that was really sent. A marked pause stays true silence: the resampler's ringing, a few
milliseconds at each edge, is set to zero.
"""

from dataclasses import replace

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.caller.plan import CallerTurn, SessionPlan
from harness.recording.record import Pause


def at_rate(plan: SessionPlan, rate_hz: int) -> SessionPlan:
    """The same plan with its audio at `rate_hz`."""
    if plan.rate_hz == rate_hz:
        return plan
    turns = tuple(_turn(turn, plan.rate_hz, rate_hz) for turn in plan.turns)
    noise = None if plan.line_noise is None else _resampled(plan.line_noise, plan.rate_hz, rate_hz)
    return replace(plan, turns=turns, rate_hz=rate_hz, line_noise=noise)


def _turn(turn: CallerTurn, from_hz: int, to_hz: int) -> CallerTurn:
    pauses = tuple(Pause(p.start_sample * to_hz // from_hz, p.end_sample * to_hz // from_hz) for p in turn.pauses)
    played = _resampled(turn.played, from_hz, to_hz)
    dry = played.copy() if turn.dry is None else _resampled(turn.dry, from_hz, to_hz)
    for pause in pauses:
        dry[pause.start_sample : pause.end_sample] = 0
        if turn.dry is None:
            played[pause.start_sample : pause.end_sample] = 0
    return replace(turn, played=played, dry=None if turn.dry is None else dry, pauses=pauses)


def _resampled(samples: NDArray[np.int16], from_hz: int, to_hz: int) -> NDArray[np.int16]:
    out: NDArray[np.int16] = soxr.resample(samples, from_hz, to_hz, quality="VHQ").astype(np.int16)
    return out
