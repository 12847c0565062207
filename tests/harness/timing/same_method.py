"""What `timing-8` makes of drawn recordings and marks: `python -m tests.harness.timing.same_method` writes the file anew.

Runs that were timed by one method are compared with one another, so a method is what it gives. A change that moves any of these
figures is another method: give it another name in `harness.timing.measure`, and write this file anew.

Only recordings count whose figures stay when the last bit of the agent's sound is random: a figure on the edge of a decision
comes out differently from processor to processor.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from pydantic import TypeAdapter

from benchmarks.made_recordings import AGENT_HZ, CALLER_HZ, Said, make_recording, voice
from benchmarks.truth_suite import run_suite
from harness.audio.vocal import silero
from harness.recording.record import Recording
from harness.timing import measure_turns
from harness.timing.figures import TurnTiming, Waterfall
from harness.timing.measure import METHOD
from tests.harness.timing.any_marks import draw
from tests.harness.timing.any_recording import plausible
from tests.harness.timing.test_any_marks import explained

FILE = Path(__file__).with_name("same_method.json")
SEEDS, OF_EACH, MARKS, ONSETS, ECHOES = 700, 14, 250, 1, 4
"""Recordings are drawn until there are so many with each of `TELLING`; cases of marks; replies of each condition of the truth
suite; turns that come back as an echo."""
TELLING = (
    "waterfall",
    "event",
    "withdrawn_ms",
    "greeting",
    "cut_in",
    "discarded",
    "ttft_ms",
    "underruns",
    "yield_ms",
    "signed_ms",
)
WITHIN_MS = 0.5
_TIMINGS = TypeAdapter(tuple[TurnTiming, ...])
_WATERFALL = TypeAdapter(Waterfall)


def timed(recording: Recording) -> Any:
    """The figures of all its turns, without what stays at its default."""
    return _plain(json.loads(_TIMINGS.dump_json(measure_turns(recording, silero()), exclude_defaults=True)))


def staged(seed: int) -> Any:
    """The stages that are made of a case's marks, and the words that refuse some of them."""
    found = explained(draw(seed))
    refused = [*found.told.refused, *(found.reply.refused if found.reply else ())]
    return [_plain(json.loads(_WATERFALL.dump_json(found.waterfall, exclude_defaults=True))), refused]


def onsets() -> list[Any]:
    """Of replies with known onsets: how far off each was, or why it gave no figure."""
    return _plain([[trial.condition.name, trial.error_ms, trial.discarded] for trial in run_suite(ONSETS)])  # type: ignore[no-any-return]


def echoes() -> list[Any]:
    """Of a caller whose own turn comes back a tenth of a second later, beneath a reply or alone."""
    found = []
    for k in range(ECHOES):
        rng = np.random.default_rng(k)
        caller = make_recording().recording.caller
        said = caller.dry[caller.speech_start_sample : caller.speech_end_sample] / 32768
        through = np.array([1.0, *rng.uniform(-0.3, 0.3, 4)])
        echo = np.convolve(soxr.resample(said, CALLER_HZ, AGENT_HZ), through / np.abs(through).sum()) * 10 ** (-24 / 20)
        begins_s = float(rng.uniform(0.02, 0.2)) - len(said) / CALLER_HZ
        reply = [Said(0.6 + 0.1 * k, voice(1.0, k, -25.0))] if k % 2 else []
        found.append(timed(make_recording(Said(begins_s, echo), *reply).recording))
    return found


def alike(one: Any, other: Any, within: float = WITHIN_MS) -> bool:
    """Whether two such values say the same, a time within half a millisecond."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(value, other[name], within) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(alike(a, b, within) for a, b in zip(one, other, strict=True))
    if isinstance(one, float | int) and isinstance(other, float | int) and not isinstance(one, bool):
        return bool(abs(one - other) <= within)
    return bool(one == other)


def recording(seed: int) -> Recording:
    """The recording of a seed."""
    made = plausible(np.random.default_rng(seed))
    # Names as they come from a file: equal to those of the code, and other objects.
    return replace(made, marks=tuple(replace(mark, name="".join([*mark.name])) for mark in made.marks))


def _dithered(made: Recording, seed: int) -> Recording:
    noise = np.random.default_rng(seed).integers(-1, 2, len(made.agent_pcm))
    moved = (made.agent_pcm.astype(np.int32) + np.where(made.agent_pcm == 0, 0, noise)).clip(-32_768, 32_767)
    return replace(made, agent_pcm=moved.astype(np.int16))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return round(value, 3) if isinstance(value, float) else value


def _write() -> None:
    recordings: dict[str, Any] = {}
    seen = dict.fromkeys(TELLING, 0)
    for seed in range(SEEDS):
        made = recording(seed)
        found = timed(made)
        tells = [name for name in TELLING if any(name in turn for turn in found)]
        new = [name for name in tells if seen[name] < OF_EACH]
        if (new or seed < OF_EACH) and all(alike(found, timed(_dithered(made, k))) for k in (1, 2)):
            recordings[str(seed)] = found
            seen.update({name: seen[name] + 1 for name in tells})
    marks = {str(seed): staged(seed) for seed in range(MARKS)}
    lines = [
        f'"{name}": {{\n' + ",\n".join(f'"{seed}": {json.dumps(found)}' for seed, found in values.items()) + "\n}"
        for name, values in (("recordings", recordings), ("marks", marks))
    ]
    lines.append('"echoes": [\n' + ",\n".join(map(json.dumps, echoes())) + "\n]")
    lines.append('"onsets": [\n' + ",\n".join(map(json.dumps, onsets())) + "\n]")
    FILE.write_text(f'{{"method": "{METHOD}",\n' + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(recordings)} recordings ({seen}), {len(marks)} cases of marks")


if __name__ == "__main__":
    _write()
