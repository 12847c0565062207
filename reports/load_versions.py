"""A load test against an earlier one, step by step: how much longer the slow calls of each rate wait, with an interval.

The interval is that of the ratio of two bootstraps over stretches of time, of each test on its own (`harness.turns.change`). A
step that says nothing about its agent in either test is left out, and said.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.gate.steps import refuse_other_load
from harness.statistics.drawn_quantiles import Drawn
from harness.statistics.interval import FEWEST_CLUSTERS, TAIL, TURNS_FOR_P95, Interval
from harness.store.load_part import LoadPart, StepRecord, step_name
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.timing.figures import NO_REPLY_TEXT
from harness.turns.estimate import estimate
from harness.turns.of_run import table_of_run
from harness.turns.table import TurnTable
from harness.wording import counted, milliseconds


@dataclass(frozen=True, slots=True)
class LoadChange:
    """The p95 of TTFA of one step against the baseline's: 0.27 is 27 % more. `why_not`: the reason where it is not known."""

    agent: str
    step: str
    offered: float
    before_ms: float | None = None
    now_ms: float | None = None
    change: float | None = None
    interval: Interval | None = None
    why_not: str = ""

    @property
    def words(self) -> str:
        """The change in words: `my: p95 at 8 calls/s rose 27 % [12, 41], from 640 ms to 813 ms`."""
        what = f"{self.agent}: p95 at {self.step}"
        if self.why_not:
            return f"{what} is not compared ({self.why_not})"
        before, now = (milliseconds(ms) if ms is not None else f"over {NO_REPLY_TEXT}" for ms in (self.before_ms, self.now_ms))
        if self.change is None:
            return f"{what} was {before} and is {now}"
        of = f", from {before} to {now}"
        if self.interval is None:
            few = f"under {FEWEST_CLUSTERS} stretches of time it has no interval"
            return f"{what} changed by {_percent(self.change)} %{of}; {few}"
        low, high = self.interval
        if low > 0:
            return f"{what} rose {_percent(self.change)} % [{_percent(low)}, {_percent(high)}]{of}"
        if high < 0:
            return f"{what} fell {_percent(-self.change)} % [{_percent(-high)}, {_percent(-low)}]{of}"
        return f"{what}: no clear change ({_percent(self.change, '+')} % [{_percent(low)}, {_percent(high)}]){of}"

    def as_object(self) -> dict[str, Any]:
        """The change for programs."""
        ends = [end if math.isfinite(end) else None for end in self.interval] if self.interval is not None else None
        return {
            "agent": self.agent,
            "offered": self.offered,
            "words": self.words,
            "before_ms": self.before_ms,
            "now_ms": self.now_ms,
            "change": self.change,
            "interval": ends,
            "why_not": self.why_not or None,
        }


@dataclass(frozen=True, slots=True)
class LoadVersions:
    """The changes of all steps that both tests have, and how the tests differ otherwise."""

    run: str
    changes: tuple[LoadChange, ...]
    notes: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The changes and then the notes, for a reader."""
        return (*(f"{change.words}." for change in self.changes), *self.notes)

    def as_object(self) -> dict[str, Any]:
        """The comparison for programs."""
        return {"run": self.run, "changes": [change.as_object() for change in self.changes], "notes": list(self.notes)}


def load_versions(now: RunStore, before: RunStore) -> LoadVersions:
    """The changes since a baseline.

    Raises:
        UserError: the two tests' callers are not the same.
    """
    refuse_other_load(now.manifest, before)
    ours, theirs = (store.manifest.load or LoadPart() for store in (now, before))
    tables = tuple(table_of_run(Selection(store)) for store in (now, before))
    agent = now.manifest.played[0].name
    both = sorted({one.offered for one in ours.steps} & {one.offered for one in theirs.steps})
    steps = [(one, two) for at in both if (one := ours.step(at)) is not None and (two := theirs.step(at)) is not None]
    changes = tuple(_change(agent, (tables[0], one), (tables[1], two)) for one, two in steps)
    return LoadVersions(str(before.folder), changes, tuple(_notes(now, before, ours, theirs)))


def _change(agent: str, now: tuple[TurnTable, StepRecord], before: tuple[TurnTable, StepRecord]) -> LoadChange:
    step, offered = now[1].name, now[1].offered
    drawn: list[Drawn] = []
    for (table, record), name in ((now, "this test"), (before, "the baseline")):
        if record.why_nothing:
            why = f"{name} says nothing about the agent there: {record.why_nothing}"
            return LoadChange(agent, step, offered, why_not=why)
        rows = table.where({"step": record.name})
        turns = int(rows.flags["full"].sum())
        if turns < TURNS_FOR_P95:
            few = f"{name} has {counted(turns, 'turn')} there, and a p95 needs {TURNS_FOR_P95}"
            return LoadChange(agent, step, offered, why_not=few)
        found = estimate(rows, "ttfa_ms.p95", cluster="stretch")
        if found is None or not isinstance(found.measured, Drawn):
            return LoadChange(agent, step, offered, why_not="a test has no TTFA there")
        drawn.append(found.measured)
    new, old = drawn
    before_ms, now_ms = (one.value if math.isfinite(one.value) else None for one in (old, new))
    if before_ms is None or now_ms is None:
        return LoadChange(agent, step, offered, before_ms, now_ms)
    ratio = new.ratio(old)
    ends = ratio.bounds(TAIL) if ratio.contexts >= FEWEST_CLUSTERS else None
    return LoadChange(agent, step, offered, before_ms, now_ms, ratio.value, ends)


def _notes(now: RunStore, before: RunStore, ours: LoadPart, theirs: LoadPart) -> Iterator[str]:
    apart = sorted({one.offered for one in ours.steps} ^ {one.offered for one in theirs.steps})
    if apart:
        yield f"Steps of only one test are left out: {', '.join(step_name(one, ours.law) for one in apart)}."
    one, two = now.manifest, before.manifest
    for what, mine, other in (
        ("agents", one.played[0].name, two.played[0].name),
        ("machine", one.machine_id, two.machine_id),
        ("version of the harness", one.harness_version, two.harness_version),
        ("seconds of a step", ours.for_s, theirs.for_s),
        ("seed", one.seed, two.seed),
    ):
        if mine != other:
            yield f"Load tests differ ({what}): {mine}, and the baseline {other}."


def _percent(share: float, sign: str = "") -> str:
    return "no bound" if math.isinf(share) else f"{round(100 * share):{sign}d}".replace("-", "−")
