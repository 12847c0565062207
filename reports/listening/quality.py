"""Which raters count, after ITU-T P.808: failed checks, impossible times, answers that never change.

Nobody is thrown away: every analysis is made with and without the excluded, and the reasons are printed. HEART excludes
raters who fail half or more of the checks or whose times are anomalous (section 9.6).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.listening.answers import Answer

FAILED_SHARE = 0.5
FEWEST_FOR_CONSTANT = 6
"""Six equal answers of a person who listens happen; so fewer prove nothing."""
FAST_S = 2.0
"""Beyond hearing everything, nobody reads, decides and answers in less; as a median it is clicking through."""
SLOW_ROBUST_Z = 5.0
"""Of the log time against the other raters'; only a median this far out is another task going on beside."""


@dataclass(frozen=True, slots=True)
class RaterQuality:
    """One rater. `reasons` is empty for a rater who counts."""

    rater: str
    answers: int
    checks: int
    failed: int
    median_s: float | None
    reasons: tuple[str, ...]

    @property
    def counts(self) -> bool:
        return not self.reasons


def rater_quality(answers: Sequence[Answer]) -> tuple[RaterQuality, ...]:
    """Quality of every rater who answered anything."""
    by_rater: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_rater[answer.rater].append(answer)
    times = {rater: _times(rows) for rater, rows in by_rater.items()}
    medians = {rater: float(np.median(found)) for rater, found in times.items() if found}
    return tuple(
        _quality(rater, rows, medians.get(rater), [m for other, m in medians.items() if other != rater])
        for rater, rows in sorted(by_rater.items())
    )


def _times(rows: Sequence[Answer]) -> list[float]:
    """Of the items alone; a tenth of a second at least, so that it has a logarithm."""
    return [max(row.took_s, 0.1) for row in rows if row.item.role == "main"]


def _quality(rater: str, rows: Sequence[Answer], median_s: float | None, others: Sequence[float]) -> RaterQuality:
    checks = [row for row in rows if row.passed is not None]
    failed = sum(row.passed is False for row in checks)
    main = [row for row in rows if row.item.role == "main"]
    reasons: list[str] = []
    if checks and failed >= FAILED_SHARE * len(checks):
        reasons.append(f"failed {failed} of {len(checks)} checks")
    if median_s is not None and len(main) >= FEWEST_FOR_CONSTANT and median_s < FAST_S:
        reasons.append(f"answered in {median_s:.1f} s beyond hearing (median)")
    if median_s is not None and len(others) >= 4 and _robust_z(median_s, others) > SLOW_ROBUST_Z:
        reasons.append(f"took {median_s:.0f} s beyond hearing (median), far from all others")
    if len(main) >= FEWEST_FOR_CONSTANT and len({_chosen(row) for row in main}) == 1:
        reasons.append(f"gave the same answer to all {len(main)} items")
    return RaterQuality(rater, len(main), len(checks), failed, median_s, tuple(reasons))


def _chosen(row: Answer) -> tuple[object, ...]:
    return tuple(value for name, value in sorted(row.answer.items()) if name != "reason")


def _robust_z(value: float, others: Sequence[float]) -> float:
    logs = np.log(np.asarray(others))
    spread = float(np.median(np.abs(logs - np.median(logs)))) * 1.4826
    return float((np.log(value) - np.median(logs)) / max(spread, 0.1))
