"""Differences of a server's counters over a window of time, and where they cannot be trusted.

A counter that goes back means that the process began again: no window across that instant has a difference. One that goes back
and then returns to where it was is two processes behind one address, whose pages come in turn; then no window has one. Both are
decided from the process's own start where a page has it, else from the counters. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from harness.servers.adapter import COUNTERS, Column
from harness.servers.samples import ServerSample

RETURNED: Final = 0.5
"""Share of a fall that one later step must regain, back to where the counter was: a server that began again would need as
long for that as its predecessor had run."""


@dataclass(frozen=True, slots=True)
class Trust:
    """The readable samples of one server in order, where it began again, and whether there are two of it."""

    samples: tuple[ServerSample, ...]
    began_again: frozenset[int] = frozenset()
    """Numbers of samples that are of another process than the one before."""
    two: bool = False
    unreadable: int = 0
    """Number of pages that were not read."""
    reasons: tuple[str, ...] = ()
    """Their different reasons, most frequent first."""

    @property
    def processes(self) -> str | None:
        """The end of a sentence on a server that began again, or on two at one address; None for one process throughout."""
        if self.two:
            return "two servers answer at this address, so that no differences of its counters are used"
        if self.began_again:
            times = "once" if len(self.began_again) == 1 else f"{len(self.began_again)} times"
            return f"its counters went back {times}: it began again, and waits across that instant are not split by them"
        return None

    @property
    def words(self) -> str | None:
        """One sentence on all that is wrong with the samples; None where nothing is."""
        parts = [self.processes] if self.processes is not None else []
        if self.unreadable:
            of = self.unreadable + len(self.samples)
            parts.append(f"{self.unreadable} of {of} pages were not read: it {self.reasons[0]}")
        return "; ".join(parts) or None


def trusted(samples: Sequence[ServerSample]) -> Trust:
    """The samples of one server that can be read, and what is wrong with them."""
    ordered = sorted(samples, key=lambda sample: sample.at_ns)
    good = tuple(sample for sample in ordered if not sample.error)
    errors = [sample.error for sample in ordered if sample.error]
    reasons = tuple(sorted(dict.fromkeys(errors), key=errors.count, reverse=True))
    again = frozenset(k + 1 for k, (a, b) in enumerate(pairwise(good)) if _other_process(a, b))
    return Trust(good, again, _two(good), len(errors), reasons)


def _other_process(before: ServerSample, after: ServerSample) -> bool:
    began, begun = before.columns.get("started"), after.columns.get("started")
    if began is not None and begun is not None:
        return began != begun
    both = (name for name in COUNTERS if name in before.columns and name in after.columns)
    return any(after.columns[name] < before.columns[name] for name in both)


def _two(samples: Sequence[ServerSample]) -> bool:
    starts = [sample.columns["started"] for sample in samples if "started" in sample.columns]
    if starts:
        changes = [b for a, b in pairwise(starts) if a != b]
        return len({starts[0], *changes}) < 1 + len(changes)
    return any(_returns([s.columns[name] for s in samples if name in s.columns]) for name in COUNTERS)


def _returns(values: Sequence[float]) -> bool:
    """True if a counter fell, and one later step brought it back over where it had been."""
    fallen: list[tuple[float, float]] = []
    for before, after in pairwise(values):
        if after < before:
            fallen.append((before, before - after))
        elif any(before < was <= after and after - before >= RETURNED * fall for was, fall in fallen):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Window:
    """Two samples around an interval, and those inside."""

    first: ServerSample
    last: ServerSample
    inside: tuple[ServerSample, ...]
    """All from the first to the last, both included."""

    def grown(self, column: Column) -> float | None:
        """The growth of a counter; None where the page does not have it."""
        before, after = self.first.columns.get(column), self.last.columns.get(column)
        return after - before if before is not None and after is not None else None

    def largest(self, column: Column) -> float | None:
        """The largest reading in the window."""
        return max((s.columns[column] for s in self.inside if column in s.columns), default=None)

    @property
    def most_at_once(self) -> float | None:
        """The most requests that ran or waited at any reading; None where the page has neither."""
        counts = [s.columns.get("running", 0.0) + s.columns.get("waiting", 0.0) for s in self.inside
                  if "running" in s.columns or "waiting" in s.columns]  # fmt: skip
        return max(counts, default=None)


def window(trust: Trust, begin_ns: int, end_ns: int) -> Window | None:
    """The narrowest window around an interval; None where a side has no sample, or the server began again inside."""
    samples = trust.samples
    before = max((k for k, s in enumerate(samples) if s.answered_ns <= begin_ns), default=None)
    after = min((k for k, s in enumerate(samples) if s.at_ns >= end_ns), default=None)
    if trust.two or before is None or after is None:
        return None
    if any(before < k <= after for k in trust.began_again):
        return None
    return Window(samples[before], samples[after], samples[before : after + 1])


def idle_ns(trust: Trust, begin_ns: int, end_ns: int) -> int | None:
    """The part of an interval in which the server is known to have done nothing; None where that is not known of any part.

    Nothing ran or waited at two samples in a row, and no work was counted between them. Only the time from the first's answer
    to the second's question counts, since each was read at an unknown instant in between.
    """
    if trust.two:
        return None
    known, total = False, 0
    for k, (first, second) in enumerate(pairwise(trust.samples)):
        overlap = min(end_ns, second.at_ns) - max(begin_ns, first.answered_ns)
        known_idle = all("work" in s.columns and "running" in s.columns for s in (first, second))
        if overlap <= 0 or k + 1 in trust.began_again or not known_idle:
            continue
        known = True
        if _is_free(first) and _is_free(second) and first.columns["work"] == second.columns["work"]:
            total += overlap
    return total if known else None


def _is_free(sample: ServerSample) -> bool:
    return sample.columns["running"] == 0 and sample.columns.get("waiting", 0.0) == 0
