"""The judges of a run, each with its measured accuracy, and the sentences on them beside a ranking.

A judge's worth is a fact about the run and not about one board: a verdict on a reply of its own family, wherever it was given,
takes its trust away on every board.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from harness.figures.cells import JudgeSummary
from harness.judging.record import read_records, stops_in_words
from harness.judging.validation.sentences import red_lines_sentence, standing
from harness.judging.validation.trust import trust_in
from harness.store.judgment import JudgeCheck, Presentation
from harness.store.judgment_table import JudgmentTable
from harness.store.selection import Selection

_OF_CHECK: Final = {"accuracy", "accuracy_interval", "flip_rate", "deliveries", "missing", "missing_by_kind", "note"}


def judge_summaries(selection: Selection) -> list[JudgeSummary]:
    """The judges with a stored check, and the number of their verdicts on the boards that are quoted."""
    rows = selection.quoted_table({condition: selection.quoted(condition) for condition in selection.conditions})
    counts, own = _by_judge(rows), _by_judge(rows.where(rows["own_family"] != 0))
    unanswered: dict[str, list[str]] = {}
    for record in read_records(selection.store.folder):
        unanswered.setdefault(record.judge, []).append(record.why_missing)
    return [
        JudgeSummary(
            id=check.judge,
            **check.model_dump(include=_OF_CHECK),
            pairs=None if check.hears else check.pairs,
            why_missing="; ".join(dict.fromkeys(filter(None, [check.why_missing, *unanswered.get(check.judge, [])]))),
            trusted=trust_in(check) == "trusted" and not own[check.judge],
            validated_on_people=people.accuracy if (people := check.validated_on_people) and people.accuracy_interval else None,
            trust=trust_in(check),
            standing=standing(check),
            red_lines=check.red_lines,
            judgments=counts[check.judge],
            own_family_judgments=own[check.judge],
        )
        for check in selection.store.judge_checks()
    ]


def _by_judge(rows: JudgmentTable) -> Counter[str]:
    names, counts = np.unique(rows["judge"], return_counts=True)
    return Counter({rows.judges[k]: int(n) for k, n in zip(names, counts, strict=True)})


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
