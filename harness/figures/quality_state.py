"""State of the quality axis: people's, a judge's that is borne out, a judge's opinion, or none.

An Elo by a judge looks like an Elo by people, and on strangers' replies a judge may be no better than a count of words. So
every board has a state, decided here once, and every door shows it in the same words: an opinion has no frontier, no chance to
be the best and no verdict "kind". A judge's board is borne out only if each of its judges is (`judging.validation.trust`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.figures.cells import JudgeSummary, QualityState
from harness.figures.rank import Rated
from harness.ranking.elo_intervals import FEWEST_CONTEXTS
from harness.ranking.votes_needed import HALF_WIDTH_ELO, half_width_elo, minutes, votes_needed
from harness.store.judgment import is_rule
from harness.wording import command, counted, share

QUOTED: Final[frozenset[QualityState]] = frozenset({"people", "borne_out"})
"""States in which an Elo may decide anything."""
MOST_VOTES = 60
"""Votes that are proposed where no number gives ± `HALF_WIDTH_ELO`: half an hour of reading."""


def judges_here(judges: Sequence[JudgeSummary]) -> list[JudgeSummary]:
    """The judges whose verdicts are in the boards."""
    return [judge for judge in judges if judge.judgments and not is_rule(judge.id)]


def state_of(found: Rated, judges: Sequence[JudgeSummary]) -> QualityState:
    """The state of a board; `judges`: of its run."""
    mine = judges_here(judges)
    if found.people is not None:
        return "people"
    if found.board is None or not mine:
        return "none"
    return "borne_out" if all(judge.trusted for judge in mine) else "opinion"


def words_of(found: Rated, judges: Sequence[JudgeSummary]) -> str:
    """The state in one sentence without its full stop."""
    names = ", ".join(judge.id for judge in judges_here(judges))
    match state_of(found, judges):
        case "people":
            return f"Quality is people's: {found.people.in_words}" if found.people is not None else ""
        case "borne_out":
            return f"Quality is a judge's, borne out by people elsewhere ({names})"
        case "opinion":
            return f"Quality is a judge's opinion ({'; '.join(_evidence(judge) for judge in judges_here(judges))})"
        case "none":
            return "Quality is not known: nothing was judged"


def _evidence(judge: JudgeSummary) -> str:
    if judge.validated_on_people is None:
        return f"{judge.id}: not compared with people"
    over = ", no better than a rule without understanding" if judge.trust == "unlike_people" else ""
    return f"{judge.id}: right on {share(judge.validated_on_people)} of people's clear pairs{over}"


def way_to_people(run: Path, systems: int, contexts: int, words: float) -> str:
    """The way from a run to people's axis, in one sentence: the command, the votes and the minutes that they take.

    `systems`: replies that compete in each context; `words`: of one vote, the caller's last turn and two replies.
    """
    if contexts < FEWEST_CONTEXTS:
        return f"People's ratings need {FEWEST_CONTEXTS} conversations, and this run has {counted(contexts, 'conversation')}."
    if systems < 2:
        return "People's ratings need two replies to compare: play another agent, or a pack with reference replies."
    votes, wide = votes_needed(systems, contexts), HALF_WIDTH_ELO
    if votes is None:
        votes = min(MOST_VOTES, contexts * systems * (systems - 1) // 2)
        wide = half_width_elo(systems, contexts, votes)
    return (
        f"For people's own ratings vote on the page, or run {command('listen', run)}: {counted(votes, 'vote')}, about "
        f"{counted(minutes(votes, words=words), 'minute')}, for ± {wide:.0f} Elo."
    )
