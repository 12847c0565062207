"""Rule for raters that count: the same for votes from a file and from a listening test.

HEART leaves out raters who fail half of the checks or have anomalous times (section 9.6): here times in which nobody can have
heard or read both replies and decided, and times far from all others'. So are raters with one answer to everything (ITU-T
P.808), unless they took the time to look. Nobody's vote is deleted. The robust distance is of log times; at five deviations,
none under 30 %, fewer than one in a hundred simulated honest raters is left out.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.wording import counted

FAILED_SHARE: Final = 0.5
FASTEST_READING_WORDS_PER_S: Final = 12.5
"""750 words a minute, three times the pace of reading aloud: words that pass faster were not read."""
DECIDING_S: Final = 2.0
"""Beyond the least time for hearing or reading the replies, nobody decides in less; as a median it is clicking through."""
FEWEST_FOR_TIMES: Final = 4
"""With fewer answers, one or two accidents decide the median."""
FEWEST_FOR_SPREAD: Final = 5
"""Other raters needed before one can be called far from them."""
ROBUST_DEVIATIONS: Final = 5.0
LEAST_SPREAD: Final = 0.3
"""Least spread of log times: raters who happen to be alike make nobody an outlier."""
FEWEST_FOR_CONSTANT: Final = 8
"""An attentive person who prefers one reply of every pair by much meets it in the same place n times with probability
2 ** (1 - n): 3 % at six answers, 0.8 % at eight."""

MOST_NAMED: Final = 3
"""Raters whose reason is in a sentence; `harness add-votes`, and `harness listen` at its end, name all."""


@dataclass(frozen=True, slots=True)
class Given:
    """One answer of one rater, with the facts that this rule needs."""

    rater: str
    passed: bool | None = None
    """True if a check was passed; None if the answer is no check."""
    counts: bool = True
    """True for an answer on systems; False for a check, practice or trial."""
    seconds: float | None = None
    least_s: float = 0.0
    """The least part of `seconds` that hearing or reading the replies takes, if known."""
    chosen: Hashable | None = None
    """The answer by its place on the page; None where places are not known."""
    preferred: str | None = None
    """The system it favours, if any."""


@dataclass(frozen=True, slots=True)
class RaterQuality:
    """Figures of one rater, and the reasons for leaving them out (empty: they count)."""

    rater: str
    answers: int
    checks: int
    failed: int
    median_s: float | None
    reasons: tuple[str, ...]

    @property
    def excluded(self) -> bool:
        """True if any rule applies."""
        return bool(self.reasons)


def all_left_out(votes: int, raters: Sequence[RaterQuality], way: str) -> str:
    """Why none of these votes counts, in one sentence without its full stop. `way`: the command that counts them."""
    reasons = [f"{rater.rater}: {'; '.join(rater.reasons)}" for rater in raters[:MOST_NAMED]]
    more = [f"and {len(raters) - MOST_NAMED} more"] if len(raters) > MOST_NAMED else []
    are = "is" if votes == 1 else "are"
    return f"{counted(votes, 'vote')} {are} there, all excluded ({', '.join([*reasons, *more])}): count them with `{way}`"


def least_reading_s(words: int) -> float:
    """Least seconds for reading this many words."""
    return words / FASTEST_READING_WORDS_PER_S


def rater_quality(answers: Iterable[Given]) -> tuple[RaterQuality, ...]:
    """Every rater, with the reasons that leave them out, in alphabetical order."""
    by_rater: dict[str, list[Given]] = defaultdict(list)
    for answer in answers:
        by_rater[answer.rater].append(answer)
    spare = {rater: _median_spare_s(given) for rater, given in by_rater.items()}
    return tuple(
        _quality(rater, given, spare[rater], [s for other, s in spare.items() if other != rater and s is not None])
        for rater, given in sorted(by_rater.items())
    )


def _quality(rater: str, given: Sequence[Given], spare_s: float | None, others: Sequence[float]) -> RaterQuality:
    counted = [answer for answer in given if answer.counts]
    timed = [answer.seconds for answer in counted if answer.seconds is not None]
    checks = [answer for answer in given if answer.passed is not None]
    failed = sum(answer.passed is False for answer in checks)
    reasons = []
    if checks and failed >= FAILED_SHARE * len(checks):
        reasons.append(f"failed {failed} of {len(checks)} checks")
    if spare_s is not None:
        far = _robust_distance(spare_s, others)
        if len(timed) >= FEWEST_FOR_TIMES and spare_s < DECIDING_S:
            side = "before the end of" if spare_s < 0 else "beyond"
            reasons.append(f"answered {abs(spare_s):.1f} s {side} hearing or reading (median), faster than anybody can")
        elif abs(far) > ROBUST_DEVIATIONS:
            how = "longer" if far > 0 else "less"
            reasons.append(f"took {spare_s:.0f} s beyond hearing or reading (median), far {how} than all others")
    if len(counted) >= FEWEST_FOR_CONSTANT and _is_habit(counted, timed=spare_s is not None):
        reasons.append(f"gave the same answer to all {len(counted)} items")
    return RaterQuality(
        rater, len(counted), len(checks), failed, float(np.median(timed)) if timed else None, tuple(reasons)
    )  # fmt: skip


def _median_spare_s(given: Sequence[Given]) -> float | None:
    spare = [answer.seconds - answer.least_s for answer in given if answer.counts and answer.seconds is not None]
    return float(np.median(spare)) if spare else None


def _robust_distance(value: float, others: Sequence[float]) -> float:
    """Distance in robust deviations of log time; a tenth of a second at least, so that it has a logarithm."""
    if len(others) < FEWEST_FOR_SPREAD:
        return 0.0
    logs = np.log(np.maximum(others, 0.1))
    spread = 1.4826 * float(np.median(np.abs(logs - np.median(logs))))
    return float((np.log(max(value, 0.1)) - np.median(logs)) / max(spread, LEAST_SPREAD))


def _is_habit(counted: Sequence[Given], *, timed: bool) -> bool:
    """True for one answer to everything; not where one system was always the better and always in one place, and not where none
    was ever better and the times are known."""
    chosen = {answer.chosen for answer in counted}
    preferred = {answer.preferred for answer in counted}
    return len(chosen) == 1 and None not in chosen and (len(preferred) > 1 or (preferred == {None} and not timed))
