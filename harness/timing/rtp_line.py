"""Quality of the line between caller and agent, from the packets of a recording with a media clock (RTP). Pure.

The *skew* of the agent's clock is the slope of the lower edge of (arrival − media time): packets can only be late, so the
quickest of each stretch show how the clocks drift. The *network's share* of a wait cannot be measured from one end; it can be
bounded: half the round trip (RTCP) each way, plus the delay of the packet with the onset behind the quickest around it; its
uncertainty is the other half, because the two ways need not be equal.

Source: RFC 3550, sections 6.4.1 (jitter) and A.8.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.recording.playout import leaps
from harness.recording.record import Arrival, Recording
from harness.timeline import NS_PER_MS, NS_PER_S
from harness.timing.figures import LineQuality

JITTER_GAIN: Final = 1 / 16
"""RFC 3550, section 6.4.1."""
PACKETS_FOR_JITTER: Final = 16
STRETCH_S: Final = 2.0
"""Within this time at least one packet was not delayed, on any line that can carry a call."""
STRETCHES_FOR_SKEW: Final = 5
MOST_MS: Final = 60_000.0
"""Longest plausible round trip, and jitter, of a line that carries a call."""
ROUNDING_MS: Final = 1.0
"""RTCP counts in 1/65,536 s on two clocks: a round trip of zero may come out slightly negative."""


@dataclass(frozen=True, slots=True)
class NetworkShare:
    """The network's part of a wait, in ns: the caller's way to the agent, and the reply's way back."""

    there_ns: int
    back_ns: int
    uncertainty_ns: int


def line_quality(recording: Recording) -> LineQuality | None:
    """The figures of a session's line; None where it has no media clock."""
    stamped = [(a, a.media) for a in recording.arrivals if a.media is not None]
    if not stamped:
        return None
    trips = _trips_ms(recording)
    last = recording.line_reports[-1] if recording.line_reports else None
    kept_time = not any(leaps(recording.arrivals))
    return LineQuality(
        packets=len(stamped),
        lost=sum(media.lost_before for _, media in stamped),
        jitter_ms=_jitter_ms(recording.arrivals) if kept_time else None,
        round_trip_ms=float(np.median(trips)) if trips else None,
        skew_ppm=_skew_ppm(recording.arrivals) if kept_time else None,
        sent_lost=last.sent_lost if last and last.sent_lost is not None and last.sent_lost >= 0 else None,
        sent_jitter_ms=_duration(last.sent_jitter_ms) if last else None,
    )


def line_refused(recording: Recording) -> tuple[str, ...]:
    """The line's reports that cannot be true, by name."""
    told = [r.round_trip_ms for r in recording.line_reports if r.round_trip_ms is not None]
    refused = ["a way there and back of no possible length"] if any(_duration(ms) is None for ms in told) else []
    if any(leaps(recording.arrivals)):
        refused.append("the agent's media clock went back, or leapt: no jitter, no skew")
    return tuple(refused)


def _trips_ms(recording: Recording) -> list[float]:
    found = (_duration(r.round_trip_ms) for r in recording.line_reports)
    return [ms for ms in found if ms is not None]


def _duration(ms: float | None) -> float | None:
    """A duration that a line reports, if it is plausible."""
    if ms is None or not math.isfinite(ms) or not -ROUNDING_MS <= ms <= MOST_MS:
        return None
    return max(0.0, ms)


def network_share(recording: Recording, onset_arrival_ns: int) -> NetworkShare | None:
    """The network's share of the wait for the packet that arrived at a time; None without a report of the round trip."""
    trips = _trips_ms(recording)
    if not trips:
        return None
    half_ns = round(float(np.median(trips)) * NS_PER_MS / 2)
    late_ns = 0 if any(leaps(recording.arrivals)) else _late_ns(recording.arrivals, onset_arrival_ns)
    return NetworkShare(there_ns=half_ns, back_ns=half_ns + late_ns, uncertainty_ns=half_ns)


def _late_ns(arrivals: Sequence[Arrival], onset_arrival_ns: int) -> int:
    """Delay of a packet behind the quickest packet around it."""
    around = [
        (a.arrival_ns - a.media.at_ns, a.arrival_ns)
        for a in arrivals
        if a.media is not None and abs(a.arrival_ns - onset_arrival_ns) <= STRETCH_S * NS_PER_S / 2
    ]
    own = next((transit for transit, at in around if at == onset_arrival_ns), None)
    return max(0, own - min(transit for transit, _ in around)) if own is not None else 0


def _jitter_ms(arrivals: Sequence[Arrival]) -> float | None:
    transits = [a.arrival_ns - a.media.at_ns for a in arrivals if a.media is not None]
    if len(transits) < PACKETS_FOR_JITTER:
        return None
    jitter = 0.0
    for difference in np.abs(np.diff(np.array(transits, np.int64))):
        jitter += (float(difference) - jitter) * JITTER_GAIN
    return jitter / NS_PER_MS


def _skew_ppm(arrivals: Sequence[Arrival]) -> float | None:
    stamped = [(a.media.at_ns, a.arrival_ns - a.media.at_ns) for a in arrivals if a.media is not None]
    media, transit = np.array(stamped, np.float64).T / NS_PER_S
    stretches = ((media - media.min()) / STRETCH_S).astype(int)
    quickest = [int(np.flatnonzero(stretches == k)[np.argmin(transit[stretches == k])]) for k in np.unique(stretches)]
    if len(quickest) < STRETCHES_FOR_SKEW:
        return None
    return float(-np.polyfit(media[quickest], transit[quickest], 1)[0] * 1e6)
