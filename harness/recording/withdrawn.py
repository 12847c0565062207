"""Sound that an agent takes back (`clear`) before anybody could understand it: *withdrawn sound*, which is no answer.

An agent that decides too early begins to speak, notices that it should not have, and drops what it had sent. A listener hears
a blip and goes on waiting, so the wait goes on too, and what the agent says next answers. The other way a false start would be
an agent's best figure, and the more of them the better.
"""

from collections.abc import Iterable
from typing import Final

from harness.timeline import NS_PER_MS

UNDERSTOOD_MS: Final = 200.0
"""GATING"""
TAKEN_BACK_MS: Final = 20.0
"""A `clear` this long after the last sound still took it back: an agent that sends in real time has one frame under way."""


def is_withdrawn(start_ns: int, end_ns: int, clears_ns: Iterable[int]) -> bool:
    """Whether sound that was heard from one time to another was taken back before it could be understood."""
    if end_ns - start_ns >= UNDERSTOOD_MS * NS_PER_MS:
        return False
    return any(start_ns < clear_ns <= end_ns + TAKEN_BACK_MS * NS_PER_MS for clear_ns in clears_ns)
