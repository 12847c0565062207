"""Ends of an interval on the curve of a load test: a rate inside of what was played, and a bound outside of it."""

import numpy as np
import pytest

from harness.figures.load_knee import CurveStep, OnCurve, calls_within, knee
from tests.present import present


def curve(*p95_ms: float, wide: float) -> list[CurveStep]:
    """Steps at 1, 2, 4 and 8 calls a second; `wide`: how far the waits of two stretches lie apart."""
    return [
        CurveStep(2.0**n, 10 * 2.0**n, {f"s{k}": [ms * (1 + wide * (k - 4.5) / 9)] * 8 for k in range(10)})
        for n, ms in enumerate(p95_ms)
    ]


def test_ends_between_the_first_rates_and_the_last_are_figures() -> None:
    found = present(calls_within(curve(400.0, 700.0, 900.0, 2_000.0, wide=0.2), 600.0))
    low, high = present(found.interval)
    assert 1 < low <= found.rate < high
    assert low < 2
    assert present(found.at_once) == pytest.approx(10 * found.rate)
    late = present(calls_within(curve(100.0, 200.0, 300.0, 1_000.0, wide=0.2), 900.0))
    low, high = present(late.interval)
    assert 4 < low <= late.rate < 8
    assert high <= 8 or np.isinf(high)


def test_ends_outside_of_what_was_played_are_bounds() -> None:
    never, always = (present(calls_within(curve(400.0, 700.0, 900.0, 2_000.0, wide=0.2), ms)) for ms in (100.0, 9_000.0))
    assert (never.rate, never.interval, never.at_once) == (0.0, (0.0, 0.0), None)
    assert (always.rate, always.interval, always.at_once) == (np.inf, (np.inf, np.inf), None)
    assert (never.words, always.words) == (
        "under 1 call a second [under 1]", "at least 8 calls a second [over 8]",
    )  # fmt: skip
    few = present(calls_within([CurveStep(1.0, 9.0, {"s": [400.0] * 60}), CurveStep(2.0, 9.0, {"s": [800.0] * 60})], 600.0))
    assert (few.rate, few.interval) == (1.5, None)


def test_the_knee_is_the_rate_of_greatest_power() -> None:
    bent: OnCurve = present(knee(curve(400.0, 410.0, 700.0, 9_000.0, wide=0.02)))
    assert (bent.rate, bent.interval, bent.at_once) == (4.0, (4.0, 4.0), 40.0)
    assert present(knee(curve(400.0, 900.0, 2_000.0, wide=0.02))).rate == 0
    assert present(knee(curve(400.0, 410.0, 420.0, wide=0.02))).rate == np.inf
    assert knee(curve(400.0, 900.0, wide=0.02)) is None
