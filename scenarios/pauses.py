"""Pause marks: `<pause 450>` inside a seeker turn is exactly that many milliseconds of true silence.

They are in the text, not beside it, because a pause is only plausible at its place among the words, and because false
starts are counted per pause. Their lengths in shipped packs are those of people talking to agents (scenarios/pause_law.py).
"""

import re
from collections.abc import Iterable

PAUSE = re.compile(r"<pause ([0-9]{1,5})>")
_MARK_LIKE = re.compile(r"<\s*+/?\s*+paus[^>]*>?", re.IGNORECASE)

LEAST_MS = 50
"""Shortest mark: a shorter silence is the closure of a plosive, not a pause."""
MOST_MS = 5_000
"""Longest mark: after it a person on a telephone asks if anybody is there, and the turn is over."""

MIX = (("200-400", 200, 400), ("400-800", 400, 800), ("800-1600", 800, 1_600), ("longer", 1_600, MOST_MS + 1))
"""The classes of pause length for endpointing figures: name, from (inclusive) and to (exclusive) in ms."""


def pauses_ms(text: str) -> tuple[int, ...]:
    """Lengths of the marked pauses of one turn, in ms, in order."""
    return tuple(int(found) for found in PAUSE.findall(text))


def without_pauses(text: str) -> str:
    """The text for readers: without marks, blanks merged."""
    return " ".join(PAUSE.sub(" ", text).split())


def fault_in_marks(text: str) -> str | None:
    """One line on the first mark that is malformed, absurd or at an edge of the turn; None if there is none."""
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
    """The share of each class of `MIX` among the pauses (all 0 without pauses)."""
    all_of_them = tuple(pauses)
    return {
        name: sum(low <= ms < high for ms in all_of_them) / len(all_of_them) if all_of_them else 0.0 for name, low, high in MIX
    }
