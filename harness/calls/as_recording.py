"""A call that already happened, as a recording of a call, so that one code measures both.

Of such a call there are two channels on one clock and nothing else. So the agent's channel is one message that begins with the
call, and is heard as it is. The caller's channel is the *played* signal; the *dry* one, the speech without line and room, is
found by the method that finds the turns of recordings of people: the speech detector decides whether a sound is speech, the
level and the change point where it begins and ends (`harness.audio.recorded_turns`, `recorded_edges`), and everything else is
silence. From there every figure is that of a run. The error of the caller's edges that this adds depends on the room's noise
and is in docs/calls.md.

The caller's side is searched without the agent's echo, which a telephone on a table sends back. Frames never left for anywhere,
so nothing is said of pacing.

Pure: no file, no clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import WINDOW_S, block_power, speech_power
from harness.audio.onset import CLEAN_DB
from harness.audio.pcm import Float32, Int16, resample_float, to_float, to_int16
from harness.audio.recorded_edges import true_edges
from harness.audio.recorded_turns import FLOOR_PERCENTILE, NoTurn, Span, speech_in
from harness.audio.vocal import RATE_HZ, VocalDetector
from harness.calls.caller_turns import CallerTurn, caller_turns
from harness.errors import UserError
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack, heard, resample
from harness.recording.record import HAPPENED, Arrival, CallerTrack, Pause, Recording, SpokenTurn
from harness.timing.echo import without_echo
from harness.timing.utterances import AUDIBLE_POWER, find_sounds

BESIDE_S: Final = 0.02
"""In a channel whose noise cannot reach the level of speech this much beside each stretch is the speech's own, so that the rule
of the spoken end finds its last sample exactly; the edges themselves are found in steps of half a millisecond and of 8 ms."""
ECHO_S: Final = 0.3
"""Longest delay of an echo of the other side; telephones and loudspeakers are within it."""
BLOCK_S: Final = 0.01
SAID: Final = ("speech", "breath")
"""Sounds of the agent that are heard as speaking."""


@dataclass(frozen=True, slots=True)
class TwoSides:
    """The sound of a call, both sides from the same instant."""

    caller: Int16
    caller_rate_hz: int
    agent: Int16
    agent_rate_hz: int


def as_recording(call: TwoSides, vocal: VocalDetector) -> Recording:
    """The recording of a call, with the caller's turns that were found in it.

    Raises:
        UserError: no turn can be found in the caller's channel; a clause that says why.
    """
    bare = _recording(call.caller, call, ())
    heard_track = heard(bare)
    sounds = find_sounds(replace(heard_track, samples=without_echo(heard_track, bare.caller)), vocal)
    agent = [(s.start / HEARD_RATE_HZ, s.end / HEARD_RATE_HZ) for s in sounds if s.kind in SAID]
    samples = _caller_alone(call)
    signal = resample_float(to_float(samples), call.caller_rate_hz, RATE_HZ)
    try:
        speech = true_edges(signal, speech_in(signal, vocal))
    except NoTurn as fault:
        raise UserError(f"nothing is measured, because of the caller's side: {fault}") from None
    turns = caller_turns(speech, agent)
    if not any(turn.kind == "turn" for turn in turns):
        raise UserError("nothing is measured, because the caller only speaks into the agent's speech")
    edges = _Edges(len(samples), call.caller_rate_hz, speech, BESIDE_S if _is_clean(signal) else 0.0)
    return _recording(edges.dry(samples), call, edges.turns(turns))


def _recording(dry: Int16, call: TwoSides, turns: tuple[SpokenTurn, ...]) -> Recording:
    last = next((turn for turn in reversed(turns) if turn.kind == "turn"), SpokenTurn(0, 0))
    track = CallerTrack(
        rate_hz=call.caller_rate_hz,
        dry=dry,
        played=call.caller,
        t0_ns=0,
        departures_ns=np.zeros(0, np.int64),
        speech_start_sample=last.start_sample,
        speech_end_sample=last.end_sample,
        pauses=last.pauses,
        turns=turns,
    )
    return Recording(track, call.agent_rate_hz, call.agent, (Arrival(0, 0, len(call.agent)),), ended=HAPPENED)


def _caller_alone(call: TwoSides) -> Int16:
    """The caller's channel without the agent's echo in it; the same samples where there is none."""
    wide = resample(call.caller, call.caller_rate_hz)
    mirrored = _recording(call.agent, TwoSides(call.agent, call.agent_rate_hz, call.caller, call.caller_rate_hz), ())
    # In a call of many turns most of a side is its own speech, which no echo explains: it is sought where the other speaks.
    beside = np.where(_while_speaking(resample(call.agent, call.agent_rate_hz), len(wide)), wide, np.float32(0))
    track = HeardTrack(beside, (), (), 0)
    cleaned = without_echo(track, mirrored.caller)
    if cleaned is beside:
        return call.caller
    alone = np.asarray(wide - (beside - cleaned), np.float32)
    return to_int16(resample_float(alone, HEARD_RATE_HZ, call.caller_rate_hz))[: len(call.caller)]


def _while_speaking(other: Float32, length: int) -> NDArray[np.bool_]:
    """For each sample at 48 kHz, True if the other side sounds, or did so `ECHO_S` before."""
    block = round(HEARD_RATE_HZ * BLOCK_S)
    loud = block_power(other, block) > AUDIBLE_POWER
    lasting = np.convolve(loud, np.ones(round(ECHO_S / BLOCK_S) + 1))[: len(loud)] > 0.5
    spread = np.repeat(lasting, block)[:length]
    return np.pad(spread, (0, length - len(spread)))


def _is_clean(signal: Float32) -> bool:
    """True if the channel's noise cannot reach the level at which speech begins and ends."""
    floor = float(np.percentile(block_power(signal, round(RATE_HZ * WINDOW_S)), FLOOR_PERCENTILE))
    return floor <= speech_power(signal, RATE_HZ) * 10 ** (-CLEAN_DB / 10)


@dataclass(frozen=True, slots=True)
class _Edges:
    """The stretches of the caller's speech in samples. `beside_s`: what of the quiet around them counts as theirs."""

    length: int
    rate_hz: int
    speech: Sequence[Span]
    beside_s: float

    def dry(self, samples: Int16) -> Int16:
        """The samples of the speech, and silence elsewhere."""
        found = np.zeros(self.length, np.int16)
        for start_s, end_s in self.speech:
            part = slice(self._begin(start_s), self._past(end_s))
            found[part] = samples[part]
        return found

    def turns(self, found: Sequence[CallerTurn]) -> tuple[SpokenTurn, ...]:
        """The turns in samples, none of which begins before the one before it has ended."""
        turns: list[SpokenTurn] = []
        for turn in found:
            after = turns[-1].end_sample if turns else 0
            start, end = max(after, self._begin(turn.spans[0][0])), self._past(turn.spans[-1][1])
            pauses = [Pause(self._at(a[1]), self._at(b[0])) for a, b in pairwise(turn.spans)]
            turns.append(SpokenTurn(start, end, tuple(pauses), turn.kind))
        return tuple(turns)

    def _at(self, at_s: float) -> int:
        return min(self.length, max(0, round(at_s * self.rate_hz)))

    def _begin(self, start_s: float) -> int:
        return self._at(start_s - self.beside_s if any(start_s == start for start, _ in self.speech) else start_s)

    def _past(self, end_s: float) -> int:
        return self._at(end_s + self.beside_s if any(end_s == end for _, end in self.speech) else end_s)
