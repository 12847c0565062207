"""One judge beside a few people: its agreement on winners with each of them, and the correlation of the two boards.

A pair of replies weighs the same however many people judged it. Ties count in two ways, because a judge that may not tie loses
every pair on which a person saw no difference: *with ties* as a label of their own, and *without*, where both decided. Where
the interval of κ includes 0, the judge is not distinguished from chance. The boards' correlation has no interval: systems are
few.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import spearmanr

from harness.ranking.ballot_figures import DRAWS, Figure, Resampler
from harness.ranking.ballots import LABELS, Ballot, ballots, label
from harness.ranking.leaderboard import leaderboard
from harness.statistics.arrays import Floats
from harness.statistics.reliability import cohen_kappa
from harness.store.judgment import Judgment

FEWEST_SYSTEMS: Final = 3
"""With two systems the correlation is always +1 or −1."""
TIE: Final = LABELS.index("tie")


@dataclass(frozen=True, slots=True)
class JudgeBesidePeople:
    """Agreement of one judge with the people who read the same pairs."""

    judge: str
    with_ties: Figure
    without_ties: Figure | None
    kappa: Figure | None
    """None where all verdicts are alike."""

    @property
    def at_chance(self) -> bool:
        """True if nothing distinguishes it from chance: no interval, or one that includes κ = 0."""
        return self.kappa is None or self.kappa.interval is None or self.kappa.interval[0] <= 0.0


@dataclass(frozen=True, slots=True)
class BesidePeople:
    """Judges and people over the same systems."""

    judges: tuple[JudgeBesidePeople, ...] = ()
    people_elo: Mapping[str, float] | None = None
    judges_elo: Mapping[str, float] | None = None
    board_correlation: float | None = None
    """Spearman's, over the systems that both rated; None under `FEWEST_SYSTEMS`."""


NOTHING: Final = BesidePeople()


def beside_people(judgments: Iterable[Judgment], *, draws: int = DRAWS, seed: int = 0) -> BesidePeople:
    """Every judge against the people, and the two boards; `NOTHING` where either side is missing."""
    rows = [row for row in judgments if not row.judge.startswith("rule:")]
    people, judged = ([row for row in rows if row.source == source] for source in ("human", "judge"))
    if not people or not judged:
        return NOTHING
    cast = ballots(rows)
    world = Resampler(cast, draws, seed)
    found = []
    for judge in sorted({name for b in cast for name in b.judges}):
        with_ties = world.share(_same(judge, ties=True))
        if with_ties is not None:
            kappa = world.coefficient(_confusion(judge), cohen_kappa)
            found.append(JudgeBesidePeople(judge, with_ties, world.share(_same(judge, ties=False)), kappa))
    if len({(row.condition, row.presentation) for row in rows}) > 1:
        # Boards of two conditions are two, and agreement on a pair is one all the same.
        return BesidePeople(tuple(found))
    boards = [{row.system: row.elo for row in leaderboard(side).systems if row.part == 1} for side in (people, judged)]
    both = sorted(boards[0].keys() & boards[1].keys())
    # Ratings that differ by rounding alone have no order.
    elo = [[round(board[name], 6) for name in both] for board in boards]
    ordered = len(both) >= FEWEST_SYSTEMS and all(len(set(ratings)) > 1 for ratings in elo)
    correlation = float(spearmanr(*elo).statistic) if ordered else None
    return BesidePeople(tuple(found), boards[0], boards[1], correlation)


def in_words(found: BesidePeople) -> list[str]:
    """The lines that `harness rank` prints."""
    lines = []
    for each in found.judges:
        told = f"{each.judge} with one person: {_figure(each.with_ties, '.1%')} of {each.with_ties.pairs} pairs, ties counted"
        if each.without_ties is not None:
            told += f"; {_figure(each.without_ties, '.1%')} of {each.without_ties.pairs} that both decided"
        if each.kappa is not None:
            told += f"; κ {_figure(each.kappa, '+.2f')}"
        lines.append(told + ("; not distinguished from chance" if each.at_chance else ""))
    if found.people_elo and found.judges_elo:
        for name, elo in (("people", found.people_elo), ("judges", found.judges_elo)):
            lines.append(f"by {name} alone: " + ", ".join(f"{s} {elo[s]:.0f}" for s in sorted(elo, key=lambda s: -elo[s])))
    if found.board_correlation is not None:
        lines.append(f"people's order of systems with the judges': rank correlation {found.board_correlation:+.2f}")
    return lines


def _figure(figure: Figure, form: str) -> str:
    around = "" if figure.interval is None else f" [{figure.interval[0]:{form}}, {figure.interval[1]:{form}}]"
    return f"{figure.value:{form}}{around}"


def _same(judge: str, *, ties: bool) -> Callable[[Ballot], tuple[float, float] | None]:
    def of(b: Ballot) -> tuple[float, float] | None:
        if judge not in b.judges:
            return None
        said, people = label(b.judges[judge]), [label(v) for v in b.humans.values()]
        if not ties:
            people = [] if said == TIE else [one for one in people if one != TIE]
        return (float(np.mean([one == said for one in people])), 1.0) if people else None

    return of


def _confusion(judge: str) -> Callable[[Ballot], Floats | None]:
    def of(b: Ballot) -> Floats | None:
        if judge not in b.judges or not b.humans:
            return None
        found = np.zeros((len(LABELS), len(LABELS)))
        for voice in b.humans.values():
            found[label(b.judges[judge]), label(voice)] += 1 / len(b.humans)
        return found

    return of
