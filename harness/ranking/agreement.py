"""Agreement of judges with people on the winner, compared with the agreement of people with one another.

Every figure is a ratio of sums over contexts, so all share one bootstrap over conversations. "Matches people" is not the
absence of a significant difference: it is an equivalence test, two one-sided tests at 5 % against a stated margin, passed when
the 90 % interval of the difference lies inside it. It compares equal things: the judges' majority with *one* person, and one
person with another. (Majority with majority, the paper's 78.7 %, is printed too, but it is not comparable to the 79.5 % between
single people.)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from harness.ranking.ballot_figures import DRAWS, Equivalence, Figure, Resampler
from harness.ranking.ballots import LABELS, Ballot, ballots, is_ambiguous, label, majority, one_cell
from harness.ranking.verdicts import axis_rows
from harness.statistics.arrays import Floats
from harness.statistics.reliability import cohen_kappa, coincidences, fleiss_kappa, fleiss_sums, krippendorff_alpha
from harness.store.judgment import AXES, Judgment

MARGIN = 0.05
"""Equivalence margin: five points of agreement."""
MOST_SUBSETS = 200
"""Number of subsets of judges, when all subsets of a size are too many to try."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """All agreement figures; None where the rows cannot give one: no people, one judge, no majority of three."""

    judge_human: Figure | None = None
    judge_human_ambiguous: Figure | None = None
    inter_human: Figure | None = None
    judges_with_one_human: Figure | None = None
    fleiss_kappa_humans: Figure | None = None
    fleiss_kappa_judges: Figure | None = None
    krippendorff_alpha_humans: Figure | None = None
    krippendorff_alpha_judges: Figure | None = None
    """Ordinal metric, on signed strengths."""
    cohen_kappa: Figure | None = None
    """Majority of judges against majority of people."""
    cross_judge: Mapping[tuple[str, str], Figure] = field(default_factory=dict)
    cross_judge_kappa: Mapping[tuple[str, str], Figure] = field(default_factory=dict)
    three_way: Mapping[tuple[str, str, str], Figure] = field(default_factory=dict)
    fleiss_kappa_by_axis: Mapping[str, Figure] = field(default_factory=dict)
    """Over all voters who marked axes; no clear advantage is a separate label."""
    subsampling: Mapping[int, float] = field(default_factory=dict)
    """Number of judges → mean agreement of their majority with people's, over subsets of that size."""
    judges_per_pair: Mapping[int, int] = field(default_factory=dict)
    """Number of judges → number of pairs of replies with so many judges."""
    equivalence: Equivalence | None = None


def agreement(judgments: Iterable[Judgment], *, draws: int = DRAWS, margin: float = MARGIN, seed: int = 0) -> Agreement:
    """All agreement figures of one set of rows (of one presentation).

    >>> from harness.store.judgment import Judgment
    >>> said = {"context": "c", "subset": "regular", "system_a": "warm", "system_b": "curt", "source": "judge", "judge": "j"}
    >>> rows = [Judgment.model_validate(said | {"context": f"c{n}", "winner": "ab"[n % 4 == 0]}) for n in range(12)]
    >>> people = [row.model_copy(update={"source": "human", "judge": name}) for row in rows for name in ("ann", "ben", "cy")]
    >>> judges = [row.model_copy(update={"judge": name}) for row in rows for name in ("j1", "j2", "j3")]
    >>> found = agreement([*people, *judges], draws=100)
    >>> found.judge_human.value, found.inter_human.value, found.equivalence.equivalent
    (1.0, 1.0, True)
    """
    rows = list(judgments)
    cast = ballots(rows)
    by_axis = {axis: _axis_kappa(rows, axis, draws, seed) for axis in AXES}
    judge_names = sorted({name for b in cast for name in b.judges})
    world = Resampler(cast, draws, seed)

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
            return one_cell(label(b.judges[names[0]]), label(b.judges[names[1]]))

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
    return None if judges is None or humans is None else one_cell(judges, humans)


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
    return Resampler(cast, draws, seed).coefficient(lambda b: _fleiss({**b.judges, **b.humans}), fleiss_kappa)


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
