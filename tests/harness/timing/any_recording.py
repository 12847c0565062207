"""Recordings as no honest call makes them, drawn by a seed: sounds, arrivals, clears, turns, pauses and marks of any shape.

What the caller's process can record is `plausible`; what a damaged or invented file may hold beside it is `mutated`.
"""

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.made_recordings import AGENT_HZ, pcm, voice
from harness.agents import marks
from harness.agents.connection import Mark, Transcript
from harness.calibrate.voice import synthetic_voice
from harness.recording.record import Arrival, CallerTrack, Pause, Recording, SpokenTurn
from harness.timing.chain import OF_A_REQUEST

T0_NS = 7_000_000_000_000
AGENT_RATES_HZ = (4_000, 8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000, 192_000)
CALLER_RATES_HZ = (8_000, 11_025, 16_000, 24_000, 44_100, 48_000)
NAMES = (
    marks.SPEECH_STARTED, marks.SILENCE_SEEN, marks.ASR_STARTED, marks.ASR_DONE, marks.TURN_SCORED, marks.ENDPOINT_REACHED,
    marks.TURN_DECIDED, marks.LLM_CALLED, marks.LLM_REQUESTED, marks.LLM_FIRST_TOKEN, marks.FIRST_CLAUSE, marks.TTS_STARTED,
    marks.TTS_FIRST_AUDIO, marks.AUDIO_SENT, marks.LLM_DONE, marks.TTS_DONE, marks.SPECULATION_DROPPED, "", "any\x00thing",
)  # fmt: skip
DETAILS: tuple[object, ...] = (
    None, 0, 1, 2, True, -1, "1", "", [1], {"a": 1}, 1e308, -1e308, float("nan"), float("inf"), 10**400, 0.5, "asr_done",
)  # fmt: skip
KEYS = ("request", "cause", "tokens_per_s", "inter_token_gap_p95_ms", "real_time_factor", "audio_ms", "needed_ms")

Random = np.random.Generator
Pcm = NDArray[np.int16]


@cache
def _voice(seed: int) -> Pcm:
    return pcm(voice(1.2, seed=seed, db=-20.0 - 3 * seed, pitch_hz=90.0 + 40 * seed))


@cache
def _caller_voice(rate_hz: int) -> Pcm:
    return pcm(synthetic_voice(1.0, rate_hz, np.random.default_rng(99), 110) * 0.08)


def sound(rng: Random) -> Pcm:
    """One stretch of what an agent may send."""
    count = int(rng.choice([0, 1, 2, 47, 479, 1_500, 4_000, 20_000]))
    match rng.integers(13):
        case 0:
            return np.zeros(0, np.int16)
        case 1:
            return np.full(1, rng.integers(-32_768, 32_768), np.int16)
        case 2:
            return np.zeros(count, np.int16)
        case 3:
            return np.full(count, rng.choice([-32_768, 32_767]), np.int16)
        case 4:
            return np.where(np.arange(count) // max(1, int(rng.integers(1, 400))) % 2, -32_768, 32_767).astype(np.int16)
        case 5:
            clicks = np.zeros(count, np.int16)
            clicks[rng.integers(0, 20_000, 5)[:count] % max(1, count)] = 30_000
            return clicks
        case 6:
            return rng.integers(-32_768, 32_768, count).astype(np.int16)
        case 7:
            noise = rng.standard_normal(count) * 10 ** rng.uniform(0, 4)
            return noise.clip(-32_768, 32_767).astype(np.int16)
        case 8:
            tone = np.sin(2 * np.pi * np.arange(count) * rng.uniform(1e-4, 0.49))
            loud: NDArray[np.float64] = tone * 10 ** rng.uniform(0, 4.5)
            return loud.astype(np.int16)
        case 9:
            spoken = _voice(int(rng.integers(4)))
            hiss = rng.standard_normal(len(spoken) + 12_000) * 10 ** rng.uniform(0, 3.3)
            hiss[12_000:] += spoken
            return hiss.clip(-32_768, 32_767).astype(np.int16)
        case _:
            whole = _voice(int(rng.integers(4)))
            begin = int(rng.integers(len(whole))) if rng.random() < 0.5 else 0
            cut = int(rng.choice([30, 300, 800, 1_500, 2_500, 9_000, len(whole)]))
            return whole[begin : begin + cut]


def _arrivals(rng: Random, sent: list[Pcm], end_ns: int) -> tuple[Arrival, ...]:
    how = rng.integers(7)
    size = int(rng.choice([1, 160, 480, 960, 5_000, 10**6]))
    size = max(size, sum(map(len, sent)) // 300 + 1)
    found: list[Arrival] = []
    offset = 0
    at_ns = int(rng.integers(T0_NS - 2_000_000_000, end_ns + 20_000_000_000))
    for samples in sent:
        at_ns = at_ns if how == 0 else int(rng.integers(T0_NS, end_ns + 500_000_000))
        at_ns = max(at_ns, found[-1].arrival_ns) if found and how not in (1, 2) else at_ns
        for begin in range(0, len(samples), size) if how != 3 else [0]:
            count = min(size, len(samples) - begin) if how != 3 else len(samples)
            found.append(Arrival(at_ns, offset, count))
            offset += count
            if how == 4:
                found.append(Arrival(at_ns, offset, 0))
            at_ns += {5: 0, 6: int(rng.integers(0, 400_000_000))}.get(int(how), round(count / AGENT_HZ * 1e9))
    return tuple(found)


def _caller(rng: Random, rate_hz: int) -> CallerTrack:
    said = _caller_voice(rate_hz)
    lead, tail = (int(rng.integers(0, rate_hz // 2)) for _ in range(2))
    dry = np.concatenate([np.zeros(lead, np.int16), said, np.zeros(tail, np.int16)])
    if rng.random() < 0.1:
        dry[:] = 0
    frame = rate_hz // 50
    sent = len(dry) // frame
    departures = T0_NS + (np.arange(sent, dtype=np.int64) + 1) * 20_000_000 + rng.integers(0, 10**6, sent)
    begin, end = lead, lead + len(said)
    pauses = tuple(Pause(begin + a, begin + a + n) for a, n in rng.integers(0, len(said) // 2, (int(rng.integers(0, 3)), 2)))
    turns: tuple[SpokenTurn, ...] = (SpokenTurn(begin, end, pauses),)
    if rng.random() < 0.3:
        middle = int(rng.integers(begin + 1, end))
        kind = ("barge_in", "event", "turn")[int(rng.random() * 3)]
        turns = (SpokenTurn(begin, middle, pauses), SpokenTurn(middle, end, (), kind))  # type: ignore[arg-type]
    return CallerTrack(rate_hz, dry, dry, T0_NS, departures, begin, end, pauses, turns)


def any_marks(rng: Random, end_ns: int) -> tuple[Mark, ...]:
    """Up to forty marks of any name, time and detail."""
    found = []
    offset = int(rng.choice([0, 0, 10**12, -(10**12), 2**62]))
    for _ in range(int(rng.integers(0, 40))):
        at_ns = int(rng.integers(T0_NS - 10**9, end_ns + 3 * 10**9))
        arrival_ns = at_ns + int(rng.choice([0, 10**6, -(10**6), 10**9, -(10**9), 10**12]))
        detail = {str(key): DETAILS[rng.integers(len(DETAILS))] for key in rng.choice(KEYS, int(rng.integers(0, 4)))}
        found.append(Mark(NAMES[rng.integers(len(NAMES))], at_ns - offset, arrival_ns, detail))
    return tuple(found)


def a_turn_s_marks(rng: Random, end_ns: int) -> tuple[Mark, ...]:
    """The marks of one turn as an honest agent on this machine stamps them; some in vain, shifted or shuffled."""
    at = end_ns - 10**9 + np.cumsum(rng.integers(0, 200_000_000, 15))
    found = [
        Mark(name, int(t), int(t) + 10**6, {"request": 1} if name in OF_A_REQUEST else {})
        for name, t in zip(NAMES[1:16], at, strict=True)
    ]
    if rng.random() < 0.5:
        k = int(rng.integers(len(found)))
        found[k] = replace(found[k], at_ns=found[k].at_ns + int(rng.normal(0, 10**9)))
    if rng.random() < 0.2:
        moved = rng.permutation([m.at_ns for m in found])
        found = [replace(m, at_ns=int(t)) for m, t in zip(found, moved, strict=True)]
    return tuple(found)


def plausible(rng: Random) -> Recording:
    """What the caller's process can record of an agent that does anything at all."""
    caller = _caller(rng, int(rng.choice(CALLER_RATES_HZ)))
    end_ns = T0_NS + round(len(caller.dry) / caller.rate_hz * 1e9)
    sent = [sound(rng) for _ in range(int(rng.integers(0, 5)))]
    agent = np.concatenate([np.zeros(0, np.int16), *sent])
    arrivals = _arrivals(rng, sent, end_ns)
    clears = tuple(int(at) for at in rng.integers(T0_NS - 10**9, end_ns + 3 * 10**9, int(rng.integers(0, 4))))
    if arrivals and rng.random() < 0.3:
        clears += (arrivals[int(rng.integers(len(arrivals)))].arrival_ns + int(rng.choice([0, 1, 10**7])),)
    rate_hz = AGENT_HZ if rng.random() < 0.7 else int(rng.choice(AGENT_RATES_HZ))
    said = any_marks(rng, end_ns) if rng.random() < 0.4 else a_turn_s_marks(rng, end_ns)
    words = (Transcript(end_ns, "assistant", "some\x00 words \u202e\ufffd", True),) if rng.random() < 0.2 else ()
    return Recording(caller, rate_hz, agent, arrivals, clears, said, words, loop_lag_ms=(0.1,))


def mutated(rng: Random) -> Recording:
    """A recording of which one part has been made impossible."""
    whole = plausible(rng)
    caller, some = whole.caller, [int(n) for n in rng.integers(-50_000, 200_000, 8)]
    odd: tuple[SpokenTurn, ...] = (
        SpokenTurn(some[0], some[1], (Pause(some[2], some[3]),)),
        SpokenTurn(some[4], some[5], (Pause(some[6], some[7]),), ("barge_in", "event", "turn")[int(rng.random() * 3)]),
    )
    match rng.integers(7):
        case 0:
            return replace(whole, caller=replace(caller, turns=odd))
        case 1:
            return replace(whole, caller=replace(caller, turns=(), speech_start_sample=some[0], speech_end_sample=some[1]))
        case 2:
            nothing = np.zeros(0, np.int16)
            return replace(whole, caller=replace(caller, dry=nothing, played=nothing, departures_ns=np.zeros(0, np.int64)))
        case 3:
            return replace(whole, caller=replace(caller, departures_ns=np.full(int(rng.integers(0, 4)), T0_NS, np.int64)))
        case 4:
            return replace(whole, arrivals=tuple(rng.permutation(np.array(whole.arrivals, dtype=object))))
        case 5:
            pauses = tuple(Pause(some[k], some[k + 1]) for k in range(0, 6, 2))
            return replace(whole, caller=replace(caller, turns=tuple(replace(t, pauses=pauses) for t in caller.turns)))
        case _:
            return replace(whole, caller=replace(caller, dry=caller.dry[: len(caller.dry) // 3]))
