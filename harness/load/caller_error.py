"""The error of the caller during a step, from calls whose truth is known (`harness.load.reference`)."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from harness.statistics.interval import TURNS_FOR_P95
from harness.store.load_part import CallerError

MOST_MS: Final = 10.0
"""Largest error of the caller with which a step says something about its agent."""


def caller_error(errors_ms: Sequence[float]) -> CallerError | None:
    """The figures of these errors; None for none."""
    if not errors_ms:
        return None
    size = np.abs(errors_ms)
    return CallerError(
        calls=len(errors_ms),
        bias_ms=float(np.mean(errors_ms)),
        p50_ms=float(np.percentile(size, 50)),
        p95_ms=float(np.percentile(size, 95)) if size.size >= TURNS_FOR_P95 else None,
        max_ms=float(size.max()),
    )


def too_inexact(found: CallerError | None) -> str:
    """The reason why a step's waits are not known, in words; empty where they are.

    The p95 decides, under 60 calls the median.
    """
    if found is None:
        return ""
    name, error_ms = ("p95", found.p95_ms) if found.p95_ms is not None else ("p50", found.p50_ms)
    if error_ms <= MOST_MS:
        return ""
    return f"TTFA of a known agent was {error_ms:,.0f} ms off ({name}), and {MOST_MS:g} ms is the most"
