"""Check of the media clock by which a sender times its packets (RTP), from one packet to the next.

A media clock that goes back, or runs ahead by more than any player would buffer, does not show when a packet should play: the
next one is then heard as it arrives, and no figure is made of that clock.
"""

from collections.abc import Sequence
from typing import Final

from harness.recording.record import Arrival
from harness.timeline import NS_PER_S

AHEAD_S: Final = 10.0
"""Most that a packet may be ahead of its arrival, compared with the first. Chrome's jitter buffer takes 200 packets, 4 s
(NetEq, `max_packets_in_buffer`), so that such a packet would be lost before its time."""


def leaps(arrivals: Sequence[Arrival]) -> list[bool]:
    """For each packet, True where the media clock cannot be true; all False without a clock."""
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
