"""The results of a load test, step by step."""

from dataclasses import asdict, dataclass
from typing import Any, Final

from harness.ranking.percentiles import Quantiles

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
    """The results of one number of callers. Times in ms."""

    callers: int
    sessions: int
    failed: int
    no_reply: int
    pacing_p99_error_ms: float
    pacing_max_error_ms: float
    realtime_ratio: float
    """The ratio of the caller furthest from 1."""
    loop_lag_max_ms: float
    ttfa_ms: Quantiles
    out_of_bounds: tuple[str, ...]
    used: Used | None = None

    def to_json(self) -> dict[str, Any]:
        """One entry of `steps`."""
        return {**asdict(self), "ttfa_ms": {"p50": self.ttfa_ms.p50, "p95": self.ttfa_ms.p95}}
