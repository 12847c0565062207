"""A load test against an earlier one, step by step: how much longer the slow calls of each rate wait, with an interval.

The two tests are independent draws, so nothing is paired; the interval is that of the ratio of two bootstraps over stretches of
time. A step that says nothing about its agent in either test is left out, and said.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from harness.gate.load_check import LoadTest, refuse_other_load
from harness.statistics.drawn_quantiles import Drawn
from harness.statistics.interval import FEWEST_CLUSTERS, TURNS_FOR_P95
from harness.timing.figures import NO_REPLY_TEXT
from harness.wording import counted, milliseconds

END: Final = 0.025
"""Error of each end of a 95 % interval."""


@dataclass(frozen=True, slots=True)
class LoadChange:
    """The p95 of TTFA of one step against the baseline's: 0.27 is 27 % more. `why_not`: the reason where it is not known."""

    agent: str
    step: str
    offered: float
    before_ms: float | None = None
    now_ms: float | None = None
    change: float | None = None
    interval: tuple[float, float] | None = None
    why_not: str = ""

    @property
    def words(self) -> str:
        """The change in words: `my: p95 at 8 calls/s rose 27 % [12, 41], from 640 ms to 813 ms`."""
        what = f"{self.agent}: p95 at {self.step}"
        if self.why_not:
            return f"{what} is not compared ({self.why_not})"
        if self.change is None:
            now = milliseconds(self.now_ms) if self.now_ms is not None else f"over {NO_REPLY_TEXT}"
            before = milliseconds(self.before_ms) if self.before_ms is not None else f"over {NO_REPLY_TEXT}"
            return f"{what} was {before} and is {now}"
        of = f", from {milliseconds(self.before_ms)} to {milliseconds(self.now_ms)}"
        if self.interval is None:
            few = f"under {FEWEST_CLUSTERS} stretches of time it has no interval"
            return f"{what} changed by {self._percent(self.change)} %{of}; {few}"
        low, high = self.interval
        if low > 0:
            return f"{what} rose {self._percent(self.change)} % [{self._percent(low)}, {self._percent(high)}]{of}"
        if high < 0:
            return f"{what} fell {self._percent(-self.change)} % [{self._percent(-high)}, {self._percent(-low)}]{of}"
        ends = f"[{self._percent(low)}, {self._percent(high)}]"
        return f"{what}: no clear change ({self._percent(self.change, '+')} % {ends}){of}"

    @staticmethod
    def _percent(share: float, sign: str = "") -> str:
        if math.isinf(share):
            return "no bound"
        return f"{round(100 * share):{sign}d}".replace("-", "−")

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


def load_versions(now: LoadTest, before: LoadTest) -> LoadVersions:
    """The changes since a baseline.

    Raises:
        UserError: the two tests' callers are not the same.
    """
    refuse_other_load(now, before)
    both = sorted(set(now.offered) & set(before.offered))
    changes = tuple(_change(now, before, offered) for offered in both)
    return LoadVersions(str(before.folder), changes, tuple(_notes(now, before)))


def _change(now: LoadTest, before: LoadTest, offered: float) -> LoadChange:
    agent, step = now.file.made.agent, now.step_words(offered)
    for one, name in ((now, "this test"), (before, "the baseline")):
        if why := one.out_of_bounds(offered):
            return LoadChange(agent, step, offered, why_not=f"{name} says nothing about the agent there: {why}")
        turns = sum(len(group) for group in one.stretches(offered).values())
        if turns < TURNS_FOR_P95:
            few = f"{name} has {counted(turns, 'turn')} there, and a p95 needs {TURNS_FOR_P95}"
            return LoadChange(agent, step, offered, why_not=few)
    new, old = now.evidence("ttfa_ms.p95", offered), before.evidence("ttfa_ms.p95", offered, "before")
    if not isinstance(new, Drawn) or not isinstance(old, Drawn):
        return LoadChange(agent, step, offered, why_not="a test has no TTFA there")
    before_ms, now_ms = (one.value if math.isfinite(one.value) else None for one in (old, new))
    if before_ms is None or now_ms is None:
        return LoadChange(agent, step, offered, before_ms, now_ms)
    ratio = new.ratio(old)
    ends = ratio.bounds(END)
    return LoadChange(agent, step, offered, before_ms, now_ms, ratio.value, ends if ratio.contexts >= FEWEST_CLUSTERS else None)


def _notes(now: LoadTest, before: LoadTest) -> Iterator[str]:
    ours, theirs = now.file.made, before.file.made
    apart = sorted(set(now.offered) ^ set(before.offered))
    if apart:
        yield f"Steps of only one test are left out: {', '.join(now.step_words(one) for one in apart)}."
    for what, mine, other in (
        ("agents", ours.agent, theirs.agent),
        ("machine", ours.machine, theirs.machine),
        ("version of the harness", ours.harness_version, theirs.harness_version),
        ("seconds of a step", now.file.for_s, before.file.for_s),
        ("seed", ours.seed, theirs.seed),
    ):
        if mine != other:
            yield f"Load tests differ ({what}): {mine}, and the baseline {other}."
