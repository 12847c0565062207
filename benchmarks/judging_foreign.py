"""How the embedded judge does on ways of talking that its fit does not come from: accuracy by style, and on strangers' replies.

The file beside this one holds crowd workers' spelling, polished paragraphs, transcripts without punctuation, callers who ask
for advice or refuse it, hostile ones, very short and very long replies, wrong people and facts, and a small model's loops.
It was never fitted on, but its mistakes were read while features were chosen: a development set, not a held-out one.

Run: `python benchmarks/judging_foreign.py`
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from harness import models
from harness.judging.embedded import load_head
from harness.judging.reply_features import reply_features
from harness.judging.sentence_encoder import SentenceEncoder
from harness.judging.validation.labelled import LabelledConversation
from harness.scenarios.context import Turn

FILE = Path(__file__).with_suffix(".jsonl")
STRANGERS = (5, 11, 17)
"""How many conversations on a stranger's reply is taken from."""


def as_transcript(text: str) -> str:
    """Lower case and no punctuation, as a poor transcript has it."""
    return " ".join(re.sub(r"[^\w\s']", "", text.lower()).split())


def main() -> None:
    encoder, head = SentenceEncoder.load(models.resolve("minilm-l6")), load_head()
    lines = FILE.read_text(encoding="utf-8").splitlines()
    conversations = [LabelledConversation.model_validate(json.loads(line)) for line in lines]

    def scores(turns: tuple[Turn, ...], replies: Sequence[str]) -> list[float]:
        return [float(score) for score in head.scores(reply_features(turns, replies, encoder))]

    def styles(change: Callable[[str], str]) -> dict[str, list[bool]]:
        right: dict[str, list[bool]] = defaultdict(list)
        for c in conversations:
            found = scores(c.conversation(), [change(text) for text in (*c.good, *(fault.text for fault in c.bad))])
            good, bad = found[: len(c.good)], found[len(c.good) :]
            right[c.id.split("-")[1]] += [g > b for g in good for b in bad]
        return right

    ways: tuple[tuple[str, Callable[[str], str]], ...] = (("as written", str), ("as a transcript", as_transcript))
    for name, change in ways:
        right = styles(change)
        whole = [hit for hits in right.values() for hit in hits]
        parts = {style: round(float(np.mean(hits)), 3) for style, hits in right.items()}
        print(f"{name}: {np.mean(whole):.3f} of {len(whole)} pairs; {parts}")
    strange = []
    for n, c in enumerate(conversations):
        for step in STRANGERS:
            other = conversations[(n + step) % len(conversations)]
            for own, stranger in zip(c.good, other.good, strict=False):
                mine, theirs = scores(c.conversation(), [own, stranger])
                strange.append(mine > theirs)
    print(f"a good reply against a good reply to another conversation: {np.mean(strange):.3f} of {len(strange)} pairs")


if __name__ == "__main__":
    main()
