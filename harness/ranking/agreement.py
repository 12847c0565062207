"""Do judges and people name the same winner, and is that as often as people agree with one another?

Every figure is a ratio of sums over contexts, so all share one bootstrap over conversations. "Matches people" is not the
absence of a significant difference: it is an equivalence test, two one-sided tests at 5 % against a stated margin, passed when
the 90 % interval of the difference lies inside it. It compares like with like: the judges' majority with *one* person, and one
person with another. (Majority with majority, the paper's 78.7 %, is printed too, but it is not comparable to the 79.5 % between
single people.)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from harness.ranking.ballots import LABELS, Ballot, ballots, is_ambiguous, label, majority
from harness.ranking.board import Interval
from harness.ranking.bootstrap import draw_contexts, percentile_interval
from harness.ranking.reliability import cohen_kappa, coincidences, fleiss_kappa, fleiss_sums, krippendorff_alpha
from harness.ranking.sandwich import FEWEST_CONTEXTS
from harness.ranking.scale import Floats
from harness.ranking.verdicts import axis_rows
from harness.store.judgment import AXES, Judgment

DRAWS = 2000
MARGIN = 0.05
"""Equivalence margin: five points of agreement."""
MOST_SUBSETS = 200
"""Of judges, when all subsets of a size are too many to try."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A share or coefficient with its 95 % interval (None under eight contexts), and the pairs of replies it rests on."""

    value: float
    interval: Interval | None
    pairs: int


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Agreement of the judges' majority with one person, minus agreement of two people."""

    difference: float
    interval_90: Interval | None
    margin: float
    equivalent: bool | None
    """None where no interval can be given."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """None where the rows cannot know: no people, one judge, no majority of three."""

    judge_human: Figure | None
    judge_human_ambiguous: Figure | None
    inter_human: Figure | None
    judges_with_one_human: Figure | None
    cross_judge: Mapping[tuple[str, str], Figure]
    cross_judge_kappa: Mapping[tuple[str, str], Figure]
    three_way: Mapping[tuple[str, str, str], Figure]
    fleiss_kappa_humans: Figure | None
    fleiss_kappa_judges: Figure | None
    fleiss_kappa_by_axis: Mapping[str, Figure]
    """Of all voters who marked axes; no clear advantage is a label of its own."""
    krippendorff_alpha_humans: Figure | None
    krippendorff_alpha_judges: Figure | None
    """Ordinal metric, on signed strengths."""
    cohen_kappa: Figure | None
    """Majority of judges against majority of people."""
    subsampling: Mapping[int, float]
    """Number of judges → mean agreement of their majority with people's, over subsets of that size."""
    equivalence: Equivalence | None
    judges_per_pair: Mapping[int, int]
    """Number of judges → how many pairs of replies had so many."""


NOTHING_KNOWN: Final = Agreement(
    judge_human=None,
    judge_human_ambiguous=None,
    inter_human=None,
    judges_with_one_human=None,
    cross_judge={},
    cross_judge_kappa={},
    three_way={},
    fleiss_kappa_humans=None,
    fleiss_kappa_judges=None,
    fleiss_kappa_by_axis={},
    krippendorff_alpha_humans=None,
    krippendorff_alpha_judges=None,
    cohen_kappa=None,
    subsampling={},
    equivalence=None,
    judges_per_pair={},
)
"""Of rows that were not compared with each other."""


def three_way_from_pairwise(ab: float, ac: float, bc: float) -> float:
    """Share of cases on which three raters agree, from the three pairwise shares, where labels are binary."""
    return (ab + ac + bc - 1) / 2


def agreement(judgments: Iterable[Judgment], *, draws: int = DRAWS, margin: float = MARGIN, seed: int = 0) -> Agreement:
    """All agreement figures of one set of rows (of one presentation)."""
    rows = list(judgments)
    cast = ballots(rows)
    by_axis = {axis: _axis_kappa(rows, axis, draws, seed) for axis in AXES}
    judge_names = sorted({name for b in cast for name in b.judges})
    world = _Resampler(cast, draws, seed)

    def pairwise(names: Sequence[str]) -> Callable[[Ballot], tuple[float, float] | None]:
        def of(b: Ballot) -> tuple[float, float] | None:
            if not all(name in b.judges for name in names):
                return None
            return float(len({label(b.judges[name]) for name in names}) == 1), 1.0

        return of

    def confusion(names: tuple[str, str]) -> Callable[[Ballot], Floats | None]:
        def of(b: Ballot) -> Floats | None:
            if not all(name in b.judges for name in names):
                return None
            found = np.zeros((len(LABELS), len(LABELS)))
            found[label(b.judges[names[0]]), label(b.judges[names[1]])] = 1
            return found

        return of

    couples, triples = list(combinations(judge_names, 2)), list(combinations(judge_names, 3))
    inter_human = world.share(_between_humans)
    with_one = world.share(_with_one_human)
    return Agreement(
        judge_human=world.share(_majorities),
        judge_human_ambiguous=world.share(lambda b: _majorities(b) if is_ambiguous(b) else None),
        inter_human=inter_human,
        judges_with_one_human=with_one,
        cross_judge={c: f for c in couples if (f := world.share(pairwise(c))) is not None},
        cross_judge_kappa={c: f for c in couples if (f := world.coefficient(confusion(c), cohen_kappa)) is not None},
        three_way={t: f for t in triples if (f := world.share(pairwise(t))) is not None},
        fleiss_kappa_humans=world.coefficient(lambda b: _fleiss(b.humans), fleiss_kappa),
        fleiss_kappa_judges=world.coefficient(lambda b: _fleiss(b.judges), fleiss_kappa),
        fleiss_kappa_by_axis={axis: figure for axis, figure in by_axis.items() if figure is not None},
        krippendorff_alpha_humans=world.coefficient(lambda b: _coincidence(b.humans), _ordinal_alpha),
        krippendorff_alpha_judges=world.coefficient(lambda b: _coincidence(b.judges), _ordinal_alpha),
        cohen_kappa=world.coefficient(_majority_confusion, cohen_kappa),
        subsampling=_subsampling(cast, judge_names, seed),
        equivalence=world.equivalence(_with_one_human, _between_humans, margin) if inter_human and with_one else None,
        judges_per_pair={k: sum(len(b.judges) == k for b in cast) for k in sorted({len(b.judges) for b in cast})},
    )


def _majorities(b: Ballot) -> tuple[float, float] | None:
    judges, humans = majority(b.judges), majority(b.humans)
    return None if judges is None or humans is None else (float(judges == humans), 1.0)


def _majority_confusion(b: Ballot) -> Floats | None:
    judges, humans = majority(b.judges), majority(b.humans)
    if judges is None or humans is None:
        return None
    found = np.zeros((len(LABELS), len(LABELS)))
    found[judges, humans] = 1
    return found


def _between_humans(b: Ballot) -> tuple[float, float] | None:
    labels = [label(v) for v in b.humans.values()]
    # Each pair of replies weighs the same, however many people judged it.
    agree = [x == y for x, y in combinations(labels, 2)]
    return (float(np.mean(agree)), 1.0) if agree else None


def _with_one_human(b: Ballot) -> tuple[float, float] | None:
    judges = majority(b.judges)
    if judges is None or not b.humans:
        return None
    return float(np.mean([label(v) == judges for v in b.humans.values()])), 1.0


def _fleiss(voices: Mapping[str, float]) -> Floats | None:
    if len(voices) < 2:
        return None
    counts = np.bincount([label(v) for v in voices.values()], minlength=len(LABELS)).astype(np.float64)
    return fleiss_sums(counts[None, :])


def _axis_kappa(rows: Sequence[Judgment], axis: str, draws: int, seed: int) -> Figure | None:
    if not any(axis in row.axes for row in rows):
        return None
    cast = ballots(axis_rows(rows, axis))
    return _Resampler(cast, draws, seed).coefficient(lambda b: _fleiss({**b.judges, **b.humans}), fleiss_kappa)


def _coincidence(voices: Mapping[str, float]) -> Floats | None:
    if len(voices) < 2:
        return None
    levels = [round(v) + 5 for v in voices.values()]
    return coincidences(np.bincount(levels, minlength=11).astype(np.float64)[None, :])


def _ordinal_alpha(matrix: Floats) -> Floats:
    return krippendorff_alpha(matrix, "ordinal")


def _subsampling(cast: Sequence[Ballot], names: Sequence[str], seed: int) -> dict[int, float]:
    people = [(b, humans) for b in cast if (humans := majority(b.humans)) is not None]
    rng = np.random.default_rng(seed)
    found = {}
    for size in range(1, len(names) + 1):
        subsets = list(combinations(names, size))
        if len(subsets) > MOST_SUBSETS:
            subsets = [subsets[k] for k in rng.choice(len(subsets), MOST_SUBSETS, replace=False)]
        shares = []
        for chosen in subsets:
            labels = [(majority({n: b.judges[n] for n in chosen if n in b.judges}, fewest=1), humans) for b, humans in people]
            agree = [judges == humans for judges, humans in labels if judges is not None]
            if agree:
                shares.append(float(np.mean(agree)))
        if shares:
            found[size] = float(np.mean(shares))
    return found


class _Resampler:
    """One set of drawn conversations for all figures, so that their differences are paired."""

    def __init__(self, cast: Sequence[Ballot], draws: int, seed: int) -> None:
        self._cast = cast
        places = sorted({b.context for b in cast})
        at = {place: k for k, place in enumerate(places)}
        self._at = [at[b.context] for b in cast]
        self._contexts = len(places)
        self._often = draw_contexts(len(places), draws, np.random.default_rng(seed)) if places else np.zeros((draws, 0))

    def _sums(self, of: Callable[[Ballot], Floats | tuple[float, float] | None]) -> tuple[Floats, int] | None:
        parts = [(at, np.asarray(part)) for at, b in zip(self._at, self._cast, strict=True) if (part := of(b)) is not None]
        if not parts:
            return None
        sums = np.zeros((self._contexts, *parts[0][1].reshape(-1).shape))
        for at, part in parts:
            sums[at] += part.reshape(-1)
        return sums, len(parts)

    def share(self, of: Callable[[Ballot], tuple[float, float] | None]) -> Figure | None:
        """Ratio of the two sums that `of` gives for each ballot."""
        found = self._sums(of)
        if found is None:
            return None
        sums, pairs = found
        drawn = _ratio(self._often @ sums)
        return Figure(float(sums[:, 0].sum() / sums[:, 1].sum()), self._interval(drawn), pairs)

    def coefficient(self, of: Callable[[Ballot], Floats | None], figure: Callable[[Floats], Floats]) -> Figure | None:
        """A figure of sums of arrays. None where it is not defined (all verdicts alike)."""
        found = self._sums(of)
        if found is None:
            return None
        sums, pairs = found
        shape = next(part.shape for b in self._cast if (part := of(b)) is not None)
        value = float(np.ravel(figure(sums.sum(axis=0).reshape(shape)))[0])
        if not np.isfinite(value):
            return None
        drawn = figure((self._often @ sums).reshape(-1, *shape)).reshape(self._often.shape[0])
        return Figure(value, self._interval(drawn), pairs)

    def equivalence(
        self,
        one: Callable[[Ballot], tuple[float, float] | None],
        other: Callable[[Ballot], tuple[float, float] | None],
        margin: float,
    ) -> Equivalence | None:
        """Two one-sided tests at 5 % on the paired difference of two shares."""
        both = self._sums(one), self._sums(other)
        if both[0] is None or both[1] is None:
            return None
        first, second = both[0][0], both[1][0]
        gap = float(_ratio(first.sum(axis=0)[None])[0] - _ratio(second.sum(axis=0)[None])[0])
        interval = self._interval(_ratio(self._often @ first) - _ratio(self._often @ second), 0.90)
        inside = None if interval is None else interval[0] > -margin and interval[1] < margin
        return Equivalence(gap, interval, margin, inside)

    def _interval(self, drawn: Floats, level: float = 0.95) -> Interval | None:
        kept = drawn[np.isfinite(drawn)]
        if self._contexts < FEWEST_CONTEXTS or kept.size == 0:
            return None
        low, high = percentile_interval(kept, self._contexts, level)
        return float(low), float(high)


def _ratio(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[:, 0] / sums[:, 1], dtype=np.float64)
