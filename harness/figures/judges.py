"""The judges of a run, each with its measured accuracy.

A judge's worth is a fact about the run and not about one board: a verdict on a reply of its own family, wherever it was given,
takes its trust away on every board. So every door reads it here, from the same rows.
"""

from collections import Counter

import numpy as np

from harness.figures.cells import JudgeSummary
from harness.judging.validation.sentences import standing
from harness.judging.validation.trust import trust_in
from harness.store.judgment_table import JudgmentTable
from harness.store.selection import Selection


def judge_summaries(selection: Selection) -> list[JudgeSummary]:
    """The judges with a stored check, and the number of their verdicts on the boards that are quoted."""
    rows = selection.quoted_table({condition: selection.quoted(condition) for condition in selection.conditions})
    counts, own = _by_judge(rows), _by_judge(rows.where(rows["own_family"] != 0))
    return [
        JudgeSummary(
            id=check.judge,
            **check.model_dump(include={"accuracy", "accuracy_interval", "flip_rate", "pairs", "note"}),
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
