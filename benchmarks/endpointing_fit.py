"""Fit the heads of `harness.agents.cascade.hazard` on pauses that were seen: log odds of words and voice joined into one.

    python -m benchmarks.endpointing_fit scored/*.jsonl        # of benchmarks.holding_cues_fit; seconds; writes the heads

Logistic regression of ends against inner pauses of 200 ms and more, each pause once. No length and no length of silence is
among the inputs: the first would learn a pack's lengths, the second is people's law and stands in the policy. Areas under the
curve are those of contexts left out in turn. The file records what it was fitted on.
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Final

import numpy as np
from scipy.optimize import minimize

from benchmarks.endpointing import PAUSE_FROM_MS, Floats, Seen, area, joined, load
from harness.agents.cascade.hazard import HEAD, Head

SCORERS: Final = ("smart-turn", "spoken", "holding-cues")
HEADS: Final = {"all": SCORERS} | {f"without {name}": tuple(n for n in SCORERS if n != name) for name in SCORERS}
PENALTY: Final = 1.0
"""On four numbers over hundreds of pauses it hardly matters: it keeps the weight of a useless scorer near zero."""
FOLDS: Final = 5


def fit(seen: Seen, scorers: tuple[str, ...], rows: np.ndarray) -> Head:
    """The head of some scorers on some pauses; no weight is below zero, since no scorer speaks against what it says."""
    x = np.stack([seen.odds[name][rows] for name in scorers], axis=1)
    sign = np.where(seen.final[rows], -1.0, 1.0)

    def loss(b: Floats) -> float:
        return float(np.logaddexp(0, sign * (x @ b[1:] + b[0])).sum() + PENALTY / 2 * (b[1:] ** 2).sum())

    bounds = [(None, None), *[(0.0, None)] * len(scorers)]
    found = minimize(loss, np.zeros(len(scorers) + 1), bounds=bounds, method="L-BFGS-B").x
    return Head(float(found[0]), {name: float(w) for name, w in zip(scorers, found[1:], strict=True)})


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the heads of the hazard policy.")
    parser.add_argument("seen", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=HEAD)
    given = parser.parse_args()
    seen = load(*given.seen)
    asked = seen.final | (seen.length_ms >= PAUSE_FROM_MS)
    heads = {}
    for name, scorers in HEADS.items():
        score = np.zeros(seen.final.size)
        for k in range(FOLDS):
            left_out = seen.context % FOLDS == k
            score[left_out] = joined(seen, fit(seen, scorers, asked & ~left_out))[left_out]
        head = fit(seen, scorers, asked)
        heads[name] = {"intercept": round(head.intercept, 4), "weights": {k: round(v, 4) for k, v in head.weights.items()}}
        whole, inside, after = (area(seen, score, kinds) for kinds in (None, ["mid_sentence"], ["after_sentence"]))
        print(f"{name}: {heads[name]}")
        print(f"  areas left out: all {whole:.3f}, in mid-sentence {inside:.3f}, after a sentence {after:.3f}")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in given.seen)).hexdigest()[:16]
    kept = {"fitted_on": {"pauses": digest, "turns": seen.turns, "contexts": int(np.unique(seen.context).size)}, "heads": heads}
    given.out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
