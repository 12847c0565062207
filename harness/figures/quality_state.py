"""State of the quality axis: people's, a judge's that is borne out, a judge's opinion, or none.

An Elo by a judge looks like an Elo by people, and on strangers' replies a judge may be no better than a count of words. So
every board has a state, decided here once, and every door shows it in the same words: an opinion has no frontier, no chance to
be the best and no verdict "kind". A judge's board is borne out only if each of its judges is (`judging.validation.trust`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from harness.ranking.board import QualityState
from harness.ranking.peoples_axis import PeoplesAxis
from harness.ranking.ranking import Ranking

if TYPE_CHECKING:  # summaries load the judges, whom a file of judgments does not need
    from harness.figures.cells import JudgeSummary

QUOTED: Final[frozenset[QualityState]] = frozenset({"people", "borne_out"})
"""States in which an Elo may decide anything."""


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
