"""Ballots: all verdicts on one pair of replies in one context, and their majority.

Agreement is counted on pairs of replies, not on rows: a judge asked in both orders, or twice, is still one voice. A majority
is a label that more voters chose than any other. It takes three voters, because own-family exclusion often leaves one judge
for a pair, and one judge is no ensemble.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from harness.statistics.arrays import Floats
from harness.store.judgment import Judgment, is_rule

LABELS = ("first", "tie", "second")
"""Labels, for the two systems in alphabetical order."""
FEWEST_FOR_MAJORITY = 3


@dataclass(frozen=True, slots=True)
class Ballot:
    """One pair of replies: judge or rater → signed strength, −5 (second, decisively) … 5 (first, decisively)."""

    context: str
    first: str
    second: str
    judges: Mapping[str, float]
    humans: Mapping[str, float]
    axis_marks: tuple[float, ...] = ()
    """Signed strengths of the judges' axis marks, all judges and axes together."""
    condition: str = ""
    replicate: int = 0


_Pair = tuple[str, str, str, str, int]


def ballots(judgments: Iterable[Judgment]) -> list[Ballot]:
    """Rows gathered by context, unordered pair, condition and repeat; several rows of one voter are averaged. Rows that
    a rule decided are nobody's vote."""
    voices: dict[_Pair, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    marks: dict[_Pair, list[float]] = defaultdict(list)
    for row in judgments:
        if is_rule(row.judge):
            continue
        turned = row.system_a > row.system_b
        first, second = (row.system_b, row.system_a) if turned else (row.system_a, row.system_b)
        key = (row.context, first, second, row.condition, row.replicate)
        sign = -1.0 if turned else 1.0
        voices[key][row.source, row.judge].append(sign * _signed(row.winner, row.strength))
        if row.source == "judge":
            marks[key] += [sign * _signed(m.winner, m.strength) for m in row.axes.values()]
    return [
        Ballot(
            *key[:3],
            judges={who: float(np.mean(v)) for (source, who), v in sorted(by.items()) if source == "judge"},
            humans={who: float(np.mean(v)) for (source, who), v in sorted(by.items()) if source == "human"},
            axis_marks=tuple(marks[key]),
            condition=key[3],
            replicate=key[4],
        )
        for key, by in sorted(voices.items())
    ]


def _signed(winner: str, strength: int) -> float:
    return {"a": 1.0, "tie": 0.0, "b": -1.0}[winner] * strength


def label(strength: float) -> int:
    """Index into LABELS."""
    return 1 - int(np.sign(strength))


def one_cell(row: int, column: int) -> Floats:
    """A confusion of LABELS with LABELS: the one of a single pair of replies."""
    found = np.zeros((len(LABELS), len(LABELS)))
    found[row, column] = 1
    return found


def majority(voices: Mapping[str, float], fewest: int = FEWEST_FOR_MAJORITY) -> int | None:
    """The label chosen by more voters than any other; None with too few voters, or without such a label."""
    if len(voices) < fewest:
        return None
    (top, count), *rest = Counter(label(v) for v in voices.values()).most_common()
    return None if rest and rest[0][1] == count else top


def is_ambiguous(ballot: Ballot) -> bool:
    """True without a clear consensus of people (top label at most 3 of 5), and, where axes were marked, no side ahead on them.

    The paper's description in words of our own thresholds (section 4.4): a side is ahead with over 60 % of the marks.
    """
    if not ballot.humans:
        return False
    top = Counter(label(v) for v in ballot.humans.values()).most_common(1)[0][1] / len(ballot.humans)
    decided = [m for m in ballot.axis_marks if m != 0]
    if not decided:
        return top <= 0.6
    ahead = sum(m > 0 for m in decided) / len(decided)
    return top <= 0.6 and max(ahead, 1 - ahead) <= 0.6
