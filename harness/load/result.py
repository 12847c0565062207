"""The results of a load test, step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from harness.figures.load_steps import LoadFigures, ShareOf
from harness.load.arrivals import ArrivalFigures
from harness.load.caller_error import CallerError
from harness.store.unspoken import Reason
from harness.timing.quantiles import Quantiles

MOST_SILENT: Final = 0.05


@dataclass(frozen=True, slots=True)
class Used:
    """A step's use of the machine, in cores or shares of one core; but `machine` is the busy share of all cores, including
    other programs. `mib_a_caller`: the largest growth of the caller's processes."""

    processes: int
    cores_a_caller: float
    busiest_process: float
    machine: float
    mib_a_caller: float


@dataclass(frozen=True, slots=True)
class LoadStep:
    """The results of one number of callers, or of one rate. Times in ms."""

    callers: int
    """Callers at once; in an open loop the most that there were."""
    sessions: int
    failed: int
    no_reply: int
    """Calls with a turn without reply."""
    pacing_p99_error_ms: float
    pacing_max_error_ms: float
    realtime_ratio: float
    """The ratio that is further from 1 than those of 99 in 100 calls."""
    loop_lag_p99_ms: float
    """Over the seconds of all calls, the worst lag of each."""
    ttfa_ms: Quantiles
    out_of_bounds: tuple[str, ...]
    used: Used | None = None
    rate: float | None = None
    """Calls a second that were offered; None in a closed loop."""
    calls_at_once: float | None = None
    """The mean number of open calls while turns counted; None in a closed loop."""
    figures: LoadFigures | None = None
    """None where no call gave one."""
    ttfa_by_stretch: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Stretch of time → TTFA of its turns, infinite where a turn ranks slowest: from these the curve is drawn anew."""
    arrivals: ArrivalFigures | None = None
    """None in a closed loop."""
    caller_error: CallerError | None = None
    """None where no reference call was measured."""
    failure: str = ""
    """The most frequent failure of its calls, in words; empty without one."""
    failed_in_caller: int = 0
    """Calls that failed in the caller itself."""
    spoken: tuple[int, int] | None = None
    """Turns that were spoken and turns that were planned, in calls that did not fail; None where nobody planned."""
    unspoken: Mapping[Reason, int] = field(default_factory=dict)
    """Reason → planned turns of those calls that were never spoken."""

    @property
    def offered(self) -> float:
        """The offered load: calls a second in an open loop, callers at once in a closed one."""
        return self.rate if self.rate is not None else self.callers

    @property
    def says_of_agent(self) -> bool:
        """True if the figures are the agent's: its callers came and spoke on time, and some call could be measured, or failed
        through the agent's fault."""
        known = self.failed < self.sessions or (self.figures is not None and self.figures.turns > 0)
        return known and not self.out_of_bounds

    def to_json(self) -> dict[str, Any]:
        """One entry of `steps`. The agent's figures are null where the step says nothing about the agent."""
        own = {name: value for name, value in asdict(self).items() if name not in ("ttfa_ms", "figures", "ttfa_by_stretch")}
        found = self.figures if self.says_of_agent else None
        return {
            **own,
            "says_of_agent": self.says_of_agent,
            "ttfa_ms": _percentiles(self.ttfa_ms if self.says_of_agent else Quantiles()),
            "ttft_ms": _percentiles(found.ttft_ms if found else Quantiles()),
            "answer_ms": _percentiles(found.answer_ms if found else Quantiles()),
            "filler_first": found.filler_first if found else None,
            "turns": found.turns if found else None,
            "stretches": found.stretches if found else None,
            "cut_in_rate": _share(found.cut_ins) if found else None,
            "continuity": _share(found.continuity) if found else None,
            "no_reply_rate": _share(found.no_reply) if found else None,
            "failed_rate": _share(found.failed) if found else None,
            "servers": [row.model_dump() for row in found.servers] if found else None,
        }


def _percentiles(found: Quantiles) -> dict[str, Any]:
    left_out = {"restricted_mean", "restricted_mean_interval", "p50_others_ms", "p95_others_ms"}
    return found.model_dump(exclude=left_out)


def _share(found: ShareOf) -> dict[str, Any]:
    return {"value": found.value, "interval": found.interval, "hits": found.hits, "of": found.of}
