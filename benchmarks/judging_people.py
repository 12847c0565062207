"""The embedded judge on replies that others rated: experts and crowd, over the published sets of Kumar et al. 2025.

Run: `python -m benchmarks.judging_people FOLDER`, the folder as it was published (docs/judging.md). *Development*: these
figures were looked at while origins were written and blocks and penalties chosen, so they say what the judge learnt and
validate nothing.

A reply's worth is the mean over raters and dimensions, turned round where much is bad; giving advice to who asked for none
counts as bad in `lend_an_ear`. There, conversations on one prompt are compared, the supporter's turns joined. The other two
have one reply a context, so replies to different conversations are compared, each in its own. Beside each stands what "the
longer reply wins" reaches.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import spearmanr

from harness import models
from harness.judging.embedded import load_head
from harness.judging.reply_features import reply_features
from harness.judging.sentence_encoder import SentenceEncoder
from harness.judging.validation.peoples_labels import CLEAR, is_unkind
from harness.scenarios.context import Turn

RATERS = ("expert", "crowd")


@dataclass(frozen=True, slots=True)
class Item:
    """A reply in its conversation; only replies of one `group` are compared."""

    turns: tuple[Turn, ...]
    reply: str
    group: str


@dataclass(frozen=True, slots=True)
class Layout:
    """How one set was published: its texts, the column that names an item, its scale, and what is good (+1) or bad (-1)."""

    name: str
    texts: str
    key: str
    scale: tuple[float, float]
    dimensions: Mapping[str, int]


def signed(*dimensions: str) -> Mapping[str, int]:
    """Each dimension with +1, or -1 where the harness counts it for unkind."""
    return {name: -1 if is_unkind(name) else 1 for name in dimensions}


LAYOUTS = (
    Layout(
        "lend_an_ear", "sample_lend_an_ear_annotations.csv", "conversation_id", (1, 5),
        signed("validating_emotions", "encouraging_elaboration", "demonstrating_understanding", "self_oriented",
               "dismissing_emotions", "advice_giving"),
    ),
    Layout("empatheticdialogues", "sample_empatheticdialogues.csv", "conv_id", (1, 5), {"empathy": 1, "relevance": 1}),
    Layout(
        "epitome", "sample_epitome.csv", "sp_id", (0, 2),
        {"level_emotional_reactions": 1, "level_explorations": 1, "level_interpretations": 1},
    ),
)  # fmt: skip


def items(folder: Path, layout: Layout) -> dict[str, Item]:
    """The set's replies by the name of the item."""
    found = {}
    for row in _table(folder / "original_data" / layout.texts):
        if layout.name == "epitome":
            turns: tuple[Turn, ...] = (Turn(role="seeker", text=row["seeker_post"]),)
            found[row[layout.key]] = Item(turns, row["response_post"], "all")
            continue
        turns = _turns(row["full_conversation"])
        if layout.name == "lend_an_ear":
            said = " ".join(turn.text for turn in turns if turn.role == "supporter")
            found[row[layout.key]] = Item(turns[:1], said, turns[0].text)
        elif turns and turns[-1].role == "supporter":
            found[row[layout.key]] = Item(turns[:-1], turns[-1].text, "all")
    return found


def worth(folder: Path, layout: Layout, raters: str) -> dict[str, float]:
    """What people of one kind gave each item, 0 to 1."""
    low, high = layout.scale
    given: dict[str, list[float]] = defaultdict(list)
    for file in sorted((folder / "annotations" / layout.name).glob(f"{raters}*_ratings.csv")):
        for row in _table(file):
            for dimension, sign in layout.dimensions.items():
                if row.get(dimension):
                    share = (float(row[dimension]) - low) / (high - low)
                    given[row[layout.key]].append(share if sign > 0 else 1 - share)
    return {key: float(np.mean(values)) for key, values in given.items()}


def agreement(rated: Sequence[tuple[Item, float, float]], least: float) -> tuple[float, float, int]:
    """Of pairs with a gap of `least` and more: the share ordered as people do, the longer reply's share, and how many."""
    right, longer = [], []
    for (a, worth_a, score_a), (b, worth_b, score_b) in combinations(rated, 2):
        if a.group == b.group and abs(worth_a - worth_b) >= least:
            order = np.sign(worth_a - worth_b)
            right.append(0.5 + 0.5 * order * np.sign(score_a - score_b))
            longer.append(0.5 + 0.5 * order * np.sign(len(a.reply.split()) - len(b.reply.split())))
    return (float(np.mean(right)), float(np.mean(longer)), len(right)) if right else (float("nan"), float("nan"), 0)


def factor(rated: Sequence[tuple[Item, float, float]], least: float) -> float:
    """What the judge's log odds were to be multiplied by, to be as sure as these people agree with it."""
    odds = np.array(
        [np.sign(a[1] - b[1]) * (a[2] - b[2]) for a, b in combinations(rated, 2)
         if a[0].group == b[0].group and abs(a[1] - b[1]) >= least]
    )  # fmt: skip
    return float(minimize_scalar(lambda x: float(np.logaddexp(0, -x * odds).mean()), bounds=(0, 5), method="bounded").x)


def main() -> None:
    folder = Path(sys.argv[1])
    encoder, head = SentenceEncoder.load(models.resolve("minilm-l6")), load_head()
    for layout in LAYOUTS:
        read = items(folder, layout)
        score = {k: float(head.scores(reply_features(i.turns, [i.reply], encoder))[0]) for k, i in read.items()}
        for raters in RATERS:
            given = worth(folder, layout, raters)
            rated = [(item, given[key], score[key]) for key, item in read.items() if key in given]
            rho = spearmanr([w for _, w, _ in rated], [s for _, _, s in rated]).statistic
            clear, longer, pairs = agreement(rated, CLEAR)
            closer, longer_too, more = agreement(rated, CLEAR / 2)
            print(
                f"{layout.name:20} {raters:7} rank correlation {rho:.2f}; clear {clear:.2f} of {pairs} (longer {longer:.2f}); "
                f"a sixth and more {closer:.2f} of {more} (longer {longer_too:.2f}); odds × {factor(rated, CLEAR / 2):.2f}"
            )


def _turns(text: str) -> tuple[Turn, ...]:
    """The conversation, neighbouring lines of one person joined; this set writes its commas out."""
    said: list[tuple[str, str]] = []
    for line in text.replace("_comma_", ",").splitlines():
        who, colon, words = line.strip().partition(":")
        if not colon or who.strip() not in ("Seeker", "Supporter") or not words.strip():
            continue
        role = who.strip().lower()
        if said and said[-1][0] == role:
            said[-1] = (role, f"{said[-1][1]} {words.strip()}")
        else:
            said.append((role, words.strip()))
    return tuple(Turn.model_validate({"role": role, "text": words}) for role, words in said)


def _table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines))


if __name__ == "__main__":
    main()
