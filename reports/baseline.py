"""Changes of shares since another run: paired by conversation, with intervals, regressions first.

Compared are how often a reply was preferred to the *same reference reply* of the same conversation by the same judge, and all
shares of turn-taking. Waits and Elo are compared beside these (`harness.reports.versions`): the one by turn, the other on one
board of both runs, because an Elo is relative to its board. A difference counts as one only when its interval excludes zero;
under eight shared conversations there is none. A judge's opinion (`harness.figures.quality_state`) never makes a difference
count, however sure it is; votes are compared with votes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from harness.figures.paired_runs import not_shared
from harness.figures.quality_state import QUOTED
from harness.ranking.board import QualityState
from harness.reports.changes import BaselineView, Change
from harness.reports.view import Estimate, PageView, TurnView
from harness.statistics.clustered_means import clustered_mean
from harness.store.judgment import is_reference
from harness.wording import share

ByConversation = Mapping[str, list[float]]
_RANK = {"worse": 0, "unclear": 1, "better": 2}


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure to compare. `low_is_good`: an increase is a regression."""

    name: str
    of: Callable[[PageView, str], ByConversation]
    low_is_good: bool


def compare(now: PageView, before: PageView) -> BaselineView:
    """The changes of all agents that both runs have, on the conversations that both have."""
    known = {agent.name for agent in before.agents if not agent.seat}
    judges = _judges(now) & _judges(before)
    missing = tuple(_missing(now, before))
    now, before = _judged_by(now, judges), _judged_by(before, judges)
    changes = [change for agent in now.agents if agent.name in known for change in _changes(now, before, agent.name)]
    return BaselineView(before.run, most_telling_first(changes), missing)


def renamed(view: PageView, names: Mapping[str, str]) -> PageView:
    """The view with its agents under the names of their later versions (`harness.figures.paired_runs.counterparts`)."""
    if all(name == later for name, later in names.items()):
        return view

    def of(name: str) -> str:
        return names.get(name, name)

    contexts = [
        replace(
            c,
            turns=tuple(replace(turn, agent=of(turn.agent)) for turn in c.turns),
            judgments=tuple(replace(row, system_a=of(row.system_a), system_b=of(row.system_b)) for row in c.judgments),
        )
        for c in view.contexts
    ]
    agents = tuple(replace(agent, name=of(agent.name)) for agent in view.agents)
    return replace(view, agents=agents, contexts=tuple(contexts))


def most_telling_first(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes in the order regressions, unclear, improvements."""
    return tuple(sorted(changes, key=lambda change: (_RANK[change.verdict], change.agent, change.figure)))


def _judges(view: PageView) -> set[str]:
    return {row.judge for context in view.contexts for row in context.judgments if row.counts}


def _judged_by(view: PageView, judges: set[str]) -> PageView:
    """The view with the verdicts of these judges only, because two judges differ more than two versions of an agent."""
    contexts = (
        replace(c, judgments=tuple(row for row in c.judgments if row.counts and row.judge in judges)) for c in view.contexts
    )
    return replace(view, contexts=tuple(contexts))


def _changes(now: PageView, before: PageView, agent: str) -> Iterator[Change]:
    states = {_state(now, agent), _state(before, agent)}
    # Votes and verdicts are two scales, so only rows of the source that rates both boards are compared.
    voters = _of_source(now, "people" in states), _of_source(before, "people" in states)
    for figure in _FIGURES:
        is_quality = figure.of is _preferred
        here, there = voters if is_quality else (now, before)
        new, old = figure.of(here, agent), figure.of(there, agent)
        shared = sorted(set(new) & set(old))
        if not shared:
            continue
        undecided = _undecided(states) if is_quality else ""
        difference = Estimate.of(*clustered_mean([(c, float(np.mean(new[c])) - float(np.mean(old[c]))) for c in shared]))
        yield Change(
            agent=agent,
            figure=f"{figure.name} ({undecided})" if undecided else figure.name,
            before=share(float(np.mean([v for c in shared for v in old[c]]))),
            after=share(float(np.mean([v for c in shared for v in new[c]]))),
            difference=_signed(difference.value),
            interval=" – ".join(_signed(end) for end in (difference.low, difference.high) if end is not None),
            conversations=len(shared),
            verdict="unclear" if undecided else _verdict(difference, figure.low_is_good),
        )


def _state(view: PageView, name: str) -> QualityState:
    return next(agent.whole.cell.quality_state for agent in view.agents if agent.name == name)


def _undecided(states: Set[QualityState]) -> str:
    """Reason why a difference of quality does not count; empty where it does."""
    if not states <= QUOTED:
        return "a judge's opinion"
    return "people's in one run alone" if len(states) > 1 else ""


def _of_source(view: PageView, human: bool) -> PageView:
    contexts = (replace(c, judgments=tuple(row for row in c.judgments if row.human == human)) for c in view.contexts)
    return replace(view, contexts=tuple(contexts))


def _signed(value: float | None) -> str:
    words = share(value)
    return f"+{words}" if value is not None and value > 0 else words


def _verdict(difference: Estimate, low_is_good: bool) -> Literal["worse", "better", "unclear"]:
    if difference.low is None or difference.high is None or difference.low <= 0 <= difference.high:
        return "unclear"
    rose = difference.low > 0
    return "worse" if rose == low_is_good else "better"


def _missing(now: PageView, before: PageView) -> Iterator[str]:
    here, there = ({a.name for a in view.agents if not a.seat} for view in (now, before))
    if here - there:
        yield f"Not in the baseline: {', '.join(sorted(here - there))}."
    if there - here:
        yield f"In the baseline only: {', '.join(sorted(there - here))}."
    if left_out := not_shared({c.id for c in now.contexts}, {c.id for c in before.contexts}):
        yield left_out
    if _judges(now) != _judges(before):
        yield "The runs were judged by different judges; only verdicts of judges that both have are compared."
    for view, which in ((now, "This run"), (before, "The baseline")):
        if not view.valid:
            yield f"{which} is invalid; its figures must not be quoted."


def _share_of(flags: Callable[[TurnView], Iterable[bool]]) -> Callable[[PageView, str], ByConversation]:
    def of(view: PageView, agent: str) -> ByConversation:
        found = {c.id: [float(flag) for t in c.turns if t.agent == agent for flag in flags(t)] for c in view.contexts}
        return {context: values for context, values in found.items() if values}

    return of


def _preferred(view: PageView, agent: str) -> ByConversation:
    """1 for each verdict that preferred the agent to a reference, 0.5 for a tie; verdicts with delay never count."""
    found: dict[str, list[float]] = defaultdict(list)
    for context in view.contexts:
        for row in context.judgments:
            sides = (row.system_a, row.system_b)
            if agent not in sides or row.presentation == "audio_with_delay":
                continue
            if not is_reference(sides[1 - sides.index(agent)]):
                continue
            found[context.id].append(0.5 if row.winner == "tie" else float(row.winner == "ab"[sides.index(agent)]))
    return found


_FIGURES: tuple[_Figure, ...] = (
    _Figure("Preferred to references", _preferred, False),
    _Figure("Cut-ins", _share_of(lambda turn: [turn.cut_in] if turn.spoken_end_ms is not None else []), True),
    _Figure("Pauses cut", _share_of(lambda turn: [pause.name == "cut" for pause in turn.pauses]), True),
    _Figure("No reply", _share_of(lambda turn: [turn.no_reply] if turn.status == "finished" else []), True),
    _Figure("Failed sessions", _share_of(lambda turn: [turn.status == "failed"]), True),
)
