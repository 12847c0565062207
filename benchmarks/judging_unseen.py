"""The head that ships on origins that took no part in its fit or in any choice: `python -m benchmarks.judging_unseen`.

The files of `benchmarks/judging_unseen` were written apart, and first read by a judge after the head was fitted and its
penalties were fixed. Each look is in docs/performance.md; a head that was changed after a look needs another file.
"""

from pathlib import Path

import numpy as np

from benchmarks.graded_replies import graded_pairs, read_origin
from benchmarks.judging_fit import figures
from harness import models
from harness.judging.embedded import load_head
from harness.judging.sentence_encoder import SentenceEncoder

FOLDER = Path(__file__).with_suffix("")


def main() -> None:
    encoder, head = SentenceEncoder.load(models.resolve("minilm-l6")), load_head()
    for path in sorted(FOLDER.glob("*.jsonl")):
        pairs = tuple(graded_pairs(read_origin(path), encoder))
        odds = np.stack([pair.difference for pair in pairs]) @ head.overall
        print(f"{path.stem} (head {head.version}): {figures(pairs, odds)}")


if __name__ == "__main__":
    main()
