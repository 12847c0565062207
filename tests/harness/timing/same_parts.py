"""Parts of `timing-8` by themselves, in whole steps; `python -m tests.harness.timing.same_parts` writes the file.

Whole recordings rarely come to the edge of a rule. Cases on a coarse grid do: times that coincide, stretches that are exactly
as long as a bound, no sample at all. As with whole recordings, other results are another method.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from benchmarks.made_recordings import make_recording
from harness.agents.connection import Mark
from harness.audio.onset import find_onset
from harness.recording.machine_track import MachineSample, MachineTrack
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack
from harness.recording.record import Arrival, SpokenTurn
from harness.recording.spans import PREFIX
from harness.timeline import NS_PER_MS
from harness.timing.contention import of_call, of_turn, owed
from harness.timing.endpointing import decision_for_the_end, judge_overlap, windows_of
from harness.timing.figures import Greeting, TurnTiming
from harness.timing.interruptions import judge_event, silent_from
from harness.timing.measure import METHOD
from harness.timing.session_stamps import chosen_marks
from harness.timing.utterances import Sound
from tests.harness.timing.any_marks import draw
from tests.harness.timing.same_method import _plain

FILE: Final = Path(__file__).with_name("same_parts.json")
CASES: Final = {"machine": 200, "chosen": 200, "event": 150, "pauses": 150, "onset": 60}
STEP_MS: Final = 100
STEP: Final = HEARD_RATE_HZ // 10
CALLER: Final = make_recording().recording.caller


def machine(rng: Random) -> Any:
    """What the whole track, a stretch, a turn and a question in writing could owe."""
    samples, at = [], 0
    counted, watched, by_cpu = rng.random() < 0.8, rng.random() < 0.7, rng.random() < 0.6
    sums = dict.fromkeys(("busy", "stolen", "ran", "waited", "own", "stalled", "quota", "one", "other"), 0.0)
    for _ in range(rng.choice([0, 1, 2, 5, 12, 30])):
        samples.append(
            MachineSample(
                at * NS_PER_MS, sums["busy"], sums["stolen"], sums["ran"], sums["waited"] if counted else None, sums["own"],
                sums["stalled"] if watched else None, rng.choice([None, 0, 3]), rng.choice([None, 1800.0, 3000.0]),
                sums["quota"] if watched else None, (sums["one"], sums["other"]) if by_cpu else (),
            )
        )  # fmt: skip
        step_ms = rng.choice([50, STEP_MS, STEP_MS, 2 * STEP_MS])
        at += step_ms
        for name in sums:
            sums[name] += rng.choice([0, 0, step_ms / 4, step_ms / 2, step_ms])
    track = MachineTrack(2, tuple(samples), rng.choice([(), (0, 3)]), rng.random() < 0.5)
    begin_ms, end_ms = sorted(rng.randrange(-2, 40) * 50 for _ in range(2))
    greeting = Greeting(float(rng.randrange(10) * 50), 1_000.0, False) if rng.random() < 0.3 else None
    turn = TurnTiming(
        METHOD, float(rng.randrange(30) * 50), rng.choice([None, float(rng.randrange(20) * 50)]),
        first_byte_ms=rng.choice([None, -50.0, float(rng.randrange(20) * 50)]),
        ttft_ms=(ttft_ms := rng.choice([None, 0.0, float(rng.randrange(20) * 50)])),
        ttft_from_spoken_end_ms=None if ttft_ms is None else float(rng.randrange(-4, 20) * 50),
        no_reply=rng.random() < 0.1, greeting=greeting,
    )  # fmt: skip
    whole = owed(track, begin_ms * NS_PER_MS, end_ms * NS_PER_MS)
    found = of_turn(track, rng.choice([0, 50 * NS_PER_MS]), turn)
    written = of_call(track, ttft_ms)
    owed_ms = replace(turn, contention=found).owed_ms("ttfa")
    return [None if one is None else asdict(one) for one in (whole, found, written)] + [whole and whole.at_most_ms, owed_ms]


def chosen(rng: Random) -> Any:
    """The marks of a foreign agent, from its wire and its spans, all on one grid."""
    case = draw(rng.randrange(10**6))
    grid_ns = rng.choice([50, STEP_MS, 200]) * NS_PER_MS
    found = [m for m in case.recording.marks if m.name.startswith(("rtvi.", "realtime.", PREFIX))] or spans(
        rng, case.arrived_ns
    )
    on_grid = [replace(m, at_ns=m.at_ns // grid_ns * grid_ns, arrival_ns=m.arrival_ns // grid_ns * grid_ns) for m in found]
    first_ns = min((m.at_ns for m in on_grid), default=0)
    at = [first_ns + rng.randrange(40) * grid_ns for _ in range(rng.randrange(8))]
    arrivals = [Arrival(ns, 480 * k, rng.choice([0, 480, 480])) for k, ns in enumerate(sorted(at))]
    return [[m.name, (m.at_ns - first_ns) / NS_PER_MS, dict(m.detail)] for m in chosen_marks(on_grid, arrivals)]


def spans(rng: Random, at_ns: int) -> list[Mark]:
    """Requests and voices as an instrumented agent traces them, with reports of the wire among them."""
    found: list[Mark] = []
    for _ in range(rng.randrange(1, 6)):
        at_ns += rng.choice([0, 1, 2, 4]) * STEP_MS * NS_PER_MS
        took = rng.choice([{}, {"metrics.ttfb": rng.randrange(1, 8) / 10}, {"metrics.ttfb": 60.0}, {"metrics.ttfb": 60.1}])
        found.append(Mark(PREFIX + rng.choice(["llm", "llm", "tts", "llm_node"]), at_ns, at_ns, took))
        if rng.random() < 0.4:
            row = {"processor": "VoiceTTSService#0", "value": rng.randrange(1, 5) / 10}
            later_ns = at_ns + rng.choice([0, 1, 2, 3]) * STEP_MS * NS_PER_MS
            found.append(Mark("rtvi.metrics", later_ns, later_ns, {"ttfb": [row]}))
        if rng.random() < 0.6:
            name = rng.choice(["user-stopped-speaking", "bot-llm-started", "bot-started-speaking", "bot-llm-text"])
            found.append(Mark("rtvi." + name, at_ns, at_ns + rng.choice([0, 1, 2]) * STEP_MS * NS_PER_MS, {}))
    return found


def event(rng: Random) -> Any:
    """What an agent did at a sound that lasts 300 ms, where its own speech begins and ends in steps of 100 ms."""
    edges = sorted(rng.sample(range(1, 60), rng.choice([0, 2, 2, 4, 6])))
    sounding = list(zip(edges[::2], edges[1::2], strict=True))
    samples = np.zeros(60 * STEP, np.float32)
    for start, end in sounding:
        samples[start * STEP : end * STEP] = 0.5
    track = HeardTrack(samples=samples, pieces=(), underruns=(), t0_ns=0)
    clears = [rng.randrange(60) * STEP for _ in range(rng.randrange(3))]
    tenth = rng.choice([rng.randrange(1, 40), *edges, *(start + 1 for start, _ in sounding)])
    at = tenth * CALLER.rate_hz // 10
    dry = np.zeros(7 * CALLER.rate_hz, np.int16)
    dry[at : at + 3 * CALLER.rate_hz // 10] = 8_000
    caller = replace(CALLER, dry=dry, played=dry)
    spoken = SpokenTurn(at, at + 3 * CALLER.rate_hz // 10, (), kind="event", event="cough")
    vocal = [Sound(start * STEP, end * STEP, "speech") for start, end in sounding]
    here = rng.randrange(60) * STEP
    return [asdict(judge_event(track, vocal, clears, caller, spoken)), silent_from(track, here, clears)]


def pauses(rng: Random) -> Any:
    """Which pauses were cut, where their windows end, and which decision led to the reply. Ms relative to the spoken end."""
    edges = sorted(rng.sample(range(-40, 1), rng.choice([2, 4, 6, 8])))
    found = [(float(start * STEP_MS), float(end * STEP_MS)) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    said = [
        (float(s * STEP_MS), float((s + rng.randrange(1, 9)) * STEP_MS)) for s in (rng.randrange(-40, 10) for _ in range(3))
    ]
    decisions = sorted(float(rng.randrange(-20, 20) * STEP_MS) for _ in range(rng.randrange(4)))
    after_ms, reply_ms = float(rng.randrange(-20, 10) * STEP_MS), rng.choice([None, float(rng.randrange(30) * STEP_MS)])
    held = judge_overlap(said, (float(edges[0] * STEP_MS), 0.0), found)
    return [windows_of(found), decision_for_the_end(decisions, after_ms, reply_ms), asdict(held)]


def onset(rng: Random, dither: int = 0) -> Any:
    """Where a voice begins over noise, in ms, accepted late by so much. `dither`: a seed of noise far below 16 bits."""
    noise = np.random.default_rng(rng.randrange(10**6))
    before, accepted, earliest = (rng.randrange(20) * STEP_MS * 48 for _ in range(3))
    length = before + 2 * HEARD_RATE_HZ
    tone = 0.2 * np.sign(np.sin(2 * np.pi * 150 * np.arange(length - before) / HEARD_RATE_HZ))
    rise = np.minimum(1.0, np.arange(len(tone)) / max(1, rng.choice([0, 5, 40]) * 48))
    samples = np.concatenate([np.zeros(before), tone * rise])
    begins = rng.choice([0, 0, max(0, before - rng.randrange(8) * STEP)])
    samples[begins:] += noise.normal(0, rng.choice([0, 0.0, 0.002, 0.02, 0.06]), length - begins)
    if dither:
        samples += np.random.default_rng(dither).normal(0, 1e-6, length)
    return round(find_onset(samples.astype(np.float32), HEARD_RATE_HZ, before + accepted // 8, earliest).sample / 48, 1)


PARTS: Final[Mapping[str, Callable[[Random], Any]]] = {
    "machine": machine, "chosen": chosen, "event": event, "pauses": pauses, "onset": onset,
}  # fmt: skip
WITHIN: Final[Mapping[str, float]] = {"onset": 0.4}


def found(part: str) -> list[Any]:
    """The results of a part on its drawn cases."""
    return [json.loads(json.dumps(_plain(PARTS[part](Random(f"{part} {k}"))))) for k in range(CASES[part])]


def steady(k: int, at_ms: float) -> bool:
    """Whether an onset stays where it is when the last bits of its sound are random: else it differs between processors."""
    return all(abs(onset(Random(f"onset {k}"), dither) - at_ms) <= WITHIN["onset"] / 2 for dither in (1, 2, 3))


def _write() -> None:
    results = {part: found(part) for part in PARTS}
    results["onset"] = [at_ms if steady(k, at_ms) else None for k, at_ms in enumerate(results["onset"])]
    parts = [f'"{part}": [\n' + ",\n".join(map(json.dumps, each)) + "\n]" for part, each in results.items()]
    FILE.write_text(f'{{"method": "{METHOD}",\n' + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    _write()
