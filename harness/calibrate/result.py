"""A calibration on disk: how wrong this machine's measurements are, kept so that every later run can quote it.

Kept per machine under the user's cache, newest last; a run on another machine, or after the method changed, does not
inherit it.
"""

import hashlib
import platform
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.models.store import cache_folder
from harness.timing import METHOD


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
    """Of frames: how late they left or arrived."""

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
    """What `harness calibrate` prints and keeps."""

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

    def quoted(self) -> dict[str, float | str | None]:
        """What a run's manifest quotes of it."""
        return {
            "created": self.created,
            "method": self.method,
            "trials": float(self.trials),
            "ttfa_bias_ms": self.ttfa_error_ms.bias,
            "ttfa_p95_error_ms": self.ttfa_error_ms.p95,
            "pacing_p99_error_ms": self.pacing_error_ms.p99,
            "loop_lag_p99_ms": self.loop_lag_ms.p99,
        }


def machine_id() -> str:
    """A name for this machine that says nothing about it: a hash of its identity file, host name and processor."""
    identity = Path("/etc/machine-id")
    known = identity.read_text(encoding="ascii").strip() if identity.exists() else ""
    facts = "|".join((known, platform.node(), platform.machine(), platform.processor()))
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


def keep(calibration: Calibration) -> Path:
    """Store a calibration of this machine; returns its file."""
    folder = cache_folder() / "calibration" / calibration.machine
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{calibration.created.replace(':', '')}.json"
    path.write_text(calibration.to_json(), encoding="utf-8")
    return path


def newest() -> Calibration | None:
    """The newest calibration of this machine by the present method; None when there is none."""
    folder = cache_folder() / "calibration" / machine_id()
    for path in sorted(folder.glob("*.json"), reverse=True):
        try:
            found = Calibration.model_validate_json(path.read_bytes())
        except ValueError:
            continue
        if found.method == METHOD:
            return found
    return None
