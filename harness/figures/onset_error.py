"""Error of TTFA, in words that claim no more than the calibration's trials support.

Of sixty trials and more the 95th percentile of the error is quoted. Of fewer it would nearly be the largest error under a
better name, so the largest is quoted as such, with the number of trials and the error that half of them stay within. Errors are
rounded up: an error of 1.45 ms is not within 1 ms.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from harness.wording import counted


class OnsetError(BaseModel):
    """`of` the trials lie within `within_ms` of the truth, half of them within `half_ms`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    within_ms: float
    of: Literal["95 %", "all"] = "95 %"
    trials: int | None = None
    """Trials that gave a figure; None where a run does not say."""
    half_ms: float | None = None

    @property
    def words(self) -> str:
        """`2.1 ms (95 % of 64 trials)`, `2.1 ms (all of 16 trials, half of them within 0.4 ms)`."""
        trials = "the trials" if self.trials is None else counted(self.trials, "trial")
        half = f", half of them within {_rounded_up(self.half_ms)}" if self.of == "all" and self.half_ms is not None else ""
        return f"{_rounded_up(self.within_ms)} ({self.of} of {trials}{half})"


def onset_error(calibration: Mapping[str, float | str | None] | None) -> OnsetError | None:
    """The calibration error that a run's manifest quotes; None where there was none."""
    quoted = calibration or {}
    trials, half_ms, p95_ms, largest_ms = (
        _number(quoted.get(key)) for key in ("trials", "ttfa_p50_error_ms", "ttfa_p95_error_ms", "ttfa_max_error_ms")
    )
    count = None if trials is None else int(trials)
    if p95_ms is not None:
        return OnsetError(within_ms=p95_ms, trials=count, half_ms=half_ms)
    return None if largest_ms is None else OnsetError(within_ms=largest_ms, of="all", trials=count, half_ms=half_ms)


def largest(errors: Sequence[OnsetError | None]) -> OnsetError | None:
    """The largest error of several runs; None where one of them was not calibrated."""
    known = [error for error in errors if error is not None]
    return max(known, key=lambda error: error.within_ms, default=None) if len(known) == len(errors) else None


def _rounded_up(error_ms: float) -> str:
    return f"{math.ceil(error_ms * 10) / 10:.1f} ms"


def _number(value: float | str | None) -> float | None:
    return float(value) if isinstance(value, int | float) else None
