"""People's votes: five options, a reason, the rater, the time taken, quality checks; from CSV to `Judgment` rows.

A vote is the same row as a judge's verdict, so that nothing after it needs to know. Exclusion is computed, shown and
reversible: the file keeps every vote, a rater's exclusion is a list with reasons, and calling again without it gives all
rows back. A rater is excluded who fails half or more of the checks seen (HEART, section 9.6), or whose times are
anomalous: a median under a third of the time that reading both replies aloud at 250 words a minute would take, which nobody
can do and read, or further than 3.5 robust deviations of log time below the other raters' medians.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from harness.errors import UserError
from harness.store.judgment import Judgment, Presentation, Winner

CHECKS_FAILED_FROM = 0.5
READING_WORDS_PER_S = 250 / 60
FASTEST_SHARE = 1 / 3
ROBUST_DEVIATIONS = 3.5
FEWEST_FOR_SPREAD = 5
"""Raters needed before one of them can be called an outlier among the others."""
Option = Literal["a_much", "a_slightly", "same", "b_slightly", "b_much"]
_MEANING: dict[str, tuple[Winner, int]] = {
    "a_much": ("a", 5),
    "a_slightly": ("a", 2),
    "same": ("tie", 1),
    "b_slightly": ("b", 2),
    "b_much": ("b", 5),
}
"""Strength on the judges' scale: `slightly` is their 2, `much` their 5; the ordinal fit uses only the order."""
_Name = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]


class Vote(BaseModel):
    """One line of the CSV. `shown_first` says which side the rater met first; words are those of both replies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context: _Name
    subset: Literal["regular", "adversarial"]
    system_a: _Name
    system_b: _Name
    rater: _Name
    vote: Option
    reason: Annotated[str, StringConstraints(max_length=5_000, strip_whitespace=True)] = ""
    shown_first: Literal["a", "b"] | None = None
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    words: Annotated[int, Field(ge=0)] | None = None
    check: Option | None = None
    """On a quality check: the answer that is right; such a vote is not a verdict on systems."""
    presentation: Presentation = "written"
    condition: Annotated[str, StringConstraints(max_length=500)] = ""
    """The line condition that the replies were heard in; empty: the run's only one."""


@dataclass(frozen=True, slots=True)
class RaterQuality:
    """What is known of one rater, and why they are excluded (empty: they are not)."""

    rater: str
    votes: int
    checks: int
    checks_failed: int
    median_seconds: float | None
    reasons: tuple[str, ...]

    @property
    def excluded(self) -> bool:
        """Whether any rule applies."""
        return bool(self.reasons)


def read_votes(
    path: Path, presentation: Presentation = "written", problem: Callable[[Vote], str | None] | None = None
) -> tuple[Vote, ...]:
    """Read a CSV of votes with a header line.

    `presentation` is that of lines that name none; `problem` says what is wrong with a vote that reads well.

    Raises:
        UserError: unreadable, a column unknown or missing, a bad value, nothing in it; names file, line and column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle, restkey="(extra)", strict=True)
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read as CSV of votes ({' '.join(str(error).split())})") from error
    if not rows:
        raise UserError(f"{path}: holds no votes; the first line names the columns, each further line is one vote")
    votes = []
    for number, row in rows:
        given = {k: v for k, v in row.items() if v not in ("", None)}
        try:
            vote = Vote.model_validate({"presentation": presentation} | given)
        except ValidationError as error:
            first = error.errors()[0]
            raise UserError(f"{path}:{number}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        wrong = problem(vote) if problem is not None else None
        if vote.system_a == vote.system_b:
            wrong = f"system_b: {vote.system_b!r} is set against itself"
        if wrong:
            raise UserError(f"{path}:{number}: {wrong}")
        votes.append(vote)
    return tuple(votes)


def rater_quality(votes: Sequence[Vote]) -> tuple[RaterQuality, ...]:
    """Every rater, with the reasons that exclude them, in alphabetical order."""
    by_rater: dict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        by_rater[vote.rater].append(vote)
    medians = {
        rater: float(np.median([v.seconds for v in mine if v.seconds is not None]))
        for rater, mine in by_rater.items()
        if any(v.seconds is not None for v in mine)
    }
    return tuple(_quality(rater, by_rater[rater], medians) for rater in sorted(by_rater))


def to_judgments(votes: Sequence[Vote], *, keep_excluded: bool = False) -> tuple[Judgment, ...]:
    """The votes as rows, without quality checks and (unless told otherwise) without excluded raters."""
    excluded = set() if keep_excluded else {q.rater for q in rater_quality(votes) if q.excluded}
    counts: dict[tuple[str, str, str, str], int] = defaultdict(int)
    rows = []
    for vote in votes:
        if vote.check is not None or vote.rater in excluded:
            continue
        winner, strength = _MEANING[vote.vote]
        key = (vote.context, vote.system_a, vote.system_b, vote.rater)
        rows.append(
            Judgment(
                context=vote.context,
                subset=vote.subset,
                system_a=vote.system_a,
                system_b=vote.system_b,
                source="human",
                judge=vote.rater,
                winner=winner,
                strength=strength,
                shown_first=vote.shown_first,
                presentation=vote.presentation,
                condition=vote.condition,
                rationale=vote.reason,
                repeat=counts[key],
            )
        )
        counts[key] += 1
    return tuple(rows)


def _quality(rater: str, mine: Sequence[Vote], medians: dict[str, float]) -> RaterQuality:
    checks = [v for v in mine if v.check is not None]
    failed = sum(_MEANING[v.vote][0] != _MEANING[v.check or "same"][0] for v in checks)
    reasons = []
    if checks and failed / len(checks) >= CHECKS_FAILED_FROM:
        reasons.append(f"failed {failed} of {len(checks)} quality checks")
    haste = [v.seconds * READING_WORDS_PER_S / v.words for v in mine if v.seconds is not None and v.words]
    if haste and float(np.median(haste)) < FASTEST_SHARE:
        reasons.append("voted faster than anybody can read")
    others = [math.log(m) for other, m in medians.items() if other != rater]
    if rater in medians and len(others) >= FEWEST_FOR_SPREAD:
        centre = float(np.median(others))
        spread = max(1.4826 * float(np.median(np.abs(np.array(others) - centre))), 0.1)
        if math.log(medians[rater]) < centre - ROBUST_DEVIATIONS * spread:
            reasons.append("far faster than the other raters")
    return RaterQuality(rater, len(mine) - len(checks), len(checks), failed, medians.get(rater), tuple(reasons))
