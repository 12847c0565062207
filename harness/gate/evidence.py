"""The figures that a limit can name, and the evidence that a run has for each.

A figure is named by its dotted path in `cells`, and computed from the same turns, verdicts and words. Only figures are
included whose error can be stated far out in the tails, so "no reply" is limited as a share of turns. The quality figures are
people's where their votes give a board, and judges' elsewhere; the prefix `people.` asks for people's alone. A judge's opinion
has a figure, and decides nothing. Where speakers are known, one speaker is one observation in every figure but those of
quality.
"""

from collections.abc import Collection, Sequence
from functools import cached_property, lru_cache, partial
from typing import Final, cast

import numpy as np

from harness.figures.head_to_head import preferences
from harness.figures.judges import judge_summaries
from harness.figures.latency import differs, filler_first, mean_others
from harness.figures.one_reply import is_one_for_all
from harness.figures.quality_state import state_of, words_of
from harness.figures.rank import Place, contexts_of, people_or_why
from harness.figures.session_figures import Pair, heard_pairs, one_for_all, understood_pairs, unspoken_chances, word_errors
from harness.figures.uncounted_votes import uncounted_votes
from harness.ranking.board import Board
from harness.ranking.board_rows import judges_of
from harness.ranking.elo_bounds import EloOverReference
from harness.ranking.head_to_head import HeadToHead
from harness.ranking.leaderboard import leaderboard
from harness.ranking.peoples_axis import PeoplesAxis
from harness.statistics.bounds import Evidence, Share, Worsening, share_of_flags
from harness.store.judgment import Judgment, Presentation
from harness.store.judgment_table import table_of
from harness.store.selection import HEARD, Selection
from harness.store.session import Session
from harness.store.unspoken import Reason, summed, unspoken_of
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.turns import TurnTable, change, estimate
from harness.turns.catalogue import BY_PATH, Unit
from harness.turns.estimate import named
from harness.turns.of_run import table_of_run
from harness.turns.speakers import bunch_of, bunches, by_speaker, speakers_of
from harness.wording import counted, milliseconds

PEOPLE: Final = "people."
PREFERRED: Final = "preferred_over."
"""Before the name of another agent: people's preference to it (`harness.ranking.head_to_head`)."""
_OVER: Final = "elo_over."
PREFIXES: Final = (_OVER, PEOPLE + _OVER)
_WORD_ERRORS: Final = ("understood_wer", "heard_wer")
_UNSPOKEN: Final = "unspoken_share"
_OF_SESSIONS: Final = (*_WORD_ERRORS, _UNSPOKEN)
"""Figures that are of sessions and not of timed turns."""


def unit_of(figure: str) -> Unit | None:
    """The unit of a figure; None if it cannot be limited."""
    if is_preference(figure):
        return "share"
    if any(figure.startswith(prefix) and len(figure) > len(prefix) for prefix in PREFIXES):
        return "elo"
    return BY_PATH[figure].unit if figure in BY_PATH else None


def is_preference(figure: str) -> bool:
    """True if the figure is people's preference to another agent."""
    return figure.startswith(PREFERRED) and len(figure) > len(PREFERRED)


def is_rating(figure: str) -> bool:
    """True if the figure comes from comparisons of replies."""
    return unit_of(figure) == "elo" or is_preference(figure) or figure.removeprefix(PEOPLE) == "win_rate"


def is_peoples(figure: str) -> bool:
    """True if votes of people alone give the figure."""
    return figure.startswith(PEOPLE) or is_preference(figure)


def is_of_turns(figure: str) -> bool:
    """True for a time or a share of timed turns: a figure with a low and a high end."""
    return not is_rating(figure) and figure not in _OF_SESSIONS


def lower_is_better(figure: str) -> bool:
    """True if a lower value of the figure is better."""
    return unit_of(figure) != "elo" and not BY_PATH[figure].higher_is_better


def has_no_need_of_sound(figure: str) -> bool:
    """True if a text model can have the figure."""
    return is_rating(figure) or "sound" not in BY_PATH[figure].needs


class Cells:
    """The evidence for each figure in the cells of one run.

    `contexts`: only these conversations (for a baseline). `at_fault`: sessions whose turns may have had any value, because the
    harness was at fault in them.
    """

    def __init__(
        self, selection: Selection, contexts: frozenset[str] | None = None, at_fault: Collection[str] = frozenset()
    ) -> None:
        self._selection = selection
        self._only = contexts
        self._at_fault = at_fault
        self._judges = judge_summaries(selection)
        self._speakers = speakers_of(selection.contexts)
        self._board = lru_cache(maxsize=None)(self._fit)
        self._people = lru_cache(maxsize=None)(partial(people_or_why, selection))

    @cached_property
    def _table(self) -> TurnTable:
        return table_of_run(self._selection).with_unknown(self._at_fault)

    def turns(self, agent: str, place: Place) -> TurnTable:
        """The turns of one cell."""
        return self._table.where({"agent": agent, "condition": place.condition, "context": self._inside(place)})

    def others(self, agent: str, place: Place) -> tuple[tuple[str, float], ...]:
        """The programs that ran most beside an agent, and how many cores each had, on average over the turns of the cell."""
        inside = self._inside(place)
        turns = [t for s, timed in self._selection.timed(agent, place.condition) if s.key.context_id in inside for t in timed]
        return tuple(mean_others(turns))

    def watched(self, figure: str, agent: str, place: Place) -> bool:
        """True if the part of others was measured in every turn that gives a figure."""
        if not is_of_turns(figure):
            return False
        turns = self.turns(agent, place)
        return bool(turns.flags["watched"][turns.given(named(figure)[0]).row].all())

    def undecided_quality(self, figure: str, agent: str, place: Place) -> str:
        """Reason why a figure of quality decides nothing, in one sentence without its full stop: it is a judge's opinion, or a
        judge's of an agent with one reply for all. Empty where it decides, and for every other figure."""
        if not is_rating(figure) or is_peoples(figure):
            return ""
        axis, names = self._raters(place)
        if axis is None and is_one_for_all(one_for_all(self._sessions(agent, place))):
            return f"{agent} gives nearly the same reply to every caller, which a judge cannot notice"
        return words_of(axis, names, self._judges) if state_of(axis, names, self._judges) == "opinion" else ""

    def over_speakers(self, figure: str) -> bool:
        """True if one speaker, and not one conversation, is one observation of the figure."""
        return bool(self._speakers) and not is_rating(figure)

    def conversations_a_speaker(self, place: Place) -> float:
        """Mean number of conversations of a speaker."""
        inside = self._inside(place)
        return len(inside) / max(bunches(inside, self._speakers), 1)

    def scale(self, figure: str, place: Place) -> str:
        """The scale of a figure of quality, by those who rate: people on one presentation, or these judges. Empty for every
        other figure. Ratings of two scales have no difference."""
        if not is_rating(figure):
            return ""
        axis, names = self._raters(place)
        return ", ".join(names) if axis is None else f"people's votes ({axis.board.presentation})"

    def presentation(self, figure: str, agent: str, place: Place) -> str | None:
        """How the replies of a figure of quality met their raters; None where there were none."""
        if is_preference(figure):
            found = self.preference(agent, figure.removeprefix(PREFERRED), place)
            return None if found is None else found.presentation
        axis, names = self._raters(place)
        return axis.board.presentation if axis is not None else HEARD if names and not is_peoples(figure) else None

    def _raters(self, place: Place) -> tuple[PeoplesAxis | None, tuple[str, ...]]:
        """People's axis, or else the judges whose verdicts rate the replies."""
        inside = self._inside(place)
        axis, _ = self._people(place.condition, inside)
        return axis, judges_of(table_of(self._rows(place, inside, False))) if axis is None else ()

    def evidence(self, figure: str, agent: str, place: Place) -> Evidence | None:
        """The run's evidence for one figure; None if it has none."""
        inside = self._inside(place)
        if is_preference(figure):
            return self.preference(agent, figure.removeprefix(PREFERRED), place)
        people, name = figure.startswith(PEOPLE), figure.removeprefix(PEOPLE)
        if name.startswith(_OVER):
            return self._elo(place, inside, people, agent, name.removeprefix(_OVER))
        if name == "win_rate":
            axis, _ = self._people(place.condition, inside)
            return _wins(self._rows(place, inside, people), agent) if axis is None else _pairs_won(axis, agent)
        if name in _WORD_ERRORS:
            return self._word_errors(name, agent, place)
        if name == _UNSPOKEN:
            return share_of_flags(by_speaker(unspoken_chances(self._sessions(agent, place)), self._speakers))
        return estimate(self.turns(agent, place), name, cluster="speaker")

    def preference(self, agent: str, over: str, place: Place) -> HeadToHead | None:
        """People's preference to another agent; None if nobody voted on these two."""
        found = preferences(self._selection, place.condition, self._inside(place))
        mine = (one.oriented(agent, over) for one in found if {one.agent, one.over} == {agent, over})
        return next(mine, None)

    def why_no_vote_counts(self, place: Place) -> str:
        """The reason, where people voted and all are excluded; else empty."""
        return uncounted_votes(self._selection, place.condition, self._inside(place))[1]

    def unspoken(self, agent: str, place: Place) -> dict[Reason, int]:
        """Reason → planned turns of the cell that were never spoken."""
        return summed(map(unspoken_of, self._sessions(agent, place)))

    def _sessions(self, agent: str, place: Place) -> list[Session]:
        inside = self._inside(place)
        return [s for s in self._selection.of(agent, place.condition) if s.key.context_id in inside]

    def before_answers(self, figure: str, agent: str, place: Place) -> str:
        """Sentence on an agent's fillers and its answer, for a limit on its TTFA, without its full stop. Empty for every other
        figure, and where TTFA and answer differ on at most 5 % of the replies."""
        if figure.split(".")[0] != "ttfa_ms" and figure != "within_budget.ttfa":
            return ""
        fillers, answer = filler_first(self.turns(agent, place)), self.evidence("answer_ms.p50", agent, place)
        if answer is None or not differs(fillers):
            return ""
        begins = OVER_LIMIT_TEXT if np.isinf(answer.value) else milliseconds(answer.value)
        of = f"{fillers[0]} of {counted(fillers[1], 'reply', 'replies')}"
        return f"TTFA is of a filler on {of}, and the median answer begins at {begins}: limit answer_ms too"

    def change_from(self, before: "Cells", figure: str, agent: str, place: Place, was: str | None = None) -> Evidence | None:
        """The change of a figure since another run: positive is worse. None if one of the two does not have it.

        A figure of turns is compared turn by turn where it can be (`harness.turns.change`); of ratings and of errors of words
        two bounds are subtracted. `was`: the agent's name in that run.
        """
        was = was or agent
        if is_of_turns(figure):
            return change(self.turns(agent, place), before.turns(was, place), figure, cluster="speaker")
        new, old = self.evidence(figure, agent, place), before.evidence(figure, was, place)
        return None if new is None or old is None else Worsening(new, old, lower_is_better(figure))

    def _inside(self, place: Place) -> frozenset[str]:
        inside = contexts_of(self._selection, place)
        return inside if self._only is None else inside & self._only

    def _word_errors(self, name: str, agent: str, place: Place) -> Evidence | None:
        sessions = self._sessions(agent, place)
        contexts = {c.id: c for c in self._selection.contexts}
        pairs = heard_pairs(sessions) if name == "heard_wer" else understood_pairs(sessions, contexts)
        return _errors([(bunch_of(context, self._speakers), pair) for context, pair in pairs])

    def _elo(self, place: Place, inside: frozenset[str], people: bool, agent: str, other: str) -> Evidence | None:
        board = self._board(place, inside, people)
        if board is None or not {agent, other} <= {row.system for row in board.systems} or agent == other:
            return None
        if board[agent].part != board[other].part:
            return None
        met = {row.context for row in self._rows(place, inside, people) if {row.system_a, row.system_b} == {agent, other}}
        return EloOverReference(board, agent, other, len(met))

    def _fit(self, place: Place, inside: frozenset[str], people: bool) -> Board | None:
        axis, _ = self._people(place.condition, inside)
        if axis is not None or people:
            return None if axis is None else axis.board
        rows = self._rows(place, inside, people)
        return leaderboard(rows, seed=self._selection.manifest.seed) if rows else None

    def _rows(self, place: Place, inside: frozenset[str], people: bool) -> list[Judgment]:
        """The votes of people's axis; without one, or where no people are asked for, the verdicts of judges."""
        axis, _ = self._people(place.condition, inside)
        if axis is not None:
            on = cast(Presentation, axis.board.presentation)
            votes = [
                row for row in self._selection.rows(place.condition, on) if row.source == "human" and row.context in inside
            ]
            return [row for row in votes if row.draw_rate is not None] or votes
        if people:
            return []
        rows = self._selection.rows(place.condition, HEARD)
        return [row for row in rows if row.context in inside and row.source == "judge"]


def _wins(rows: Sequence[Judgment], agent: str) -> Evidence | None:
    """The agent's comparisons by context: 1 for a win, 0 for a loss, a half for a tie."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if agent in (row.system_a, row.system_b):
            won = row.system_a if row.winner == "a" else row.system_b
            found.setdefault(row.context, []).append(0.5 if row.winner == "tie" else float(won == agent))
    return share_of_flags(found)


def _pairs_won(axis: PeoplesAxis, agent: str) -> Evidence | None:
    """The share of its pairs that an agent wins with people: with the rates of their votes, and with silence."""
    if agent not in axis.systems:
        return None
    won, met = (figures[:, axis.systems.index(agent)] for figures in (axis.won, axis.met))
    return Share(won[met > 0], met[met > 0])


def _errors(pairs: Sequence[tuple[str, Pair]]) -> Evidence | None:
    found: dict[str, list[tuple[int, int]]] = {}
    for bunch, pair in pairs:
        found.setdefault(bunch, []).append(word_errors(pair))
    totals = np.array([np.sum(counts, axis=0) for counts in found.values()], dtype=np.float64).reshape(-1, 2)
    totals = totals[totals[:, 1] > 0]
    # More errors than words (a recogniser that hallucinates) count as all words wrong.
    return Share(np.minimum(totals[:, 0], totals[:, 1]), totals[:, 1]) if len(totals) else None
