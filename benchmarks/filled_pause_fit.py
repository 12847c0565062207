"""Fit `harness.agents.cascade.filled_pause` on callers who were heard, and score each without its own voice.

    python -m benchmarks.filled_pause_fit scored/ open.jsonl day1.jsonl day2.jsonl     # seconds; weights, and scored files

`benchmarks.endpointing_observe` leaves the recogniser's states beside its lines (`.f16`). A silence is positive if the caller
said "um" before it by plan; all others are negative, ends among them. Four means of 288 states are too many for a few hundred
silences, so they are projected on `COMPONENTS` principal ones first; the product of both steps is one vector, and only that
ships. For the head (`benchmarks.endpointing_fit`) each silence is scored by a model without its voice, or the head would trust
it more than it deserves.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import rankdata

from harness.agents.cascade.filled_pause import WEIGHTS

Floats = NDArray[np.float64]
COMPONENTS: Final = 40
"""With 20, "um" was heard as well (area against all others 0.984 instead of 0.986, voices left out). Drawn-out words without
"um" counted as one less often (against ends 0.65 instead of 0.69), and the joint area was 0.855 instead of 0.861: people draw
out words before a pause too, but ours are drawn out by a rule. Across synthesisers nothing is left of that (0.52)."""
PENALTY: Final = 30.0
_OF_PIPER: Final = ("joe", "jo")
"""Voices of one synthesiser; all others are of the second one."""


def fit(x: Floats, y: Floats) -> tuple[Floats, float]:
    """Weights and intercept for states as they come; both classes count equally."""
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-3
    z = (x - mean) / spread
    _, size, axes = np.linalg.svd(z, full_matrices=False)
    size, axes = size[:COMPONENTS] / np.sqrt(len(z)), axes[:COMPONENTS]
    projected = z @ axes.T / size
    weight = np.where(y > 0, 0.5 / y.mean(), 0.5 / (1 - y.mean()))

    def loss(b: Floats) -> tuple[float, Floats]:
        odds = projected @ b[1:] + b[0]
        slope = weight * (expit(odds) - y)
        likelihood = float((weight * np.logaddexp(0, np.where(y > 0, -odds, odds))).sum())
        return likelihood + PENALTY / 2 * float((b[1:] ** 2).sum()), np.r_[slope.sum(), projected.T @ slope + PENALTY * b[1:]]

    found = minimize(loss, np.zeros(projected.shape[1] + 1), jac=True, method="L-BFGS-B").x
    weights = (axes.T @ (found[1:] / size)) / spread
    return weights, float(found[0] - weights @ mean)


def left_out(x: Floats, y: Floats, group: NDArray[np.str_], fitted_on: NDArray[np.bool_]) -> Floats:
    """The log odds of each silence by a model without its group."""
    odds = np.zeros(len(y))
    for name in np.unique(group):
        rows = (group != name) & fitted_on
        weights, intercept = fit(x[rows], y[rows])
        odds[group == name] = x[group == name] @ weights + intercept
    return odds


def area(odds: Floats, positive: NDArray[np.bool_], negative: NDArray[np.bool_]) -> float:
    """Area under the curve of some silences against others."""
    above, below = odds[positive], odds[negative]
    ranks = rankdata(np.r_[above, below])[: above.size]
    return float((ranks.sum() - above.size * (above.size + 1) / 2) / (above.size * below.size))


def read(paths: Sequence[Path]) -> tuple[list[dict[str, object]], Floats]:
    """The lines of all files, and their states."""
    rows = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    states = np.concatenate([np.fromfile(path.with_suffix(".f16"), np.float16) for path in paths])
    return rows, states.reshape(len(rows), -1).astype(np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description='Fit the ear for "um".')
    parser.add_argument("scored", type=Path, help="folder for the files with scores of voices left out")
    parser.add_argument("seen", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    given = parser.parse_args()
    rows, x = read(given.seen)
    marked = np.array([row["marked_ms"] is not None for row in rows])
    um = marked & np.array(["filler" in row["cues"] for row in rows])  # type: ignore[operator]
    drawn = marked & ~um & np.array(["drawn_out" in row["cues"] for row in rows])  # type: ignore[operator]
    asked = np.array([bool(row["scores"]) for row in rows])
    ends = asked & ~marked & np.array([row["length_ms"] is None for row in rows])
    voice = np.array([str(row["voice"]) for row in rows])
    groups = {"voices": voice, "synthesisers": np.where(np.isin(voice, _OF_PIPER), "piper", "hibari")}
    print(f"{int((um & asked).sum())} filled pauses, {int((asked & ~um).sum())} other silences, {np.unique(voice).size} voices")
    by_voice = np.zeros(len(rows))
    for name, group in groups.items():
        odds = left_out(x, um.astype(float), group, asked)
        by_voice = odds if name == "voices" else by_voice
        figures = [area(odds, um & asked, asked & ~um), area(odds, um & asked, ends), area(odds, drawn & asked, ends)]
        print(
            f"{name} left out: um against the rest {figures[0]:.3f}, against ends {figures[1]:.3f}, drawn out {figures[2]:.3f}"
        )
    weights, intercept = fit(x[asked], um[asked].astype(float))
    np.savez_compressed(given.out, weights=weights.astype(np.float32), intercept=np.float32(intercept))
    given.scored.mkdir(parents=True, exist_ok=True)
    number = 0
    for path in given.seen:
        with (given.scored / path.name).open("w", encoding="utf-8") as file:
            for _ in path.read_text(encoding="utf-8").splitlines():
                if rows[number]["scores"]:
                    rows[number]["scores"]["filled-pause"] = float(expit(-by_voice[number]))  # type: ignore[index]
                file.write(json.dumps(rows[number]) + "\n")
                number += 1


if __name__ == "__main__":
    main()
