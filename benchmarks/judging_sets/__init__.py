"""The pairs that the embedded judge was fitted on (`fit`) and measured on (`heldout`), beside the gold pairs of every judge.

They stand here and not in the package because only the fit and its measurement read them. A set may be written in several
batches, one file each.
"""

import hashlib
from pathlib import Path
from typing import Final, Literal

from harness.judging.completion import normalised
from harness.judging.validation.labelled import (
    LabelledConversation,
    LabelledPair,
    gold_conversations,
    pairs_of,
    read_conversations,
)

Set = Literal["gold", "fit", "heldout"]
FOLDER: Final = Path(__file__).parent


def load_conversations(name: Set) -> tuple[LabelledConversation, ...]:
    """All lines of one set."""
    if name == "gold":
        return gold_conversations()
    files = sorted(FOLDER.glob(f"{name}*.jsonl"))
    return read_conversations(line for file in files for line in file.read_text(encoding="utf-8").split("\n"))


def load_pairs(name: Set) -> tuple[LabelledPair, ...]:
    """The pairs of one set; in `fit` each fault stands against every good reply."""
    return pairs_of(load_conversations(name), every=name == "fit")


def hashes(name: Set) -> frozenset[str]:
    """Hashes of every conversation's last turn and of every reply of a set, normalised."""
    texts = (t for c in load_conversations(name) for t in (c.turns[-1][3:], *c.good, *(f.text for f in c.bad)))
    return frozenset(text_hash(t) for t in texts)


def text_hash(text: str) -> str:
    """The hash by which sets are shown to be disjoint."""
    return hashlib.sha256(normalised(text).encode()).hexdigest()[:24]


def set_hash(name: Set) -> str:
    """One hash for the whole of a set."""
    joined = "\n".join(c.model_dump_json() for c in load_conversations(name))
    return hashlib.sha256(joined.encode()).hexdigest()[:16]
