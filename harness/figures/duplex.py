"""How a full-duplex agent talks: overlap with its caller, backchannels a minute, and units that came late.

None of it is a fault in itself: people overlap too. Shares are of time, in frames of 20 ms, and of units; conversations (or
known speakers) are the observations of every interval.
"""

from collections import Counter
from statistics import median
from typing import Final

from pydantic import Field

from harness.figures.endpointing import Model
from harness.statistics.clustered_means import clustered_mean
from harness.statistics.interval import Interval
from harness.store.selection import Turns
from harness.timing.figures import Where
from harness.turns.estimate import estimate
from harness.turns.table import TurnTable
from harness.wording import milliseconds, share

MS_A_MINUTE: Final = 60_000.0
SHARES: Final = ("duplex.overlap_share", "duplex.agent_overlap_share", "duplex.late_units_share")


class DuplexFigures(Model):
    """Figures of one full-duplex agent's turns. Shares are 0–1, times in ms."""

    overlap_share: float | None = None
    """Share of the caller's speech over which the agent speaks, without backchannels."""
    overlap_interval: Interval | None = None
    agent_overlap_share: float | None = None
    """Share of the agent's speech, without backchannels, over which the caller speaks."""
    agent_overlap_interval: Interval | None = None
    backchannels_per_minute: float | None = None
    """Backchannels before the turn's end, for each minute of the caller's speech."""
    backchannels_per_minute_interval: Interval | None = None
    backchannels_where: dict[Where, int] = Field(default_factory=dict)
    murmured_share: float | None = None
    """Share of the caller's speech with a backchannel."""
    late_units_share: float | None = None
    """Share of the units that came later than 1.5 times their cadence after the one before."""
    late_units_interval: Interval | None = None
    unit_ms: float | None = None
    """The cadence: the length of a unit, the median over turns."""
    longest_unit_gap_ms: float | None = None
    """The longest time from a unit to the next; null where none was late."""


def duplex_figures(turns: Turns) -> DuplexFigures | None:
    """The figures of the turns of one agent, by cluster; None if it is not full duplex."""
    found = [(c, t.duplex) for c, group in turns.items() for t in group if t.duplex is not None and t.discarded is None]
    if not found:
        return None
    table = TurnTable.of_groups(turns)
    over, of_agent, late = (estimate(table, name) for name in SHARES)
    where: Counter[Where] = Counter(place for _, turn in found for place in turn.where)
    rates = [(c, MS_A_MINUTE * (len(t.where) - t.where.count("after_turn")) / t.caller_ms) for c, t in found if t.caller_ms]
    spoken_ms = [t.caller_ms for _, t in found if t.caller_ms]
    rate, band = clustered_mean(rates, weights=spoken_ms) if rates else (None, None)
    cadences = [t.cadence_ms for _, t in found if t.cadence_ms is not None]
    return DuplexFigures(
        overlap_share=over.value if over else None,
        overlap_interval=over.interval if over else None,
        agent_overlap_share=of_agent.value if of_agent else None,
        agent_overlap_interval=of_agent.interval if of_agent else None,
        backchannels_per_minute=rate,
        backchannels_per_minute_interval=band,
        backchannels_where=dict(where),
        murmured_share=sum(t.murmured_ms for _, t in found) / sum(spoken_ms) if spoken_ms else None,
        late_units_share=late.value if late else None,
        late_units_interval=late.interval if late else None,
        unit_ms=median(cadences) if cadences else None,
        longest_unit_gap_ms=max((ms for _, t in found for ms in t.unit_gaps_ms), default=None),
    )


def duplex_words(cell: DuplexFigures | None) -> str:
    """`speaks over 4 % of its caller's speech; …`, without full stop; empty for an agent that is not full duplex."""
    if cell is None or cell.backchannels_per_minute is None:
        return ""
    parts = [
        f"speaks over {share(cell.overlap_share)} of its caller's speech",
        f"{cell.backchannels_per_minute:.1f} backchannels a minute of it",
    ]
    if cell.unit_ms is not None:
        longest = (
            f", the longest after {milliseconds(cell.longest_unit_gap_ms)}" if cell.longest_unit_gap_ms is not None else ""
        )
        parts.append(f"{share(cell.late_units_share)} of its units of {milliseconds(cell.unit_ms)} late{longest}")
    return "; ".join(parts)
