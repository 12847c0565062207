"""The part of a manifest that makes a run a load test: what was offered, and how each step went.

The turns of a step are rows of the run like any others, under the step's name. What a step's rows cannot say is here: whether
its callers came, spoke and were heard on time. Only then do its waits say anything about the agent. A step is written after
its rows are, so that an interrupted test has all of its finished steps.
"""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

FILLING: Final = "the load was not full"
"""`TurnTiming.discarded` of a turn while the load was not full yet, or not any more: it is in no figure."""


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Used(_Fact):
    """A step's use of the machine, in cores or shares of one core; but `machine` is the busy share of all cores, including
    other programs. `mib_a_caller`: the largest growth of the caller's processes."""

    processes: int
    cores_a_caller: float
    busiest_process: float
    machine: float
    mib_a_caller: float


class ArrivalFigures(_Fact):
    """How exactly the callers of a step came. The error of a caller is its dialling less its instant of the schedule."""

    calls: int
    p99_error_ms: float
    max_error_ms: float
    law_distance: float
    """Kolmogorov-Smirnov distance of the actual gaps from the law; of the law itself it exceeds 1.63 / √calls once in 100."""


class CallerError(_Fact):
    """The error of TTFA as measured, in ms: positive is later than the truth."""

    calls: int
    bias_ms: float
    p50_ms: float
    """Of its size, as the two below."""
    p95_ms: float | None
    """None under 60 calls."""
    max_ms: float


class StepRecord(_Fact):
    """How one step went, without the agent's figures. Times in ms; None where no call was played."""

    name: str = ""
    """The step of its sessions' keys."""
    rate: float | None = None
    """Calls a second that were offered; None in a closed loop."""
    callers: int = 0
    """Callers at once; in an open loop the most that there were."""
    calls_at_once: float | None = None
    """The mean number of open calls while turns counted; None in a closed loop."""
    sessions: int = 0
    failed: int = 0
    failed_in_caller: int = 0
    """Calls that failed in the caller itself."""
    failure: str = ""
    """The most frequent failure of its calls, in words; empty without one."""
    no_reply: int = 0
    """Calls with a turn without reply."""
    pacing_p99_error_ms: float | None = None
    pacing_max_error_ms: float | None = None
    realtime_ratio: float | None = None
    """The ratio that is further from 1 than those of 99 in 100 calls."""
    loop_lag_p99_ms: float | None = None
    """Over the seconds of all calls, the worst lag of each."""
    out_of_bounds: tuple[str, ...] = ()
    used: Used | None = None
    arrivals: ArrivalFigures | None = None
    """None in a closed loop."""
    caller_error: CallerError | None = None
    """None where no reference call was measured."""
    spoken: tuple[int, int] | None = None
    """Turns that were spoken and turns that were planned, in calls that did not fail; None where nobody planned."""
    unspoken: dict[str, int] = Field(default_factory=dict)
    """Reason → planned turns of those calls that were never spoken."""
    says_of_agent: bool = False
    """True if the figures are the agent's: its callers came and spoke on time, and some call could be measured, or failed
    through the agent's fault."""
    computing: tuple[str, ...] | None = None
    """The stages of a cascade that computed in a play of `load --isolate` of version 0.3, which is no step; None in a step."""
    unix_ahead_ns: int | None = None
    """The wall clock less the monotonic clock of the sessions' instants; None where it was not stored."""

    @property
    def offered(self) -> float:
        """The offered load: calls a second in an open loop, callers at once in a closed one."""
        return self.rate if self.rate is not None else self.callers

    @property
    def why_nothing(self) -> str:
        """Why the step says nothing about the agent; empty if it does."""
        return "" if self.says_of_agent else "; ".join(self.out_of_bounds) or self.failure or "no call could be measured"


class LoadPart(_Fact):
    """What a load test offered. `law`: of the arrivals of an open loop, None for a closed one."""

    law: Literal["poisson", "burst"] | None = None
    for_s: float | None = None
    """Seconds in which the callers of a step come, in an open loop."""
    budget_ms: float | None = None
    """Limit for the p95 of TTFA."""
    contexts: int = 0
    """Contexts that the callers speak in turn."""
    priority: str = ""
    records: tuple[StepRecord, ...] = ()
    """Steps, and plays of version 0.3 that are none, in the order played."""

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """The steps of the curve."""
        return tuple(record for record in self.records if record.computing is None)

    def step(self, offered: float | None) -> StepRecord | None:
        """The step of this load, the last one played; None without one."""
        return next((one for one in reversed(self.steps) if one.offered == offered), None)


def step_name(offered: float, law: str | None) -> str:
    """The name of a step: `8 calls/s`, `5 at once`.

    >>> step_name(8.0, "poisson"), step_name(5, None)
    ('8 calls/s', '5 at once')
    """
    return f"{offered:g} {'at once' if law is None else 'calls/s'}"
