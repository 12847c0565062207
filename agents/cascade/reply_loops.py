"""The end of a reply at its first repetition.

Small models fall into loops: one told a caller "No, no, no, no …" for twelve seconds, another said one sentence over and
over. A penalty on repeated tokens makes that rarer and cannot end it. So the words are watched as they stream: the same one
or two words three times in a row, the same three to twelve words twice in a row, or a sentence of three words and more that
the reply has said before. "No, no" and "very, very" pass. What was already passed on is heard; nothing after it is.
"""

import re
from dataclasses import dataclass, field
from typing import Final

_WORD: Final = re.compile(r"[\w']+")
_SENTENCE: Final = re.compile(r"[^.!?…]+[.!?…]")
_LONGEST: Final = 12
_LEAST_SENTENCE_WORDS: Final = 3


@dataclass(slots=True)
class LoopStop:
    """A filter that passes a reply until it repeats itself; then `looped` is true."""

    looped: bool = False
    _said: str = ""
    _sentences: set[tuple[str, ...]] = field(default_factory=set)
    _read: int = 0

    def push(self, delta: str) -> str:
        """The part of `delta` that may be spoken."""
        if self.looped:
            return ""
        before, self._said = self._said, self._said + delta
        last = max((found.end() for found in re.finditer(r"[^\w']", self._said)), default=0)
        self.looped = repeats(_WORD.findall(self._said[:last].lower())) or self._said_before()
        if not self.looped:
            return delta
        # The token that ends a repetition ends the reply: it only closes a word that is already complete.
        return self._said[len(before) : last] if last > len(before) else ""

    def _said_before(self) -> bool:
        for found in _SENTENCE.finditer(self._said, self._read):
            self._read = found.end()
            words = tuple(_WORD.findall(found.group().lower()))
            if len(words) >= _LEAST_SENTENCE_WORDS and words in self._sentences:
                return True
            self._sentences.add(words)
        return False


def repeats(words: list[str]) -> bool:
    """True if the last words repeat the phrase directly before them."""
    for size in range(1, _LONGEST + 1):
        copies = 3 if size < 3 else 2
        if len(words) >= size * copies:
            tail = words[-size * copies :]
            if all(tail[k] == tail[k % size] for k in range(len(tail))):
                return True
    return False


def before_repetition(text: str) -> str:
    """The text up to its first repetition; all of it if there is none."""
    stop = LoopStop()
    passed = ""
    for piece in re.findall(r"\S+\s*", text + " "):
        passed += stop.push(piece)
        if stop.looped:
            break
    return passed.strip()
