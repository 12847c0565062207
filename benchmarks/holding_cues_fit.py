"""Fit `harness.agents.cascade.holding_cues` on callers that were rendered, and score silences by models that did not hear them.

    python -m benchmarks.holding_cues_fit hear heard.npz heart-open day1.yaml day2.yaml       # a quarter of an hour
    python -m benchmarks.holding_cues_fit fit scored/ open.jsonl day1.jsonl day2.jsonl es.jsonl --heard heard.npz

*hear* renders every turn in two voices, encodes the sound around each pause and end, and notes the caller's cues. Each is
encoded at four gains of its last half second. *fit* writes the weights that ship. For the head (`benchmarks.endpointing_fit`)
it scores what `benchmarks.endpointing_observe` saw by models that heard neither the voice nor the context, or the head would
trust them more than they deserve.

A pause is positive unless it was read as an end after a sentence; an end is positive if it stayed on a plateau. So pauses and
ends that sound alike are of one class. Only our ends are faded (3 dB); each example is therefore fitted at three gains, paired
so that faded and unfaded ones are as common in both classes.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import rankdata

from harness.agents.cascade.hazard import LISTENS_MS
from harness.agents.cascade.holding_cues import HEARD_SAMPLES, WEIGHTS, pooled
from harness.agents.cascade.moonshine import Moonshine
from harness.agents.cascade.recogniser import RATE_HZ
from harness.audio.caller_voices import CALLER_VOICES, HIBARI
from harness.audio.level import last_sample
from harness.audio.pcm import resample
from harness.audio.speech import RenderedTurn

Floats = NDArray[np.float64]
GAINS_DB: Final = (-6.0, -3.0, 0.0, 3.0)
AS_IT_IS: Final = 2
PAIRED: Final = ((2, 1), (3, 2), (1, 0))
"""Gains of a faded end, and of anything else, that are fitted together: they sound equally faded."""
FADE_SAMPLES: Final = RATE_HZ // 2
SILENCE_SAMPLES: Final = round(LISTENS_MS / 1000 * RATE_HZ)
JITTER_MS: Final = (-60.0, 30.0)
"""The detector places a silence's beginning this far from the voice's last sound (observed turns, nearly all)."""
COMPONENTS: Final = 150
PENALTY: Final = 100.0
"""Area of pauses with a cue against ends, voices and contexts left out (synthesisers left out): 40 components 0.956 (0.936), 80
0.976 (0.943), 150 0.983 (0.960), 300 0.981 (0.958), 600 0.969 (0.921). Pauses read as an end had 0.53 to 0.55 in all."""
FOLDS: Final = 5
MOST_TURNS: Final = 70
"""Of one PriMock57 day; all turns of a pack that ships."""


@dataclass(frozen=True, slots=True)
class Example:
    """A silence by plan: where it is from, its voice, its kind and cues, and its states at each gain."""

    context: str
    voice: str
    kind: str
    cues: tuple[str, ...]
    states: NDArray[np.float16]

    @property
    def holds(self) -> bool:
        return "plateau" in self.cues if self.kind == "turn_end" else "as_read" not in self.cues

    @property
    def faded(self) -> bool:
        return "fading" in self.cues


def hear(pack: str, moonshine: Moonshine) -> Iterator[Example]:
    """The silences of a pack's turns, each turn in its own voice and in another one."""
    from harness.scenarios.pack import load_pack
    from harness.voices.choice import open_voices

    quick = [name for name, voice in CALLER_VOICES.items() if voice.weight == HIBARI]
    voices = open_voices(load_pack(pack))
    turns = [(c, k) for c in voices.pack.contexts for k, turn in enumerate(c.turns) if turn.role == "seeker"]
    if Path(pack).suffix:
        turns = [(c, k) for c, k in turns if k == len(c.turns) - 1][:MOST_TURNS]
    for number, (context, k) in enumerate(turns):
        chance = random.Random(f"{context.id}{k}")
        own = voices.wish_of(context)
        for voice in (own, chance.choice([name for name in quick if name != own])):
            for kind, cues, sound in _silences(voices.render(context.turns[k], voice), chance):
                states = np.stack([pooled(moonshine.states(_at(sound, gain))) for gain in GAINS_DB])
                yield Example(context.id, voice, kind, cues, states.astype(np.float16))
        print(f"{pack}: {number + 1} of {len(turns)}", file=sys.stderr, flush=True)


def _silences(turn: RenderedTurn, chance: random.Random) -> Iterator[tuple[str, tuple[str, ...], NDArray[np.float32]]]:
    """Kind, cues, and the sound from a second before to 200 ms after the beginning of each silence."""
    dry = resample(turn.samples, turn.rate_hz, RATE_HZ)
    last = last_sample(dry, RATE_HZ)
    end = len(dry) if last is None else last + 1
    lead = np.zeros(HEARD_SAMPLES, np.int16)
    sound = np.concatenate([lead, dry, lead]).astype(np.float32) / np.float32(32768)
    begins = [round(begin * RATE_HZ / turn.rate_hz) for begin, _ in turn.pauses] + [end]
    for begin, ending in zip(begins, turn.ends, strict=True):
        until = len(lead) + begin + SILENCE_SAMPLES + round(chance.uniform(*JITTER_MS) / 1000 * RATE_HZ)
        yield ending.kind, tuple(ending.cues), sound[until - HEARD_SAMPLES : until]


def _at(sound: NDArray[np.float32], gain_db: float) -> NDArray[np.float32]:
    """The sound with its last half second before the silence faded to a gain."""
    factor, silence = 10 ** (gain_db / 20), len(sound) - SILENCE_SAMPLES
    ramp = np.concatenate(
        [
            np.ones(silence - FADE_SAMPLES),
            np.linspace(1.0, factor, FADE_SAMPLES),
            np.full(SILENCE_SAMPLES, factor),
        ]
    )
    return np.asarray(sound * ramp, np.float32)


def fit(examples: Sequence[Example]) -> tuple[Floats, float]:
    """Weights and intercept for pooled states as they come; both classes count equally."""
    states = np.stack([e.states for e in examples]).astype(np.float64)
    faded = np.array([e.faded for e in examples])[:, None]
    x = np.concatenate([np.where(faded, states[:, end], states[:, other]) for end, other in PAIRED])
    y = np.tile([float(e.holds) for e in examples], len(PAIRED))
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-3
    z = (x - mean) / spread
    size, axes = np.linalg.eigh(z.T @ z / len(z))
    size, axes = np.sqrt(size[-COMPONENTS:]), axes[:, -COMPONENTS:]
    projected = z @ axes / size
    weight = np.where(y > 0, 0.5 / y.mean(), 0.5 / (1 - y.mean()))

    def loss(b: Floats) -> tuple[float, Floats]:
        odds = projected @ b[1:] + b[0]
        slope = weight * (expit(odds) - y)
        likelihood = float((weight * np.logaddexp(0, np.where(y > 0, -odds, odds))).sum())
        return likelihood + PENALTY / 2 * float((b[1:] ** 2).sum()), np.r_[slope.sum(), projected.T @ slope + PENALTY * b[1:]]

    found = minimize(loss, np.zeros(COMPONENTS + 1), jac=True, method="L-BFGS-B").x
    weights = (axes @ (found[1:] / size)) / spread
    return weights, float(found[0] - weights @ mean)


def area(odds: Floats, positive: NDArray[np.bool_], negative: NDArray[np.bool_]) -> float:
    """Area under the curve of some silences against others."""
    above, below = odds[positive], odds[negative]
    ranks = rankdata(np.r_[above, below])[: above.size]
    return float((ranks.sum() - above.size * (above.size + 1) / 2) / (above.size * below.size))


def fold_of(context: str) -> int:
    """One of `FOLDS` parts of all contexts, by their names alone."""
    return sum(context.rpartition("/")[2].encode()) % FOLDS


@dataclass(frozen=True, slots=True)
class Seen:
    """What was observed: lines, and the pooled states beside them."""

    path: Path
    rows: list[dict[str, object]]
    states: Floats


def read(path: Path) -> Seen:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    states = np.fromfile(path.with_suffix(".f16"), np.float16).reshape(len(rows), -1)
    return Seen(path, rows, states.astype(np.float64))


def scored(examples: Sequence[Example], seen: Sequence[Seen], group: Callable[[str], str]) -> list[Floats]:
    """The log odds of each observed silence, by a model without its fold of contexts and its group of voices."""
    odds = [np.zeros(len(each.rows)) for each in seen]
    kinds = sorted({(group(str(row["voice"])), fold_of(str(row["context"]))) for each in seen for row in each.rows})
    for name, fold in kinds:
        weights, intercept = fit([e for e in examples if group(e.voice) != name and fold_of(e.context) != fold])
        for each, found in zip(seen, odds, strict=True):
            at = [k for k, r in enumerate(each.rows) if (group(str(r["voice"])), fold_of(str(r["context"]))) == (name, fold)]
            found[at] = each.states[at] @ weights + intercept
    return odds


def synthesiser(voice: str) -> str:
    """The synthesiser that a voice is made from."""
    return CALLER_VOICES[voice].weight


def report(examples: Sequence[Example]) -> None:
    """Print the areas of models without the voice, and without the synthesiser."""
    voice = np.array([e.voice for e in examples])
    made_from = np.array([synthesiser(v) for v in voice])
    end = np.array([e.kind == "turn_end" and not e.holds for e in examples])
    pause = np.array([e.kind != "turn_end" for e in examples])
    as_read = np.array([not e.holds for e in examples]) & pause
    um, drawn = (np.array([cue in e.cues for e in examples]) & pause for cue in ("filler", "drawn_out"))
    states = np.stack([e.states[AS_IT_IS] for e in examples]).astype(np.float64)
    for name, group in {"voices": voice, "synthesisers": made_from}.items():
        odds = np.zeros(len(examples))
        for left_out in np.unique(group):
            weights, intercept = fit([e for e, g in zip(examples, group, strict=True) if g != left_out])
            odds[group == left_out] = states[group == left_out] @ weights + intercept
        others = pause & ~as_read & ~um & ~drawn
        figures = {"um": um, "drawn out": drawn & ~um, "other cues": others, "as read (0.5: not told apart)": as_read}
        print(f"{name} left out: " + ", ".join(f"{kind} {area(odds, rows, end):.3f}" for kind, rows in figures.items()))


def save(path: Path, examples: Sequence[Example]) -> None:
    """Write examples to a file that `load` reads."""
    about = [{"context": e.context, "voice": e.voice, "kind": e.kind, "cues": e.cues} for e in examples]
    np.savez_compressed(path, states=np.stack([e.states for e in examples]), about=json.dumps(about))


def load(path: Path) -> list[Example]:
    with np.load(path) as kept:
        about, states = json.loads(str(kept["about"])), kept["states"]
    return [Example(a["context"], a["voice"], a["kind"], tuple(a["cues"]), s) for a, s in zip(about, states, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the ear for cues that more follows.")
    commands = parser.add_subparsers(dest="command", required=True)
    listening = commands.add_parser("hear", help="render packs and encode their silences")
    listening.add_argument("heard", type=Path)
    listening.add_argument("packs", nargs="+")
    fitting = commands.add_parser("fit", help="fit, report, and score what was observed")
    fitting.add_argument("--heard", type=Path, nargs="+", required=True, help="files of *hear*")
    fitting.add_argument("scored", type=Path, help="folder for the observed files with scores of models that did not hear them")
    fitting.add_argument("seen", type=Path, nargs="*")
    fitting.add_argument("--by-synthesiser", action="store_true", help="leave all voices of a synthesiser out, not one")
    fitting.add_argument("--out", type=Path, default=WEIGHTS)
    given = parser.parse_args()
    if given.command == "hear":
        from harness.models.store import resolve

        moonshine = Moonshine(str(resolve("moonshine-tiny.en")))
        save(given.heard, [example for pack in given.packs for example in hear(pack, moonshine)])
        return
    examples = [example for path in given.heard for example in load(path)]
    contexts = {e.context for e in examples}
    print(f"{len(examples)} silences, {sum(e.holds for e in examples)} with a cue, of {len(contexts)} contexts")
    report(examples)
    weights, intercept = fit(examples)
    np.savez_compressed(given.out, weights=weights.astype(np.float32), intercept=np.float32(intercept))
    given.scored.mkdir(parents=True, exist_ok=True)
    seen = [read(path) for path in given.seen]
    for each, odds in zip(seen, scored(examples, seen, synthesiser if given.by_synthesiser else str), strict=True):
        with (given.scored / each.path.name).open("w", encoding="utf-8") as file:
            for row, holding in zip(each.rows, odds, strict=True):
                if scores := row["scores"]:
                    row["scores"] = {**scores, "holding-cues": float(expit(-holding))}  # type: ignore[dict-item]
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
