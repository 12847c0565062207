"""Figures of the lines of a cell's calls: packet loss, jitter, and round trip to the agent.

Only for wires that carry a media clock (RTP). The median of the calls shows the usual line, the worst call the limit;
shares of loss are of all packets together, so that a short call does not count as much as a long one.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from pydantic import BaseModel, ConfigDict

from harness.store.selection import Turns
from harness.timing.figures import LineQuality

MUCH_LOST: Final = 0.01
"""From this loss on a run carries a caution about its line. A choice: about one packet of a hundred is where listeners begin to
hear loss that is not concealed (ITU-T G.113, appendix I, puts the impairment of G.711 at 1 % loss without concealment at 25 of
100)."""


class LineSummary(BaseModel):
    """Times in ms; None is not known."""

    model_config = ConfigDict(extra="forbid")

    calls: int
    packets: int
    lost_share: float
    jitter_ms: float | None
    """Median over calls; RFC 3550."""
    worst_jitter_ms: float | None
    round_trip_ms: float | None
    skew_ppm: float | None
    sent_lost: int | None
    """Packets of the caller that the agents' side missed."""


def line_of(turns: Turns) -> LineSummary | None:
    """The lines of all turns of a cell; None where none carries a media clock."""
    found = [turn.line for group in turns.values() for turn in group if turn.line is not None]
    if not found:
        return None
    packets, lost = sum(line.packets for line in found), sum(line.lost for line in found)
    jitter = [line.jitter_ms for line in found if line.jitter_ms is not None]
    missed = [line.sent_lost for line in found if line.sent_lost is not None]
    return LineSummary(
        calls=len(found),
        packets=packets,
        lost_share=lost / (packets + lost) if packets + lost else 0.0,
        jitter_ms=_median(jitter),
        worst_jitter_ms=max(jitter, default=None),
        round_trip_ms=_median([line.round_trip_ms for line in found if line.round_trip_ms is not None]),
        skew_ppm=_median([line.skew_ppm for line in found if line.skew_ppm is not None]),
        sent_lost=sum(missed) if missed else None,
    )


def in_words(line: LineSummary | LineQuality) -> str:
    """One line's figures for people."""
    parts = [f"{100 * line.lost_share:.1f} % of packets lost"]
    if line.jitter_ms is not None:
        parts.append(f"jitter {line.jitter_ms:.1f} ms")
    if line.round_trip_ms is not None:
        parts.append(f"{line.round_trip_ms:.1f} ms there and back")
    return ", ".join(parts)


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None
