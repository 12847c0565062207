"""Silence is the slowest answer, and a figure that was never measured is absent: the two must not be mistaken."""

from harness.steps.latency import LatencySummary, summarise_latency
from harness.timing.figures import TurnTiming


def turn(ttfa_ms: float | None = None, **more: object) -> TurnTiming:
    return TurnTiming(method="m", spoken_end_ms=0.0, ttfa_ms=ttfa_ms, **more)  # type: ignore[arg-type]


def figures(*turns: TurnTiming) -> LatencySummary:
    by_context = {f"c{k}": [t] for k, t in enumerate(turns)}
    return summarise_latency(by_context, budgets_ms={"ttft": 500.0, "ttfa": 500.0}, seed=1)


def test_silence_alone_is_over_the_limit() -> None:
    found = figures(turn(no_reply=True))
    assert found.quantiles["ttfa"].p50 is None
    assert found.quantiles["ttfa"].p50_over_limit
    assert found.quantiles["ttfa"].restricted_mean == 15_000
    assert found.within_ttfa == 0


def test_interruptions_alone_are_over_the_limit() -> None:
    found = figures(turn(signed_ms=-200.0))
    assert found.quantiles["ttfa"].p50_over_limit
    assert found.within_ttfa == 0


def test_what_was_never_measured_is_absent() -> None:
    untranscribed = figures(turn(300.0), turn(no_reply=True))
    assert untranscribed.quantiles["first_word"].n == 0
    asked_in_text = figures(turn(None, ttft_ms=120.0))
    assert asked_in_text.quantiles["ttfa"].n == 0
    assert asked_in_text.quantiles["ttft"].p50 == 120.0
