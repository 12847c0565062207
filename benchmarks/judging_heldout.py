"""Score the embedded judge on the held-out pairs, once per fitted head, and keep the result where the judge ships.

Run: `python benchmarks/judging_heldout.py`. It refuses to score a head a second time: a held-out set that is looked at
again after a change is no longer held out. The record goes with every figure the judge produces.
"""

import asyncio
import json
import re
import time
from pathlib import Path

from benchmarks.judging_sets import load_pairs, set_hash
from harness import models
from harness.judging.embedded import HELD_OUT_PATH, load_head
from harness.judging.load_judge import open_judge
from harness.judging.validation.checks import ask_pairs, summarise
from harness.judging.validation.labelled import LabelledPair
from harness.statistics.clustered_means import clustered_share

RECORD = Path(__file__).parents[1] / "harness" / "judging" / HELD_OUT_PATH
KEYWORDS = re.compile(
    r"\b(sorry|sounds?|feel|feelings?|hear|understand|understandable|hard|difficult|valid|must|tough|natural|okay|care|"
    r"support|imagine|sense|here)\b"
)


def share_won(pairs: tuple[LabelledPair, ...], kind: str) -> float:
    """Accuracy of a judge that knows only length, or only keywords, at its better sign; ties count half."""
    sides = [
        (len(p.better), len(p.worse)) if kind == "length" else (len(KEYWORDS.findall(p.better)), len(KEYWORDS.findall(p.worse)))
        for p in pairs
    ]
    share = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in sides) / len(sides)
    return max(share, 1 - share)


def main() -> None:
    version = load_head().version
    if RECORD.exists() and json.loads(RECORD.read_text())["head"] == version:
        raise SystemExit(f"head {version} has been scored on the held-out pairs already: {RECORD}")
    pairs = load_pairs("heldout")
    judge = open_judge("embedded", {"minilm-l6": models.resolve("minilm-l6")})
    asyncio.run(ask_pairs(judge, pairs[:1]))
    began = time.perf_counter()
    checked = asyncio.run(ask_pairs(judge, pairs))
    seconds = (time.perf_counter() - began) / len(pairs)
    check = summarise(judge, checked, seed=1)
    scores = [(c.pair, c.score) for c in checked if c.score is not None]
    per_subset = {
        name: clustered_share([(p.conversation_id, s) for p, s in scores if (p.escalation is not None) == adversarial])[0]
        for name, adversarial in (("regular", False), ("adversarial", True))
    }
    record = {
        "head": version, "set": set_hash("heldout"), "pairs": len(pairs),
        "conversations": len({p.conversation_id for p in pairs}),
        "accuracy": check.accuracy, "interval": check.accuracy_interval, "flip_rate": check.flip_rate,
        "by_difficulty": check.by_difficulty, "by_axis": check.by_axis, "by_subset": per_subset,
        "length_only": share_won(pairs, "length"), "keyword_only": share_won(pairs, "keywords"),
        "seconds_a_pair": round(seconds, 3),
    }  # fmt: skip
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))
    print("wrong:", [c.pair.id for c in checked if c.score == 0])


if __name__ == "__main__":
    main()
