"""A version of an agent against an earlier one on the same callers: how much slower, and how much kinder, each with its
interval.

Both halves are paired by conversation. A wait is compared with the wait on the same turn (`harness.turns.change`). An Elo
is relative to its board, so the two versions are rated on *one* board, of both runs' verdicts, where the baseline's agent has
a name of its own; the covariance of that fit is clustered by conversation, so the part that a conversation has in both
versions cancels in their difference. That takes verdicts of one judge on both, against the same reference replies, or
people's votes on both (`several_runs`). Where neither is there, the change of kindness is not known, and the reason says how
to get it. A judge's opinion may have changed; that is no claim on kindness.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from harness.figures.paired_runs import counterparts, not_shared, refuse_other_callers, shared_ids
from harness.figures.quality_state import QUOTED, state_of
from harness.figures.summary import RunSummary
from harness.figures.validity import NOT_TO_BE_QUOTED
from harness.ranking.board import Board, QualityState
from harness.ranking.board_rows import judges_of
from harness.ranking.leaderboard import leaderboard
from harness.reports.changes import ChangeRow, Version, apart, changed, changes, signed_ms
from harness.reports.runs_differ import differences
from harness.reports.several_runs import joint_rows, peoples_axis, way_to_people
from harness.reports.shown_runs import Names, Part, only_condition, part
from harness.reports.view import UNKNOWN, Estimate
from harness.statistics.interval import FEWEST_CLUSTERS, TAIL
from harness.store.judgment_table import table_of
from harness.store.run_store import RunStore
from harness.turns import estimate
from harness.turns.of_run import table_of_run
from harness.turns.speakers import speakers_of
from harness.wording import UNKNOWN_TEXT, counted

Run = tuple[RunStore, RunSummary]
NOW, BEFORE = "this run", "the baseline"
_SAID_ELSEWHERE: Final = frozenset({"Conversations", "Validity"})


@dataclass(frozen=True, slots=True)
class Kinder:
    """The change of a rating in Elo, positive is kinder; without a value, `why_not` has the reason."""

    elo: Estimate = UNKNOWN
    conversations: int = 0
    state: QualityState = "none"
    raters: str = ""
    why_not: str = ""

    @property
    def words(self) -> str:
        """The change in words: `kinder by 48 Elo [12, 85] by people's votes`."""
        found = self.elo
        if found.value is None:
            return f"kindness {UNKNOWN_TEXT} ({self.why_not})"
        if self.state not in QUOTED:
            opinion = f"a judge's opinion changed by {_rounded(found.value, '+')} Elo{_band(found)}"
            return f"{opinion}, which is no claim on kindness"
        by = "by people's votes" if self.state == "people" else f"by {self.raters}, borne out by people elsewhere"
        return f"{_in_words(found, 'Elo', 'kindness', 'kinder by {} Elo', 'less kind by {} Elo')} {by}"


@dataclass(frozen=True, slots=True)
class Slower:
    """The median change of a wait in ms, positive is slower; without a value, `why_not` has the reason. `ends`: the least and
    the greatest that two machines of their own would have given."""

    figure: Literal["TTFA", "TTFT", "answer"] = "TTFA"
    ms: Estimate = UNKNOWN
    ends: tuple[float, float] = (0.0, 0.0)
    observations: str = ""
    """`12 shared conversations`."""
    why_not: str = ""

    @property
    def words(self) -> str:
        """The change in words: `62 ms slower [95 %: 40 to 85] on 12 shared conversations`."""
        found = self.ms
        if found.value is None:
            return f"{self.figure} {UNKNOWN_TEXT} ({self.why_not})"
        on = f"on {self.observations}{' (of the answer, after a filler)' if self.figure == 'answer' else ''}"
        if apart(self.ends, 1.0):
            on += f", {signed_ms(self.ends[0])} to {signed_ms(self.ends[1])} had the machines been their own"
        if math.isinf(found.value):
            return f"half of the turns {'lost' if found.value > 0 else 'gained'} their reply {on}"
        return f"{_in_words(found, 'ms', self.figure, '{} ms slower', '{} ms faster')} {on}"


@dataclass(frozen=True, slots=True)
class VersionChange:
    """One agent in one condition against its counterpart in the baseline."""

    agent: str
    was: str
    condition: str
    slower: Slower
    kinder: Kinder
    rows: tuple[ChangeRow, ...] = ()
    """Every figure that both versions have, for a table."""
    several_conditions: bool = False

    @property
    def words(self) -> str:
        """Both halves, in one sentence without its full stop."""
        against = "" if self.was == self.agent else f" against {self.was}"
        on = f" ({self.condition})" if self.several_conditions else ""
        return f"{self.agent}{against}{on}: {self.slower.words}; {self.kinder.words}"

    def as_object(self) -> dict[str, Any]:
        """The change for programs; an end that is not known is null."""
        return {
            "agent": self.agent,
            "baseline_agent": self.was,
            "condition": self.condition,
            "words": self.words,
            "slower_ms": _numbers(self.slower.ms)
            | {
                "range": [_finite(end) for end in self.slower.ends] if self.slower.ms.value is not None else None,
                "figure": self.slower.figure.lower(),
                "on": self.slower.observations,
                "why_not": self.slower.why_not or None,
            },
            "kinder_elo": _numbers(self.kinder.elo)
            | {
                "conversations": self.kinder.conversations,
                "state": self.kinder.state,
                "raters": self.kinder.raters or None,
                "why_not": self.kinder.why_not or None,
            },
        }


@dataclass(frozen=True, slots=True)
class Versions:
    """The changes of all agents, and notes on the comparison: conversations left out, other circumstances, the way to votes."""

    run: str
    changes: tuple[VersionChange, ...]
    notes: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The changes and then the notes, for a reader."""
        return (*(f"{change.words}." for change in self.changes), *self.notes)

    def as_object(self) -> dict[str, Any]:
        """The comparison for programs."""
        return {"run": self.run, "changes": [change.as_object() for change in self.changes], "notes": list(self.notes)}


def versions(now: Run, before: Run) -> Versions:
    """The changes of a run's agents since a baseline.

    Raises:
        UserError: the two runs' callers are not the same.
    """
    (store, _), (earlier, _) = now, before
    manifest, then = store.manifest, earlier.manifest
    refuse_other_callers(earlier, manifest, store.contexts_as_played())
    agents, shared = counterparts(manifest, then), shared_ids(manifest, then)
    both = [condition for condition in manifest.conditions if condition in then.conditions]
    parts = _parts(now, before)
    turns = [table_of_run(each.selection) for each in parts]
    found = []
    for condition in both:
        for agent, was in agents.items():
            pair = [
                Version(
                    each.selection, name, condition, shared,
                    table.where({"agent": name, "condition": condition, "context": shared}),
                    next(c.quality_state for c in each.summary.whole if (c.agent, c.condition) == (name, condition)),
                )
                for each, name, table in zip(parts, (agent, was), turns, strict=True)
            ]  # fmt: skip
            slower = _slower(*pair, spoken=_spoken(store, agent) and _spoken(earlier, was))
            kinder = _kinder(parts, agent, was, condition, shared)
            found.append(VersionChange(agent, was, condition, slower, kinder, tuple(changes(*pair)), len(both) > 1))
    return Versions(str(earlier.folder), tuple(found), tuple(_notes(parts, found, shared)))


def _parts(now: Run, before: Run) -> tuple[Part, Part]:
    """Both runs, with the baseline's agents under names of their own."""
    (store, summary), (earlier, theirs) = now, before
    unsaid = only_condition([*store.manifest.conditions, *earlier.manifest.conditions])
    here = Names({agent.name: "" for agent in store.manifest.agents}, unsaid)
    there = Names({agent.name: "baseline" for agent in earlier.manifest.agents}, unsaid)
    return part(store, summary, NOW, here), part(earlier, theirs, BEFORE, there)


def _spoken(store: RunStore, name: str) -> bool:
    return all(agent.kind != "text" for agent in store.manifest.agents if agent.name == name)


def _slower(now: Version, before: Version, *, spoken: bool) -> Slower:
    figure: Literal["TTFA", "TTFT", "answer"] = "TTFA" if spoken else "TTFT"
    both = (now, before)
    if any(each.answer_differs() for each in both) and all(estimate(each.turns, "answer_ms.p50") for each in both):
        figure = "answer"  # A filler that a version gains or loses says nothing of its answer.
    path = f"{figure.lower()}_ms.p50"
    change = changed(now.turns, before.turns, path)
    if change is None:
        missing = [which for which, each in zip((NOW, BEFORE), both, strict=True) if estimate(each.turns, path) is None]
        why = f"{missing[0]} has none" if missing else f"under {FEWEST_CLUSTERS} shared conversations there is no interval"
        return Slower(figure, why_not=why)
    low, high = change.bounds(TAIL)
    what = "speaker" if speakers_of(now.selection.contexts) else "shared conversation"
    ms = Estimate(change.value, _finite(low), _finite(high))
    return Slower(figure, ms, change.ends, counted(change.contexts, what))


def _kinder(parts: tuple[Part, Part], agent: str, was: str, condition: str, shared: frozenset[str]) -> Kinder:
    now, before = parts
    names = now.names.of(agent, condition), before.names.of(was, condition)
    known = [judge for each in parts for judge in each.summary.judges]
    axis, refused = peoples_axis(parts, condition, shared)
    if axis is not None and set(names) <= set(axis.systems):
        return _difference(axis.board, names, state_of(axis, (), known), "people's votes")
    rows, why_not = joint_rows(parts, condition, shared)
    if why_not:
        return Kinder(why_not=_clause(why_not))
    rows = [row for row in rows if row.source == "judge"]
    systems = {system for row in rows for system in (row.system_a, row.system_b)}
    lacking = [each.label for each, name in zip(parts, names, strict=True) if name not in systems]
    if lacking:
        votes = f"; by people: {refused}" if refused else ""
        return Kinder(why_not=f"nobody judged {' or '.join(lacking)} on the shared conversations{votes}")
    judges = judges_of(table_of(rows))
    board = leaderboard(rows, source="judge", seed=now.store.manifest.seed)
    return _difference(board, names, state_of(None, judges, known), ", ".join(judges))


def _difference(board: Board, names: tuple[str, str], state: QualityState, raters: str) -> Kinder:
    one, other = (board[name] for name in names)
    if one.part != other.part:
        return Kinder(why_not="no verdict connects the two versions, directly or over a reference reply")
    fewest = min(one.contexts, other.contexts)
    found = board.difference(*names)
    if found.quoted is None:
        why = (
            f"{counted(fewest, 'conversation')} with verdicts on both, and an interval needs {FEWEST_CLUSTERS}"
            if fewest < FEWEST_CLUSTERS
            else "one of the two won or lost every comparison, so that its rating has no bound"
        )
        return Kinder(conversations=fewest, state=state, raters=raters, why_not=why)
    return Kinder(Estimate.of(found.elo, found.interval), fewest, state, raters)


def _notes(parts: tuple[Part, Part], found: Sequence[VersionChange], shared: frozenset[str]) -> Iterator[str]:
    now, before = parts
    here, there = ({agent.name for agent in each.store.manifest.played} for each in parts)
    for which, names in (
        ("Not in the baseline", here - {change.agent for change in found}),
        ("In the baseline only", there - {change.was for change in found}),
    ):
        if names:
            yield f"{which}: {', '.join(sorted(names))}."
    if left_out := not_shared(now.store.manifest.context_ids, before.store.manifest.context_ids):
        yield left_out
    for each in parts:
        if not each.summary.valid:
            yield f"{each.label.capitalize()} is invalid: {NOT_TO_BE_QUOTED.lower()}."
    yield from (f"Runs differ ({what.lower()}): {words}" for what, words in differences(parts) if what not in _SAID_ELSEWHERE)
    if any(change.kinder.state != "people" for change in found):
        yield way_to_people(parts, len(shared))


def _clause(reason: str) -> str:
    """Sentences as one clause: the first letter small, without the last full stop."""
    return f"{reason[0].lower()}{reason[1:].removesuffix('.')}"


def _in_words(found: Estimate, unit: str, what: str, more: str, less: str) -> str:
    """A change with its interval, by where that is: on one side of nothing, around it, or without an end."""
    value, low, high = found.value or 0.0, found.low, found.high
    if low is not None and low > 0:
        return more.format(_rounded(value)) + _band(found)
    if high is not None and high < 0:
        return less.format(_rounded(-value)) + _band(found, flip=True)
    if low is not None and high is not None:
        return f"{what} unchanged within ± {max(abs(low), abs(high)):.0f} {unit} (95 %)"
    return f"no clear change of {what} ({_rounded(value, '+')} {unit}{_band(found)})"


def _band(found: Estimate, *, flip: bool = False) -> str:
    """` [95 %: 40 to 85]`, with one end ` [95 %: at least 40]`; `flip` for a loss that is worded as a gain."""
    low, high = found.low, found.high
    if flip:
        low, high = (None if high is None else -high), (None if low is None else -low)
    if low is None and high is None:
        return ""
    if low is None or high is None:
        return f" [95 %: at least {_rounded(low)}]" if low is not None else f" [95 %: at most {_rounded(high)}]"
    return f" [95 %: {_rounded(low)} to {_rounded(high)}]"


def _rounded(value: float | None, sign: str = "") -> str:
    """A whole number with a real minus sign and never a minus zero; `sign`: + to show it for a gain too."""
    return f"{round(value or 0.0):{sign}d}".replace("-", "−")


def _finite(end: float) -> float | None:
    return end if math.isfinite(end) else None


def _numbers(found: Estimate) -> dict[str, float | None]:
    numbers: dict[str, float | None] = asdict(found)
    return {name: end if end is None or math.isfinite(end) else None for name, end in numbers.items()}
