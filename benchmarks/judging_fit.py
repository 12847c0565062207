"""Fit the embedded judge's head on the fit pairs, with cross-validation over conversations, and write it where it ships.

Run: `python benchmarks/judging_fit.py`. It reads the fit set alone. It prints cross-validated accuracy over all, per
difficulty, per axis and per writing batch (batches d and e were written with style against the label), and the accuracy
when one block of features is left out.
"""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness import models
from harness.judging import head as heads
from harness.judging.head import Head, fit_head
from harness.judging.labelled import LabelledPair, load_pairs, set_hash
from harness.judging.reply_features import BLOCKS, reply_features
from harness.judging.sentence_encoder import SentenceEncoder

OUT = Path(__file__).parents[1] / "harness" / "judging" / "data" / "head.npz"
FOLDS = 10


def differences(pairs: tuple[LabelledPair, ...], encoder: SentenceEncoder) -> NDArray[np.float64]:
    """Rows `features(better) − features(worse)`, each reply embedded once."""
    texts: dict[str, dict[str, None]] = {}
    for pair in pairs:
        texts.setdefault(pair.conversation_id, {}).update(dict.fromkeys((pair.better, pair.worse)))
    turns = {pair.conversation_id: pair.turns for pair in pairs}
    vectors = {
        (cid, reply): row
        for cid, replies in texts.items()
        for reply, row in zip(replies, reply_features(turns[cid], list(replies), encoder), strict=True)
    }
    return np.stack([vectors[p.conversation_id, p.better] - vectors[p.conversation_id, p.worse] for p in pairs])


def cross_validated(rows: NDArray[np.float64], axes: NDArray[np.str_], folds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Out-of-fold log odds of each pair."""
    out = np.zeros(len(rows))
    for fold in range(FOLDS):
        held = folds == fold
        out[held] = rows[held] @ fit_head(rows[~held], axes[~held], "cv").overall
    return out


def main() -> None:
    encoder = SentenceEncoder.load(models.resolve("minilm-l6"))
    pairs = load_pairs("fit")
    rows = differences(pairs, encoder)
    axes = np.array([p.axis for p in pairs])
    names = sorted({p.conversation_id for p in pairs})
    of = dict(zip(names, np.random.default_rng(1).permutation(len(names)) % FOLDS, strict=True))
    folds = np.array([of[p.conversation_id] for p in pairs])
    odds = cross_validated(rows, axes, folds)
    print(f"{len(pairs)} pairs, {len(names)} conversations; cross-validated accuracy {np.mean(odds > 0):.3f}")
    for label, groups in (
        ("difficulty", [p.difficulty for p in pairs]),
        ("axis", [p.axis for p in pairs]),
        ("batch", [p.conversation_id[4] for p in pairs]),
    ):
        values = np.array(groups)
        print(f"  by {label}:", {str(g): round(float(np.mean(odds[values == g] > 0)), 3) for g in np.unique(values)})
    start = 0
    for name, size in BLOCKS:
        without = rows.copy()
        without[:, start : start + size] = 0
        start += size
        print(f"  without {name}: {np.mean(cross_validated(without, axes, folds) > 0):.3f}")
    version = hashlib.sha256(f"{set_hash('fit')} {dict(heads.RIDGE)} {BLOCKS}".encode()).hexdigest()[:12]
    final: Head = fit_head(rows, axes, version)
    final.save(OUT)
    print(f"wrote {OUT} ({version})")


if __name__ == "__main__":
    main()
