"""The cause of a step's failure: the agent, the machine or the caller. A pure function of one step's figures.

The causes are checked in this order because each hides the next. Late callers, late frames and inexact stamps are the harness's
own fault: the caller's if one of its processes filled a core, otherwise the machine's. Only if all of that was on time does a
late or missing reply say something about the agent; and an agent that is late while every core is full lacked the machine.
A call that failed in the caller itself is the caller's.
"""

from dataclasses import dataclass
from typing import Final, Literal

from harness.store.load_part import StepRecord
from harness.timing.quantiles import Quantiles
from harness.wording import counted

MOST_SILENT: Final = 0.05
"""Largest share of calls with a turn without reply."""
FULL_CORE: Final = 0.9
"""Share of a core: a process that uses more is its own bottleneck. The other tenth is the kernel's, counted elsewhere."""
FULL_MACHINE: Final = 0.95
"""Share of all cores: the rest is gaps between processes that wait for each other."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The reason for a step over its bounds."""

    of: Literal["agent", "machine", "caller"]
    detail: str

    def in_words(self) -> str:
        """The reason in words: `the agent: TTFA p95 640 ms is over 500 ms`."""
        return f"the {self.of}: {self.detail}"


def limit_of(step: StepRecord, ttfa_ms: Quantiles, budget_ms: float | None = None) -> Limit | None:
    """Why a step is over a bound, or over the TTFA budget at p95; None if it is within all.

    In a step without p95 (under 60 turns) the budget is not checked.
    """
    used = step.used
    full = used is not None and used.machine >= FULL_MACHINE
    if step.out_of_bounds:
        late = "; ".join(step.out_of_bounds)
        if used is not None and filled_its_core(step):
            return Limit("caller", f"{late}; one of its processes used {used.busiest_process:.0%} of a core")
        if step.failed_in_caller:
            return Limit("caller", late)
        busy = f"; its cores were {used.machine:.0%} busy" if used is not None else ""
        return Limit("machine", late + busy)
    if step.failed:
        why = f" ({step.failure})" if step.failure else ""
        return Limit("agent", f"{step.failed} of {counted(step.sessions, 'call')} failed{why}")
    late_reply = _late(step, ttfa_ms, budget_ms)
    if late_reply and full and used is not None:
        return Limit("machine", f"{late_reply}, while its cores were {used.machine:.0%} busy")
    return Limit("agent", late_reply) if late_reply else None


def filled_its_core(step: StepRecord) -> bool:
    """True if the step was over a bound because a caller process filled its core, which more processes mend."""
    used = step.used
    return bool(step.out_of_bounds) and used is not None and used.busiest_process >= FULL_CORE and used.machine < FULL_MACHINE


def _late(step: StepRecord, ttfa_ms: Quantiles, budget_ms: float | None) -> str:
    if step.no_reply > step.sessions * MOST_SILENT:
        return f"{step.no_reply} of {counted(step.sessions, 'call')} had no reply"
    if budget_ms is None:
        return ""
    p95 = ttfa_ms.p95
    if ttfa_ms.p95_over_limit:
        return f"TTFA p95 is a turn without reply or answered before its end, and the budget is {budget_ms:,.0f} ms"
    return f"TTFA p95 {p95:,.0f} ms is over {budget_ms:,.0f} ms" if p95 is not None and p95 > budget_ms else ""
