"""The figures that a limit can name, and the evidence that a run has for each.

A figure is named by its dotted path in `cells`, and is computed from the same turns, verdicts and words as the cell's own
figure. Only figures are included whose error can be stated far out in the tails. For a count that grows with the run it
cannot, so "no reply" is limited as a share of turns (`no_reply_rate`). The quality figures are
people's (`peoples_axis`) where their votes give a board, and judges' elsewhere; the prefix `people.` asks for people's alone.
A judge's opinion (`harness.figures.quality_state`) has a figure, and decides nothing. Where the speakers of recordings are
known, one speaker is one observation in every figure but those of quality (`harness.figures.speakers`).
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final, cast

import numpy as np

from harness.figures.endpointing import dead_air_values, decision_delay_values, each_inner_pause, inner_pauses_cut
from harness.figures.judges import judge_summaries
from harness.figures.latency import budget_of, chances, differs, filler_first, latency_values, within_budget_flags
from harness.figures.quality_state import state_of, words_of
from harness.figures.rank import Place, contexts_of, people_or_why
from harness.figures.speakers import bunch_of, bunches, by_speaker, speakers_of
from harness.figures.unspoken import unspoken_chances
from harness.figures.word_errors import Pair, heard_pairs, understood_pairs, word_errors
from harness.gate.disturbed import Either, cell_turns, shares, times
from harness.ranking.board import Board
from harness.ranking.chosen import judges_of
from harness.ranking.elo_bounds import EloOverReference
from harness.ranking.leaderboard import leaderboard
from harness.ranking.peoples_axis import PeoplesAxis
from harness.statistics.bounds import Evidence, Share, percentile_of, share_of_flags
from harness.statistics.paired import change_of_shares, change_of_times
from harness.store.judgment import Judgment, Presentation
from harness.store.judgment_columns import table_of
from harness.store.selection import HEARD, Selection, Turns
from harness.store.session import Session
from harness.store.unspoken import Reason, summed, unspoken_of
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.turns.catalogue import BY_PATH, Unit
from harness.wording import counted, milliseconds

PEOPLE: Final = "people."
_OVER: Final = "elo_over."
PREFIXES: Final = (_OVER, PEOPLE + _OVER)
_WITHIN: Final = "within_budget."
_WORD_ERRORS: Final = ("understood_wer", "heard_wer")
_UNSPOKEN: Final = "unspoken_share"
_OF_SESSIONS: Final = (*_WORD_ERRORS, _UNSPOKEN)
"""Figures that are of sessions and not of timed turns."""
_QUANTILE: Final = {"p50": 0.50, "p95": 0.95}
_DELAYS: Final = {"dead_air_ms": dead_air_values, "decision_delay_ms": decision_delay_values}


def unit_of(figure: str) -> Unit | None:
    """The unit of a figure; None if it cannot be limited."""
    if any(figure.startswith(prefix) and len(figure) > len(prefix) for prefix in PREFIXES):
        return "elo"
    return BY_PATH[figure].unit if figure in BY_PATH else None


def is_rating(figure: str) -> bool:
    """True if the figure comes from comparisons of replies."""
    return unit_of(figure) == "elo" or figure.removeprefix(PEOPLE) == "win_rate"


def lower_is_better(figure: str) -> bool:
    """True if a lower value of the figure is better."""
    return unit_of(figure) != "elo" and not BY_PATH[figure].higher_is_better


def has_no_need_of_sound(figure: str) -> bool:
    """True if a text model can have the figure."""
    return unit_of(figure) == "elo" or "sound" not in BY_PATH[figure].needs


class Cells:
    """The evidence for each figure in the cells of one run. `contexts`: only these conversations (for a baseline)."""

    def __init__(self, selection: Selection, contexts: frozenset[str] | None = None) -> None:
        self._selection = selection
        self._only = contexts
        self._judges = judge_summaries(selection)
        self._speakers = speakers_of(selection.contexts)
        self._board = lru_cache(maxsize=None)(self._fit)
        self._people = lru_cache(maxsize=None)(partial(people_or_why, selection))

    def undecided_quality(self, figure: str, place: Place) -> str:
        """Reason why a figure of quality decides nothing, in one sentence without its full stop: it is a judge's opinion. Empty
        where it decides, and for every other figure."""
        if not is_rating(figure) or figure.startswith(PEOPLE):
            return ""
        axis, names = self._raters(place)
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

    def _raters(self, place: Place) -> tuple[PeoplesAxis | None, tuple[str, ...]]:
        """People's axis, or else the judges whose verdicts rate the replies."""
        inside = self._inside(place)
        axis, _ = self._people(place.condition, inside)
        return axis, judges_of(table_of(self._rows(place, inside, False))) if axis is None else ()

    def evidence(self, figure: str, agent: str, place: Place) -> Evidence | None:
        """The run's evidence for one figure; None if it has none."""
        inside = self._inside(place)
        people, name = figure.startswith(PEOPLE), figure.removeprefix(PEOPLE)
        if name.startswith(_OVER):
            return self._elo(place, inside, people, agent, name.removeprefix(_OVER))
        if name == "win_rate":
            axis, _ = self._people(place.condition, inside)
            return _wins(self._rows(place, inside, people), agent) if axis is None else _pairs_won(axis, agent)
        if name in _WORD_ERRORS:
            return self._word_errors(name, agent, place.condition, inside)
        if name == _UNSPOKEN:
            return share_of_flags(by_speaker(unspoken_chances(self._sessions(agent, place)), self._speakers))
        turns = by_speaker(self._turns(agent, place.condition, inside), self._speakers)
        if _is_time(name):
            return percentile_of(_times(turns, name), _QUANTILE[name.split(".")[1]])
        return share_of_flags(self._flags(turns, name))

    def unspoken(self, agent: str, place: Place) -> dict[Reason, int]:
        """Reason → planned turns of the cell that were never spoken."""
        return summed(map(unspoken_of, self._sessions(agent, place)))

    def _sessions(self, agent: str, place: Place) -> list[Session]:
        inside = self._inside(place)
        return [s for s in self._selection.of(agent, place.condition) if s.key.context_id in inside]

    def in_spite_of_disturbance(self, figure: str, agent: str, place: Place, at_fault: Collection[str]) -> Either | None:
        """The evidence on a time or a share whatever its disturbed turns would have given (`harness.gate.disturbed`). None for
        every other figure, and if the run does not have it. `at_fault`: sessions in which the harness was at fault."""
        if is_rating(figure) or figure in _OF_SESSIONS:
            return None
        inside = self._inside(place)
        timed = [(s, t) for s, t in self._selection.timed(agent, place.condition) if s.key.context_id in inside]
        speaker = partial(bunch_of, speakers=self._speakers)
        if not _is_time(figure):
            return shares(cell_turns(timed, at_fault, speaker), lambda groups: self._flags(groups, figure))
        name, share = figure.split(".")
        name = name.removesuffix("_ms")
        turns = cell_turns(timed, at_fault, speaker, name)
        return times(turns, lambda groups: _times(groups, figure), name, _QUANTILE[share])

    def before_answers(self, figure: str, agent: str, place: Place) -> str:
        """Sentence on an agent's fillers and its answer, for a limit on its TTFA, without its full stop. Empty for every other
        figure, and where TTFA and answer differ on at most 5 % of the replies."""
        if figure.split(".")[0] != "ttfa_ms" and figure != "within_budget.ttfa":
            return ""
        turns = self._turns(agent, place.condition, self._inside(place))
        return filler_note(filler_first(turns), self.evidence("answer_ms.p50", agent, place))

    def change_from(self, before: "Cells", figure: str, agent: str, place: Place, was: str | None = None) -> Evidence | None:
        """The change of a figure since another run, paired turn by turn: positive is worse. None where it cannot be paired: a
        p95, errors of words, ratings, and under eight conversations that both runs have. `was`: the agent's name in that run.
        """
        if is_rating(figure) or figure in _OF_SESSIONS or figure.endswith(".p95"):
            return None
        runs = []
        for cells, name in ((self, agent), (before, was or agent)):
            turns = cells._turns(name, place.condition, cells._inside(place))
            each = {(c, k): [turn] for c, group in turns.items() for k, turn in enumerate(group)}
            runs.append(({c: len(group) for c, group in turns.items()}, {_turn_name(*key): turn for key, turn in each.items()}))
        (lengths, now), (lengths_before, then) = runs
        # A lost session leaves its conversation without its later turns: which of the others belong together is then not known.
        alike = {c for c, n in lengths.items() if lengths_before.get(c) == n}
        now, then = ({name: turn for name, turn in run.items() if _context_of(name) in alike} for run in (now, then))

        def bunch(turn: str) -> str:
            return bunch_of(_context_of(turn), self._speakers)

        if _is_time(figure):
            return change_of_times(_times(now, figure), _times(then, figure), bunch)
        if figure == "pauses_cut_share":  # pause by pause: after one that is cut there are some in which nobody could choose
            return change_of_shares(each_inner_pause(now), each_inner_pause(then), bunch, lower_is_better=True)
        better = lower_is_better(figure)
        return change_of_shares(self._flags(now, figure), before._flags(then, figure), bunch, lower_is_better=better)

    def _turns(self, agent: str, condition: str, inside: frozenset[str]) -> Turns:
        return {c: g for c, g in self._selection.turns(agent, condition).items() if c in inside}

    def _inside(self, place: Place) -> frozenset[str]:
        inside = contexts_of(self._selection, place)
        return inside if self._only is None else inside & self._only

    def _flags(self, turns: Turns, name: str) -> Mapping[str, Sequence[float]]:
        if name.startswith(_WITHIN):
            figure = name.removeprefix(_WITHIN)
            return within_budget_flags(turns, figure, budget_of(figure, self._selection.manifest.budgets_ms))
        return inner_pauses_cut(turns) if name == "pauses_cut_share" else chances(turns, name)

    def _word_errors(self, name: str, agent: str, condition: str, inside: frozenset[str]) -> Evidence | None:
        sessions = [s for s in self._selection.of(agent, condition) if s.key.context_id in inside]
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


def filler_note(fillers: tuple[int, int], answer: Evidence | None) -> str:
    """Sentence beside a limit on TTFA, without its full stop; empty where TTFA and answer differ on at most 5 % of the replies.
    `fillers`: replies that begin with one, and all; `answer`: evidence of its median."""
    if answer is None or not differs(fillers):
        return ""
    begins = OVER_LIMIT_TEXT if np.isinf(answer.value) else milliseconds(answer.value)
    of = f"{fillers[0]} of {counted(fillers[1], 'reply', 'replies')}"
    return f"TTFA is of a filler on {of}, and the median answer begins at {begins}: limit answer_ms too"


def _is_time(name: str) -> bool:
    return "." in name and not name.startswith(_WITHIN)


def _times(turns: Turns, name: str) -> Mapping[str, Sequence[float]]:
    figure = name.split(".")[0]
    return _DELAYS[figure](turns) if figure in _DELAYS else latency_values(turns, figure.removesuffix("_ms"))


def _turn_name(context: str, number: int) -> str:
    return f"{context} {number}"  # no context's id has a space


def _context_of(turn: str) -> str:
    return turn.rpartition(" ")[0]


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
