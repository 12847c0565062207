"""Sentences beside a run's ranking: red lines of its judges, an early end of judging, and votes that it does not rate.

A figure is honest with its exceptions beside it, so they are notes of the board, and every door prints them with it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from harness.judging.record import read_records, stops_in_words
from harness.judging.validation.sentences import red_lines_sentence
from harness.store.judgment import JudgeCheck, Presentation
from harness.store.judgment_table import JudgmentTable


def notes_on_judges(judges: Sequence[str], checks: Mapping[str, JudgeCheck]) -> list[str]:
    """Sentences on the red lines of judges that rate a board; they come first."""
    known = (checks[judge] for judge in judges if judge in checks)
    return [f"{said}." for check in known if (said := red_lines_sentence(check.judge, check.red_lines))]


def notes_on_stops(path: Path, table: JudgmentTable, condition: str, presentation: Presentation) -> list[str]:
    """Sentences on how judging ended."""
    judges = {table.judges[k] for k in np.unique(table["judge"][table.named("presentation", presentation)])}
    return stops_in_words(
        [
            record
            for record in read_records(path)
            if record.presentation == presentation and record.judge in judges and record.condition in (condition, "")
        ]
    )


def notes_on_votes(table: JudgmentTable, presentation: Presentation) -> list[str]:
    """Sentences on votes that belong to another ranking than that of judges on this presentation."""
    elsewhere = table["presentation"][(table["human"] == 1) & ~table.named("presentation", presentation)]
    return [
        f"{count} votes of people on another presentation are not part of this: rank them with --presentation {name}."
        for name, count in sorted(Counter(table.presentations[k] for k in elsewhere.tolist()).items())
    ]
