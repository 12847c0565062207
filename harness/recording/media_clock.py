"""Whether the clock by which a sender places its packets (RTP) can be believed from one packet to the next.

A media clock that goes back, or runs ahead by more than any player would hold, says nothing of when a packet belongs: the next
one is then heard as it comes, and no figure is made of that clock.
"""

from collections.abc import Sequence
from typing import Final

from harness.recording.record import Arrival
from harness.timeline import NS_PER_S

AHEAD_S: Final = 10.0
"""How far a packet may lie ahead of its arrival, compared with the first. Chrome's jitter buffer holds 200 packets, 4 s (NetEq,
`max_packets_in_buffer`), so that nothing of such a packet would be kept until its time."""


def leaps(arrivals: Sequence[Arrival]) -> list[bool]:
    """Of each packet, whether the media clock cannot be true there; never without one."""
    found: list[bool] = []
    first: int | None = None
    before: int | None = None
    for arrival in arrivals:
        if arrival.media is None:
            found.append(False)
            continue
        ahead_ns = arrival.media.at_ns - arrival.arrival_ns
        first = ahead_ns if first is None else first
        back = before is not None and arrival.media.at_ns < before
        found.append(back or ahead_ns - first > AHEAD_S * NS_PER_S)
        before = arrival.media.at_ns
    return found
