"""Sentences on a run's GPUs that a reader must know before comparing its latencies."""

from collections.abc import Iterator, Mapping
from typing import Final

from harness.store.card import OFTEN, CardUse

_CAUSES: Final[Mapping[str, str]] = {
    "heat": "for heat",
    "power": "by its power cap or supply",
    "hardware": "by its hardware, for heat or power",
}


def clock_sentences(cards: Mapping[str, CardUse]) -> tuple[str, ...]:
    """One sentence for each GPU whose clock was not one clock under load; empty if all were."""
    return tuple(f"{name}: {'; '.join(parts)}." for name, use in cards.items() if (parts := list(_clock_parts(use))))


def sharing_sentences(cards: Mapping[str, CardUse]) -> tuple[str, ...]:
    """One sentence for each GPU that programs of no agent used too."""
    return tuple(
        f"{name}: programs of no agent used it in {use.others_share * 100:.0f} % of the samples."
        for name, use in cards.items()
        if use.others_share is not None and use.others_share > OFTEN
    )


def _clock_parts(use: CardUse) -> Iterator[str]:
    if use.clock_range_mhz is not None:
        high, low = use.clock_range_mhz
        way = "fell" if use.sm_clock_mhz.index(high) < use.sm_clock_mhz.index(low) else "rose"
        first, second = (high, low) if way == "fell" else (low, high)
        yield f"under load its SM clock {way} from {first:,.0f} to {second:,.0f} MHz (medians of tenths of the load)"
    slowed = [f"{_CAUSES[cause]} in {share * 100:.0f} %" for cause, share in use.slowed.items() if share > OFTEN]
    if slowed:
        to = ""
        if use.slowed_sm_clock_mhz is not None:
            low, high = use.slowed_sm_clock_mhz
            to = f", to {low:,.0f} MHz of {high:,.0f} in the median"
        yield f"the driver lowered its clock {', '.join(slowed)} of {use.loaded:,} samples under load{to}"
