"""The changes of an agent since an earlier run, as a table: regressions first.

Waits and shares of turns come from `harness.turns.change`, the one "since" of page, index and gate. Two shares are of no timed
turn and are compared by the same law: how often a reply was preferred to the *same reference reply* of the same conversation by
the same rater, and failed sessions. An Elo is relative to its board and is compared apart (`harness.reports.versions`).

A difference counts only when its interval excludes zero; under eight shared conversations there is none. A judge's opinion
(`harness.figures.quality_state`) never makes a difference count, however sure it is; votes are compared with votes.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from harness.figures.latency import differs, filler_first
from harness.figures.quality_state import QUOTED
from harness.ranking.board import QualityState
from harness.statistics.interval import FEWEST_CLUSTERS, TAIL
from harness.statistics.paired import MeanChange
from harness.store.judgment import is_reference
from harness.store.selection import WITH_DELAY, Selection
from harness.timing.figures import NO_REPLY_TEXT
from harness.turns import TurnTable, change, estimate
from harness.turns.catalogue import LATENCIES
from harness.turns.change import Change, Verdict, verdict_of
from harness.turns.speakers import bunch_of, speakers_of
from harness.wording import milliseconds, share

SHARES: Final = {
    "cut_in_rate": "Cut-ins",
    "pauses_cut_share": "Pauses cut",
    "false_start_rate": "False starts",
    "no_reply_rate": "No reply",
}
"""Shares of turns, with their titles; a marked pause that is cut is a false start too."""
Shares = Mapping[tuple[str, ...], float]
"""(conversation, …) → a share of what was asked of it."""
_RANK: Final = {"worse": 0, "unclear": 1, "better": 2}


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One figure of one agent against an earlier run, paired by conversation.

    `verdict`: `worse` or `better` if the interval of the difference excludes zero, `unclear` if it contains it or there are
    too few conversations for one. `own`: the two ends of the difference had the machines been their own, where they differ.
    """

    agent: str
    figure: str
    before: str
    after: str
    difference: str
    interval: str
    conversations: int
    verdict: Verdict
    own: str = ""


@dataclass(frozen=True, slots=True)
class BaselineView:
    """The changes since another run.

    `versions`: each agent on both axes, in a sentence. `missing`: reasons why an agent or conversation could not be compared.
    """

    run: str
    changes: tuple[ChangeRow, ...]
    missing: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One agent of one run in one condition, on the conversations that both runs have. `turns`: its rows."""

    selection: Selection
    agent: str
    condition: str
    contexts: frozenset[str]
    turns: TurnTable
    quality: QualityState = "none"

    def answer_differs(self) -> bool:
        """True if over 5 % of the replies do not begin with their answer."""
        return differs(filler_first(self.turns))


def changed(now: TurnTable, before: TurnTable, figure: str) -> Change | None:
    """The change of a figure between two versions, turn by turn; None under eight conversations that both have. One speaker is
    one observation where the speakers are known."""
    found = change(now, before, figure, cluster="speaker")
    return found if found is not None and found.paired else None


def most_telling_first(rows: Iterable[ChangeRow]) -> tuple[ChangeRow, ...]:
    """The rows in the order regressions, unclear, improvements."""
    return tuple(sorted(rows, key=lambda row: (_RANK[row.verdict], row.agent, row.figure)))


def changes(now: Version, before: Version) -> Iterator[ChangeRow]:
    """The change of every figure that both have. Under eight conversations a wait has no row, and a share no interval."""
    yield from _preferred(now, before)
    yield from (row for key, title in SHARES.items() for row in _of_turns(now, before, key, title, _SHARE))
    yield from _failed(now, before)
    for figure in (each for each in LATENCIES if each.drawn):
        yield from _of_turns(now, before, figure.paths[0], figure.title.split(":")[0], _MS)


def apart(ends: tuple[float, float], least: float) -> bool:
    """True if the ends of a change are so far apart that a reader sees it."""
    return ends[0] != ends[1] and ends[1] - ends[0] >= least


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit in words. `least`: two ends that are closer look alike."""

    words: Callable[[float], str]
    signed: Callable[[float], str]
    least: float


def _wait(value_ms: float) -> str:
    return milliseconds(value_ms) if math.isfinite(value_ms) else f"over {NO_REPLY_TEXT}"


def signed_ms(value_ms: float) -> str:
    """`+62 ms`; for an infinite change the words of a reply that was lost or gained."""
    if math.isinf(value_ms):
        return "no reply any more" if value_ms > 0 else "a reply again"
    value_ms = float(round(value_ms)) or 0.0  # never a minus zero
    return f"{'+' if value_ms > 0 else ''}{milliseconds(value_ms)}"


def _signed_share(value: float) -> str:
    return f"{'+' if value > 0 else ''}{share(value)}".replace("-", "−")


_MS: Final = _Unit(_wait, signed_ms, 1.0)
_SHARE: Final = _Unit(share, _signed_share, 0.005)


def _of_turns(now: Version, before: Version, path: str, title: str, unit: _Unit) -> Iterator[ChangeRow]:
    old, new = (estimate(each.turns, path, cluster="speaker") for each in (before, now))
    found = changed(now.turns, before.turns, path)
    if old is not None and new is not None and (found is not None or unit is _SHARE):
        yield _row(now.agent, title, unit, old.value, new.value, found, contexts=new.contexts)


def _row(
    agent: str, figure: str, unit: _Unit, old: float, new: float, found: Change | None, *, contexts: int, sign: int = 1
) -> ChangeRow:
    """`contexts`: clusters where there is no change; `sign`: −1 where more is better."""
    row = partial(ChangeRow, agent, figure, unit.words(old), unit.words(new))
    if found is None:
        return row(unit.signed(new - old), "", contexts, "unclear")
    bounds = found.bounds(TAIL)
    ends = [unit.signed(end) for end in sorted(sign * end for end in found.ends)]
    interval = " – ".join(unit.signed(end) for end in sorted(sign * end for end in bounds) if math.isfinite(end))
    own = " to ".join(ends) if apart(found.ends, unit.least) else ""
    return row(unit.signed(sign * found.value), interval, found.contexts, verdict_of(bounds), own)


def _failed(now: Version, before: Version) -> Iterator[ChangeRow]:
    def of(version: Version) -> Shares:
        sessions = [s for s in version.selection.of(version.agent, version.condition) if s.key.context_id in version.contexts]
        return {(s.key.context_id, str(s.key.repeat)): float(s.status == "failed") for s in sessions}

    speakers = speakers_of(now.selection.contexts)
    clusters = {context.id: bunch_of(context.id, speakers) for context in now.selection.contexts}
    yield from _compared(now.agent, "Failed sessions", of(now), of(before), clusters)


def _preferred(now: Version, before: Version) -> Iterator[ChangeRow]:
    states = {now.quality, before.quality}
    undecided = _undecided(states)
    # Votes and verdicts are two scales, so only rows of the source that rates both boards are compared.
    source = "human" if "people" in states else "judge"
    title = f"Preferred to references ({undecided})" if undecided else "Preferred to references"
    for row in _compared(now.agent, title, _preferences(now, source), _preferences(before, source), {}, sign=-1):
        yield replace(row, verdict="unclear") if undecided else row


def _preferences(version: Version, source: str) -> Shares:
    """Conversation, rater and reference → share of the verdicts that preferred the agent, a tie counting half."""
    found: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in version.selection.verdicts:
        sides = (row.system_a, row.system_b)
        if row.source != source or row.condition != version.condition or row.context not in version.contexts:
            continue
        if row.purpose != "main" or row.presentation == WITH_DELAY or version.agent not in sides:
            continue
        mine = sides.index(version.agent)
        if is_reference(sides[1 - mine]):
            won = 0.5 if row.winner == "tie" else float(row.winner == "ab"[mine])
            found[row.context, row.judge, sides[1 - mine]].append(won)
    return {pair: float(np.mean(won)) for pair, won in found.items()}


def _undecided(states: Set[QualityState]) -> str:
    """Reason why a difference of quality does not count; empty where it does."""
    if not states <= QUOTED:
        return "a judge's opinion"
    return "people's in one run alone" if len(states) > 1 else ""


def _compared(
    agent: str, figure: str, now: Shares, before: Shares, clusters: Mapping[str, str], *, sign: int = 1
) -> Iterator[ChangeRow]:
    """The change of a share that is of no timed turn, over what both versions have. `clusters`: conversation → its cluster."""
    gained: dict[str, list[float]] = defaultdict(list)
    both = sorted(set(now) & set(before))
    for context, *rest in both:
        gained[clusters.get(context, context)].append(sign * (now[context, *rest] - before[context, *rest]))
    if not both:
        return
    sums, counts = (np.array([of(each) for each in gained.values()], np.float64) for of in (sum, len))
    change = MeanChange(sums, counts)
    found = Change(figure, change, change, change, paired=True) if change.contexts >= FEWEST_CLUSTERS else None
    old, new = (float(np.mean([each[key] for key in both])) for each in (before, now))
    yield _row(agent, figure, _SHARE, old, new, found, contexts=change.contexts, sign=sign)
