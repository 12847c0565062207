"""Which conversation a supporter gets next.

HEART's people answer three of twelve conversations, none twice (paper, section 9.3). The least answered come first, so that
a conversation has its answer before another has its second; among equals a seeded order, so that two who begin at once
differ. A discarded answer frees its place for somebody else, and never comes back to the person who heard the conversation.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from harness.people.supporter.into_run import MOST_CONTEXTS

MOST_PEOPLE: Final = 3
"""Most people of one conversation: 12 people × 3 of 12 conversations."""


def next_of(
    contexts: Sequence[str], mine: Sequence[str], given: Iterable[str], kept: Iterable[str], person: str, seed: bytes
) -> str | None:
    """The next conversation; None when this person has had enough, or every conversation its people.

    `mine`: all that this person ever got. `given` and `kept`: conversations that people got and did not discard, and those
    whose answers are kept, once for each person.
    """
    if len(mine) >= MOST_CONTEXTS:
        return None
    covered, answered = Counter(given), Counter(kept)
    open_ = [c for c in contexts if c not in mine and answered[c] < MOST_PEOPLE]
    return min(open_, key=lambda c: (covered[c], hashlib.sha256(seed + f"{person}\0{c}".encode()).digest()), default=None)
