"""A calibration on disk: the errors of this machine's measurements, stored so that every later run can quote them.

Stored per machine under the user's cache, newest last; a run on another machine, or after the method changed, does not
use it. A calibration of many trials says more than one of few, so one of few never replaces it, however new.
"""

import hashlib
import os
import platform
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.files import cache_folder, write_whole
from harness.statistics.interval import TURNS_FOR_P95
from harness.store.fleet import kind_of
from harness.store.manifest import machine_facts
from harness.timing import METHOD as TIMING_METHOD

METHOD: Final = f"{TIMING_METHOD} first-sounds-1"
"""Of the onsets and of the sounds on which their error is measured: a calibration on other sounds says another thing."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TtfaError(_Model):
    """Measured minus true TTFA; bias is signed, the percentiles are of its size."""

    bias: float
    p50: float
    p95: float
    p99: float
    max: float


class PacingError(_Model):
    """Delay of frames at departure or arrival."""

    p99: float
    p999: float
    max: float


class LoopLag(_Model):
    """The caller's event loop, worst in each second of each call."""

    p99: float
    max: float


class Independent(_Model):
    """Distance between the analyser's onset and that of ffmpeg's silence detector, on clean trials."""

    tool: str
    trials: int
    p95_ms: float
    max_ms: float


class Calibration(_Model):
    """The result that `harness calibrate` prints and stores."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    created: str
    machine: str
    method: str
    priority: str
    trials: int
    discarded: dict[str, int]
    ttfa_error_ms: TtfaError
    pacing_error_ms: PacingError
    arrival_error_ms: PacingError
    """Pacing as the receiving process saw it: departure error plus the socket."""
    loop_lag_ms: LoopLag
    independent: Independent | None

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    def to_json(self) -> str:
        """The object that `--json` prints."""
        return self.model_dump_json(by_alias=True, indent=2)

    @property
    def measured(self) -> int:
        """Trials that gave a figure."""
        return self.trials - sum(self.discarded.values())

    @property
    def gives_p95(self) -> bool:
        """True if there are enough trials for a 95th percentile of the error; of fewer it is nearly the largest error."""
        return self.measured >= TURNS_FOR_P95

    def quoted(self) -> dict[str, float | str | None]:
        """The figures of it that a run's manifest quotes."""
        return {
            "created": self.created,
            "method": self.method,
            "trials": float(self.measured),
            "ttfa_bias_ms": self.ttfa_error_ms.bias,
            "ttfa_p50_error_ms": self.ttfa_error_ms.p50,
            "ttfa_p95_error_ms": self.ttfa_error_ms.p95 if self.gives_p95 else None,
            "ttfa_max_error_ms": self.ttfa_error_ms.max,
            "pacing_p99_error_ms": self.pacing_error_ms.p99,
            "loop_lag_p99_ms": self.loop_lag_ms.p99,
        }


POD_INDEX: Final = "JOB_COMPLETION_INDEX"
"""Set by Kubernetes in every pod of an indexed Job (Kubernetes documentation, "Jobs", completion mode)."""


def machine_id() -> str:
    """A name for this machine that reveals nothing about it: a hash of its identity file, host name and processor.

    A pod of an indexed Kubernetes Job has a host name only until it is lost. Its index stays, which the Job gives to
    the pod that takes its place; with the kind of the node, because a shard is of one kind of machine.
    """
    index = os.environ.get(POD_INDEX)
    if index is not None:
        return hashlib.sha256(f"{index}|{kind_of(machine_facts())}".encode()).hexdigest()[:16]
    identity = Path("/etc/machine-id")
    known = identity.read_text(encoding="ascii").strip() if identity.exists() else ""
    facts = "|".join((known, platform.node(), platform.machine(), platform.processor()))
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


def keep(calibration: Calibration) -> Path:
    """Store a calibration of this machine; returns its file."""
    folder = cache_folder() / "calibration" / calibration.machine
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{calibration.created.replace(':', '')}.json"
    # Two first runs may store theirs at once, and a third may be reading.
    write_whole(path, calibration.to_json())
    return path


def newest() -> Calibration | None:
    """The newest calibration of this machine by the present method that gives a 95th percentile, else the newest; None when
    there is none."""
    folder = cache_folder() / "calibration" / machine_id()
    few: Calibration | None = None
    for path in sorted(folder.glob("*.json"), reverse=True):
        try:
            found = Calibration.model_validate_json(path.read_bytes())
        except (OSError, ValueError):
            continue
        if found.method == METHOD and found.gives_p95:
            return found
        if found.method == METHOD and few is None:
            few = found
    return few
