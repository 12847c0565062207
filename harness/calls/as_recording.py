"""A call that already happened, as a recording of a call, so that one code measures both.

There are two channels on one clock and nothing else. The agent's channel is one message that begins with the call. The caller's
is the *played* signal; the *dry* one is the speech that `both_sides` finds in it, without the agent's echo, and silence
elsewhere. Frames never left for anywhere, so nothing is said of pacing. The error that this adds depends on the room
(docs/calls.md). Pure: no file, no clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from harness.audio.level import GATE_DB, block_power, speech_power
from harness.audio.onset import CLEAN_DB
from harness.audio.pcm import Float32, Int16, to_float, to_int16
from harness.audio.recorded_turns import BLOCK, FLOOR_PERCENTILE, Span, speech_level
from harness.audio.vocal import RATE_HZ, VocalDetector
from harness.calls.both_sides import OwnSide, own_sides
from harness.calls.caller_turns import CallerTurn, caller_turns
from harness.errors import UserError
from harness.recording.playout import HEARD_RATE_HZ, heard
from harness.recording.record import HAPPENED, Arrival, CallerTrack, Pause, Recording, SpokenTurn
from harness.timing.echo import agent_alone
from harness.timing.utterances import find_sounds

BESIDE_S: Final = 0.02
"""In a channel whose noise cannot reach the level of speech this much beside each stretch is the speech's own, so that the rule
of the spoken end finds its last sample exactly; the edges themselves are found in steps of half a millisecond and of 8 ms."""
BROKEN: Final = RATE_HZ // 200
NEAR: Final = 8
"""Blocks of 5 ms, in one of which a voice falls that is cut off, and how many of them around an end; a voice that ends by
itself fades for 30 ms and more."""
NOTHING_DB: Final = 30.0
OVER_NOISE_DB: Final = 6.0
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
    caller, agent = own_sides((call.caller, call.caller_rate_hz), (call.agent, call.agent_rate_hz), vocal)
    heard_of = _Edges(len(call.agent), call.agent_rate_hz, (*agent.speech, *agent.sounds), _beside_s(agent))
    agent_own = tuple(sorted((heard_of.begin(start), heard_of.past(end)) for start, end in heard_of.speech))
    bare = replace(_recording(call.caller, call, ()), agent_own=agent_own)
    track = heard(bare)
    sounds = find_sounds(replace(track, samples=agent_alone(track, bare)), vocal)
    said = [(s.start / HEARD_RATE_HZ, s.end / HEARD_RATE_HZ) for s in sounds if s.kind in SAID]
    turns = caller_turns(caller.speech, said, {end for _, end in said if _is_broken_off(agent.signal, end)})
    if not any(turn.kind == "turn" for turn in turns):
        raise UserError("nothing is measured, because the caller only speaks into the agent's speech")
    edges = _Edges(len(call.caller), call.caller_rate_hz, caller.speech, _beside_s(caller))
    dry = edges.dry(to_int16(to_float(call.caller) - np.float32(caller.offset)))
    return replace(_recording(dry, call, edges.turns(turns)), agent_own=agent_own)


def _is_broken_off(signal: Float32, end_s: float) -> bool:
    """True if speech that ends here is cut off and not over: it falls at once to nothing, or to its channel's noise."""
    level, speech = block_power(signal, BROKEN), speech_level(signal)
    floor = float(np.percentile(block_power(signal, BLOCK), FLOOR_PERCENTILE))
    nothing = max(speech * 10 ** (-NOTHING_DB / 10), floor * 10 ** (OVER_NOISE_DB / 10))
    middle = round(end_s * RATE_HZ / BROKEN)
    near = range(max(1, middle - NEAR), min(len(level) - 2, middle + NEAR + 1))
    return any(level[k - 1] >= speech * 10 ** (-GATE_DB / 10) and level[k + 1 : k + 4].max() <= nothing for k in near)


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


def _beside_s(side: OwnSide) -> float:
    """What of the quiet around a side's speech counts as its own: something only where no noise can pass for speech."""
    if side.rt60_s is not None:
        return 0.0
    floor = float(np.percentile(block_power(side.signal, BLOCK), FLOOR_PERCENTILE))
    return BESIDE_S if floor <= speech_power(side.signal, RATE_HZ) * 10 ** (-CLEAN_DB / 10) else 0.0


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
            part = slice(self.begin(start_s), self.past(end_s))
            found[part] = samples[part]
        return found

    def turns(self, found: Sequence[CallerTurn]) -> tuple[SpokenTurn, ...]:
        """The turns in samples, none of which begins before the one before it has ended."""
        turns: list[SpokenTurn] = []
        for turn in found:
            after = turns[-1].end_sample if turns else 0
            start, end = max(after, self.begin(turn.spans[0][0])), self.past(turn.spans[-1][1])
            pauses = [Pause(self._at(a[1]), self._at(b[0])) for a, b in pairwise(turn.spans)]
            turns.append(SpokenTurn(start, end, tuple(pauses), turn.kind))
        return tuple(turns)

    def _at(self, at_s: float) -> int:
        return min(self.length, max(0, round(at_s * self.rate_hz)))

    def begin(self, start_s: float) -> int:
        """The first sample of what begins here."""
        return self._at(start_s - self.beside_s if any(start_s == start for start, _ in self.speech) else start_s)

    def past(self, end_s: float) -> int:
        """One past the last sample of what ends here."""
        return self._at(end_s + self.beside_s if any(end_s == end for _, end in self.speech) else end_s)
