"""Pause marks: `<pause 450>` inside a seeker turn is exactly that many milliseconds of true silence.

They stand in the text, not beside it, because a pause is only plausible at its place among the words, and because false
starts are counted per pause. The mix that shipped packs follow is fixed: an agent that answers after 700 ms of silence
must meet pauses on both sides of that, or its endpointing is not tested.
"""

import re
from collections.abc import Iterable

PAUSE = re.compile(r"<pause ([0-9]{1,5})>")
_MARK_LIKE = re.compile(r"<\s*/?\s*paus[^>]*>?", re.IGNORECASE)

LEAST_MS = 50
"""Below this a pause is the closure of a plosive, not a pause."""
MOST_MS = 5_000
"""Above this a person on a telephone asks whether anybody is there, and the turn is over."""

MIX = (
    ("200-500", 200, 500, 0.40),
    ("500-800", 500, 800, 0.35),
    ("800-1200", 800, 1_201, 0.20),
    ("longer", 1_201, MOST_MS + 1, 0.05),
)
"""Name, from (inclusive) and to (exclusive) in ms, share of all pauses of a pack."""


def pauses_ms(text: str) -> tuple[int, ...]:
    """Lengths of the marked pauses of one turn, in ms, in order."""
    return tuple(int(found) for found in PAUSE.findall(text))


def without_pauses(text: str) -> str:
    """What is said, for those who read: marks gone, blanks joined."""
    return " ".join(PAUSE.sub(" ", text).split())


def fault_in_marks(text: str) -> str | None:
    """One line on the first mark that is malformed, absurd or at an edge of the turn; None where all are well."""
    for found in _MARK_LIKE.finditer(text):
        if not PAUSE.fullmatch(found.group()):
            return f"{found.group()!r} is no pause mark; write <pause 450> (milliseconds)"
    for ms in pauses_ms(text):
        if not LEAST_MS <= ms <= MOST_MS:
            return f"<pause {ms}> is outside {LEAST_MS} to {MOST_MS} ms"
    if PAUSE.match(text.lstrip()) or re.search(PAUSE.pattern + r"\s*$", text):
        return "a pause mark may not open or close a turn: there it is silence of the line, not of the speaker"
    if not any(character.isalnum() for character in without_pauses(text)):
        return "nothing is said in this turn"
    return None


def mix_of(pauses: Iterable[int]) -> dict[str, float]:
    """Share of each class of `MIX` among the pauses (all 0 where there is none)."""
    all_of_them = tuple(pauses)
    return {
        name: sum(low <= ms < high for ms in all_of_them) / len(all_of_them) if all_of_them else 0.0
        for name, low, high, _ in MIX
    }
