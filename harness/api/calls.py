"""Timing of a call that was recorded elsewhere: the method needs only two channels on one clock.

A stereo file has both sides of a call on one timeline, but no arrival times of messages. So the agent's channel is taken as
heard: its onset is exact, and figures that need arrivals or marks (TTFT, the stages) stay unknown instead of being guessed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import first_sample, last_sample
from harness.audio.sound_file import SoundFault, read_int16
from harness.calls.sound import BOUNDS
from harness.errors import UserError
from harness.recording.record import FRAME_MS, Arrival, CallerTrack, Recording, SpokenTurn
from harness.timeline import NS_PER_MS
from harness.timing import measure_turns
from harness.timing.figures import TurnTiming

_T0_NS: Final = 10**9
"""The instant of a file's first sample. Any instant would do, because all figures are differences."""


def measure_recording(
    call: Recording | str | Path, turns: Sequence[tuple[float, float]] | None = None
) -> tuple[TurnTiming, ...]:
    """The figures of every caller turn of a recorded call (definitions: docs/measurement.md).

    Args:
        call: a recording of a run (`Run.recording`), or a sound file with the caller left and the agent right, of any rate
            from 8 kHz that libsndfile reads. Both channels must share one clock: a recording of the line, not of a room.
        turns: start and end of each caller turn, in seconds; None: all the caller's speech is one turn. Only for a file.

    Raises:
        UserError: the file cannot be read or does not have two channels, or the caller is silent in a turn.

    >>> import harness
    >>> for turn in harness.measure_recording("call.wav"):
    ...     print(f"TTFA {turn.ttfa_ms:.0f} ms")
    TTFA 400 ms
    """
    if isinstance(call, Recording):
        if turns is not None:
            raise UserError("turns: a recording of a run has its own turns; leave them out")
        return measure_turns(call)
    return measure_turns(_of_file(Path(call), turns))


def _of_file(path: Path, turns: Sequence[tuple[float, float]] | None) -> Recording:
    try:
        channels, rate_hz = read_int16(path, BOUNDS)
    except SoundFault as fault:
        raise UserError(f"{path}: cannot be read as sound: {fault}") from fault
    if len(channels) != 2:
        raise UserError(f"{path}: has 1 channels; two are needed: the caller left, the agent right")
    caller, agent = channels
    spoken = _turns(caller, rate_hz, turns, path)
    frames = -(-len(caller) // (rate_hz * FRAME_MS // 1000))
    return Recording(
        caller=CallerTrack(
            rate_hz=rate_hz,
            dry=caller,
            played=caller,
            t0_ns=_T0_NS,
            departures_ns=_T0_NS + (np.arange(frames, dtype=np.int64) + 1) * FRAME_MS * NS_PER_MS,
            speech_start_sample=spoken[-1].start_sample,
            speech_end_sample=spoken[-1].end_sample,
            turns=spoken,
        ),
        agent_rate_hz=rate_hz,
        agent_pcm=agent,
        arrivals=(Arrival(_T0_NS, 0, len(agent)),),
    )


def _turns(
    caller: NDArray[np.int16], rate_hz: int, given: Sequence[tuple[float, float]] | None, path: Path
) -> tuple[SpokenTurn, ...]:
    spans = [(0, len(caller))] if given is None else [(round(a * rate_hz), round(b * rate_hz)) for a, b in given]
    ends = [0, *(end for _, end in spans)]
    found = []
    for before, (start, end) in zip(ends, spans, strict=False):
        if not before <= start < end <= len(caller):
            told = f"{start / rate_hz:g} to {end / rate_hz:g} s"
            raise UserError(f"{path}: turn {told}: turns must be in the file, in order, and must not overlap")
        part = caller[start:end]
        first, last = first_sample(part, rate_hz), last_sample(part, rate_hz)
        if first is None or last is None:
            told = f" from {start / rate_hz:g} to {end / rate_hz:g} s" if given is not None else ""
            raise UserError(f"{path}: the caller (left channel) says nothing{told}; are the channels the other way round?")
        found.append(SpokenTurn(start + first, start + last + 1))
    if not found:
        raise UserError(f"{path}: no turn to measure; name at least one, or leave turns out")
    return tuple(found)
