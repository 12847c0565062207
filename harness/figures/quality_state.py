"""State of the quality axis: people's, a judge's that is borne out, a judge's opinion, or none.

An Elo by a judge looks like an Elo by people, and on strangers' replies a judge may be no better than a count of words. So
every board has a state, decided here once, and every door shows it in the same words: an opinion has no frontier, no chance to
be the best and no verdict "kind". A judge's board is borne out only if each of its judges is (`judging.validation.trust`).
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.ranking.board import QualityState
from harness.ranking.peoples_axis import PeoplesAxis
from harness.ranking.ranking import Ranking
from harness.ranking.votes_needed import HALF_WIDTH_ELO, half_width_elo, minutes, votes_needed
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.wording import command, counted

if TYPE_CHECKING:  # summaries load the judges, whom a file of judgments does not need
    from harness.figures.cells import JudgeSummary

QUOTED: Final[frozenset[QualityState]] = frozenset({"people", "borne_out"})
"""States in which an Elo may decide anything."""
MOST_VOTES = 60
"""Votes that are proposed where no number gives ± `HALF_WIDTH_ELO`: half an hour of reading."""


def state_of(people: PeoplesAxis | None, names: Sequence[str], judges: Sequence["JudgeSummary"]) -> QualityState:
    """The state of a board.

    `people`: the axis that it is; `names`: judges whose verdicts rate it; `judges`: what is known of judges, some perhaps twice
    (from two runs). A judge of whom nothing is known has an opinion.
    """
    if people is not None:
        return "people"
    if not names:
        return "none"
    borne_out = {name for name in names if (known := _of(name, judges)) and all(judge.trusted for judge in known)}
    return "borne_out" if borne_out == set(names) else "opinion"


def words_of(people: PeoplesAxis | None, names: Sequence[str], judges: Sequence["JudgeSummary"]) -> str:
    """The state of a board in one sentence without its full stop; arguments as of `state_of`."""
    if people is not None:
        return f"Quality is people's: {people.in_words}"
    match state_of(people, names, judges):
        case "borne_out":
            return f"Quality is a judge's, borne out by people elsewhere ({', '.join(names)})"
        case "opinion":
            return f"Quality is a judge's opinion ({'; '.join(_evidence(name, judges) for name in names)})"
        case _:
            return "Quality is not known: no judge rated these replies, and people's votes give no interval"


def _of(name: str, judges: Sequence["JudgeSummary"]) -> list["JudgeSummary"]:
    return [judge for judge in judges if judge.id == name]


def _evidence(name: str, judges: Sequence["JudgeSummary"]) -> str:
    known = dict.fromkeys(_figures_behind(judge) for judge in _of(name, judges))
    return f"{name}: {', '.join(known) or 'accuracy not measured'}"


def _figures_behind(judge: "JudgeSummary") -> str:
    found = judge.standing.partition(": ")[2] or "not compared with judgements of people"
    return f"{found}, but some of its verdicts here are on its own family" if judge.trust == "trusted" else found


def in_its_state(ranking: Ranking, judges: Sequence["JudgeSummary"] = ()) -> Ranking:
    """The ranking with the state of its board, and without chances where that is an opinion."""
    # Votes alone, where no judge rates the board, are people's axis rated by another model.
    people = ranking.people_votes if not ranking.judges else None
    state = state_of(people, ranking.judges, judges)
    found = ranking if state in QUOTED else ranking.without_chances
    words = words_of(people, ranking.judges, judges) if ranking.board.systems else f"No Elo yet: {ranking.people_refused}"
    return replace(found, quality_state=state, quality_words=words)


def way_to_people(run: Path, systems: int, contexts: int, replies: Collection[int], words: float) -> str:
    """The way from a run to people's axis, in one sentence: the command, the votes and the minutes that they take.

    `systems`: those that compete; `replies`: number of replies to each context that has any; `words`: of one vote, the caller's
    last turn and two replies.
    """
    if contexts < FEWEST_CLUSTERS:
        return f"People's ratings need {FEWEST_CLUSTERS} conversations, and this run has {counted(contexts, 'conversation')}."
    if systems < 2:
        return "People's ratings need two replies to compare: play another agent, or a pack with reference replies."
    both, pairs = sum(n > 1 for n in replies), sum(comb(n, 2) for n in replies)
    if both < FEWEST_CLUSTERS:
        return (
            f"People's ratings need {FEWEST_CLUSTERS} conversations with two replies, and this run has "
            f"{counted(both, 'such conversation')}."
        )
    votes = min(votes_needed(systems, both) or MOST_VOTES, pairs)
    wide = max(half_width_elo(systems, both, votes), HALF_WIDTH_ELO)
    return (
        f"For people's own ratings vote on the page, or run {command('listen', run)}: {counted(votes, 'vote')}, about "
        f"{counted(minutes(votes, words=words), 'minute')}, for ± {wide:.0f} Elo."
    )


def way_to_people_together(runs: Sequence[str], contexts: int) -> str:
    """The way to people's axis of several runs, in one sentence. `runs`: names of those whose people have not read and voted.

    How many votes that takes depends on how those of the runs meet over reference replies, so no number is promised.
    """
    if contexts < FEWEST_CLUSTERS:
        return (
            f"People's ratings need {FEWEST_CLUSTERS} conversations, and these runs have {counted(contexts, 'conversation')}."
        )
    pages = f"the page of {runs[0]}" if len(runs) == 1 else f"the pages of {', '.join(runs[:-1])} and {runs[-1]}"
    return (
        f"For people's own ratings vote on {pages} on replies to read, or run {command('listen', 'RUN', '--medium', 'text')}: "
        "reference replies connect the runs, and have no sound."
    )
