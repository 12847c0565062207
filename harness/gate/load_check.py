"""The check of a load test against a budgets file: limits that name the step they are for, by its rate or its callers.

A limit without `rate` or `callers` is for runs, and one with either for load tests, so that one file serves both. The figures
are those of the step's row, and a step counts stretches of time where a run counts conversations, because calls that overlap
are not independent (`harness.figures.load_steps`). Times have the bounds of a bootstrap over stretches; shares have those of
`harness.statistics.bounds`. A step that says nothing about its agent (callers, frames or answers were late) decides nothing.

Against a baseline, two load tests are compared step by step. They are not paired: the same seed gives the same schedule, but
what a queue does with it is another draw each time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.figures.load_steps import SHARES, Stretches, filler_first, flags, stretches_of, times
from harness.gate.budgets import Budgets, CellLimit, Limit
from harness.gate.check import Checked, CheckResult
from harness.gate.decide import decide, overall, tail_of
from harness.gate.evidence import filler_note, lower_is_better
from harness.statistics.bounds import Evidence, Worsening, share_of_flags
from harness.statistics.drawn_quantiles import Drawn
from harness.statistics.interval import TURNS_FOR_P95
from harness.store.load_files import LoadFile, LoadTurn, read_load, read_turns
from harness.wording import counted

STRETCHES: Final = ("stretch of 15 s", "stretches of 15 s")
PERCENTILES: Final = {"p50": 0.50, "p95": 0.95}
TIMES: Final = tuple(f"{figure}_ms.{name}" for figure in ("ttfa", "answer", "ttft") for name in PERCENTILES)
FIGURES: Final = (*TIMES, *SHARES)
_TTFA: Final = ("ttfa_ms.p50", "ttfa_ms.p95")
_SEEDS: Final = {"now": 1, "before": 2}
"""Draws of the two tests are independent of each other, as the tests are."""


@dataclass(frozen=True)
class LoadTest:
    """A stored load test: its facts, and the turns of each step that says something about the agent."""

    folder: Path
    file: LoadFile
    turns: Mapping[int, Sequence[LoadTurn]]
    """Place of the step → its turns."""

    @classmethod
    def read(cls, folder: Path) -> "LoadTest":
        """Read one from its folder. Raises UserError if there is none, or it cannot be read."""
        file = read_load(folder)
        turns: dict[int, list[LoadTurn]] = {}
        for turn in read_turns(folder):
            turns.setdefault(turn.step, []).append(turn)
        return cls(folder, file, turns)

    @property
    def is_open(self) -> bool:
        """True if its callers came at a rate."""
        return self.file.arrivals is not None

    @cached_property
    def offered(self) -> dict[float, int]:
        """Rate (or callers at once) → the place of its step."""
        return {step.callers if step.rate is None else step.rate: place for place, step in enumerate(self.file.steps)}

    def step_words(self, offered: float) -> str:
        """A step in words: `8 calls/s`."""
        return f"{offered:g} calls/s" if self.is_open else f"{offered:g} at once"

    def stretches(self, offered: float) -> Stretches:
        """The counted turns of a step, by stretch."""
        return stretches_of(self.turns.get(self.offered[offered], ()))

    def out_of_bounds(self, offered: float) -> str:
        """Why a step says nothing about the agent; empty if it does."""
        step = self.file.steps[self.offered[offered]]
        return "" if step.says_of_agent else "; ".join(step.out_of_bounds) or step.failure or "no call could be measured"

    def turns_with(self, figure: str, offered: float) -> int:
        """The number of turns that have a time."""
        return sum(map(len, times(self.stretches(offered), figure.split("_ms.")[0]).values()))

    def filler_first(self, offered: float) -> tuple[int, int]:
        """Replies of a step that begin with a filler, and replies of which this is known."""
        return filler_first([turn for group in self.stretches(offered).values() for turn in group])

    def evidence(self, figure: str, offered: float, which: str = "now") -> Evidence | None:
        """The evidence of a step for one figure; None if it has none."""
        stretches = self.stretches(offered)
        if figure.endswith(".p95") and self.turns_with(figure, offered) < TURNS_FOR_P95:
            return None
        if figure in TIMES:
            name, percentile = figure.split("_ms.")
            return Drawn.quantile(times(stretches, name), PERCENTILES[percentile], seed=_SEEDS[which])
        return share_of_flags(flags(stretches, figure))


def check_load(now: LoadTest, budgets: Budgets, before: LoadTest | None = None) -> CheckResult:
    """The verdicts on a load test.

    Raises:
        UserError: a limit names a step, an agent or a figure that the test does not have, none applies, or the baseline is of
            other callers.
    """
    if before is not None:
        refuse_other_load(now, before)
    asked = [_placed(k, limit, now) for k, limit in enumerate(budgets.limits, start=1) if limit.is_for_loads]
    mine = [one for one in asked if one is not None]
    if not mine:
        of = "rate" if now.is_open else "callers"
        raise UserError(f"--budgets: no limit is for this load test; give limits a `{of}:`, as in docs/gate.md, On load tests")
    tail = tail_of(len(mine), None)
    checked = tuple(_checked(limit, offered, now, before, tail) for limit, offered in mine)
    return CheckResult(
        run=now.folder,
        verdict=overall([c.verdict for c in checked if c.verdict != "ignored"]),
        checked=checked,
        invalid=(),
        contexts=sum(len(now.stretches(offered)) for offered in dict.fromkeys(offered for _, offered in mine)),
        look=None,
        observations=STRETCHES,
    )


def _placed(number: int, limit: Limit, now: LoadTest) -> tuple[CellLimit, float] | None:
    """A limit with the step that it is for; None if it is for another kind of load, pack or mode."""
    made = now.file.made
    offered = limit.rate if now.is_open else limit.callers
    if offered is None or limit.pack not in (None, made.pack) or limit.mode not in (None, made.mode):
        return None
    where = f"--budgets, limit {number} ({limit.words})"
    if limit.agent not in (None, made.agent):
        raise UserError(f"{where}: the load test has no agent {limit.agent}; it has {made.agent}")
    if limit.figure not in FIGURES:
        raise UserError(f"{where}: a step of a load test has no such figure; it has {', '.join(FIGURES)}")
    if limit.subset != "all" or limit.condition not in (None, "clean"):
        raise UserError(f"{where}: a step of a load test has no subset and no line condition; leave them out")
    if offered not in now.offered:
        have = ", ".join(f"{one:g}" for one in now.offered)
        raise UserError(f"{where}: the load test has no step {now.step_words(offered)}; it has {have}")
    return CellLimit(limit=limit, agent=made.agent, condition=now.step_words(offered)), float(offered)


def refuse_other_load(now: LoadTest, before: LoadTest) -> None:
    """Check that two load tests have the same callers; otherwise these could cause a difference.

    Raises:
        UserError: another pack, mode, number of contexts or law of arrivals, or no step in common.
    """
    where = f"--baseline {before.folder}"
    ours, theirs = now.file.made, before.file.made
    for what, mine, other in (
        ("pack", ours.pack, theirs.pack),
        ("contents of the pack", ours.pack_hash, theirs.pack_hash),
        ("mode", ours.mode, theirs.mode),
        ("number of contexts", ours.contexts, theirs.contexts),
        ("arrivals", now.file.arrivals or "callers at once", before.file.arrivals or "callers at once"),
    ):
        if mine != other:
            raise UserError(f"{where}: has another {what} ({other}, and this one {mine}); play it again as this one was")
    if not set(now.offered) & set(before.offered):
        have = ", ".join(f"{one:g}" for one in before.offered)
        raise UserError(f"{where}: has no step in common with this load test; it has {have}")


def _checked(asked: CellLimit, offered: float, now: LoadTest, before: LoadTest | None, tail: float) -> Checked:
    limit = asked.limit
    for one, name in ((now, "The step"), (before, "The baseline's step")):
        if one is None or offered not in one.offered or (one is before and limit.comparison != "worse_than_baseline_by"):
            continue
        if why := one.out_of_bounds(offered):
            return Checked(asked, "cannot tell", None, why=f"{name} says nothing about the agent: {why}.")
    found = now.evidence(limit.figure, offered)
    if limit.comparison == "worse_than_baseline_by":
        found = worsening(now, before, limit.figure, offered) if before is not None else None
    if found is None:
        why = _why_missing(limit, offered, now, before)
        why = f"{why}, and the budgets file has missing: {limit.missing}." if why else ""
        return Checked(asked, "ignored" if limit.missing == "ignore" else limit.missing, None, why=why)
    decision = decide(found, limit.rule, limit.bound, tail)
    note = filler_note(now.filler_first(offered), now.evidence("answer_ms.p50", offered)) if limit.figure in _TTFA else ""
    return Checked(asked, decision.verdict, decision, note=note)


def _why_missing(limit: Limit, offered: float, now: LoadTest, before: LoadTest | None) -> str:
    """Why a step does not have a figure, where more can be said than that it does not."""
    both = [(now, "The step")]
    if limit.comparison == "worse_than_baseline_by" and before is not None:
        if offered not in before.offered:
            return f"The baseline has no step {now.step_words(offered)}"
        both.append((before, "The baseline's step"))
    if limit.figure.endswith(".p95"):
        for one, name in both:
            if (turns := one.turns_with(limit.figure, offered)) < TURNS_FOR_P95:
                return f"{name} has {counted(turns, 'turn')} with this figure, and a p95 needs {TURNS_FOR_P95}"
    return ""


def worsening(now: LoadTest, before: LoadTest, figure: str, offered: float) -> Evidence | None:
    """By how much a figure of a step is worse than the baseline's; None if one of the two has no such step or figure."""
    if offered not in before.offered:
        return None
    new, old = now.evidence(figure, offered), before.evidence(figure, offered, "before")
    if new is None or old is None:
        return None
    if isinstance(new, Drawn) and isinstance(old, Drawn):
        return new.less(old)
    return Worsening(new, old, lower_is_better(figure))
