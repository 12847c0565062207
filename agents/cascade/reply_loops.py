"""The end of a reply at its first repetition.

Small models fall into loops: one told a caller "No, no, no, no …" for twelve seconds, another said one sentence over and
over. A penalty on repeated tokens makes that rarer and cannot end it. So the words are watched as they stream: the same one
or two words three times in a row, the same three to twelve words twice in a row, or a sentence or clause of three words and
more that the reply has said before. "No, no" and "very, very" pass. Words that may be the beginning of a repeated phrase
wait until they differ from it, so that nothing of it is heard; a repeated sentence is known as such only at its end, which is
why a reply's later sentences wait until they are whole (`answer_text`).
"""

import re
from dataclasses import dataclass, field
from typing import Final

_WORD: Final = re.compile(r"[\w']+")
_BETWEEN_WORDS: Final = re.compile(r"[^\w']")
_SENTENCE: Final = re.compile(r"(?:\A|(?<=[.!?…]))[^.!?…]++[.!?…]")
_CLAUSE: Final = re.compile(r"(?:\A|(?<=[.!?…,;:—]))[^.!?…,;:—]++[.!?…,;:—]")
_LONGEST: Final = 12
_SHORT: Final = 2
"""Words that people say twice in a row for emphasis, at most."""
_LEAST_CLAUSE_WORDS: Final = 3
_JOINS: Final = frozenset(("and", "but", "or", "so", "because"))
"""Words that join a clause to the one before it, and make it no other clause."""


@dataclass(slots=True)
class LoopStop:
    """A filter that passes a reply until it repeats itself; then `looped` is true."""

    looped: bool = False
    said: str = ""
    """All that came; once looped, the reply without the repetition."""
    _words: list[str] = field(default_factory=list)
    _begins: list[int] = field(default_factory=list)
    _read: dict[re.Pattern[str], int] = field(default_factory=dict)
    _position: int = 0
    _passed: int = 0

    def push(self, delta: str) -> str:
        """The part of the reply that may be spoken now."""
        if self.looped:
            return ""
        self.said += delta
        found = (self._phrase_again(), self._said_before(_SENTENCE), self._said_before(_CLAUSE))
        begin = min((begin for begin in found if begin is not None), default=None)
        if begin is not None:
            self.looped = True
            self.said = self.said[:begin]
        return self._pass(len(self.said) if self.looped else self._doubtful_from())

    def flush(self) -> str:
        """The rest of a reply whose stream is over."""
        return self._pass(len(self.said))

    def _pass(self, until: int) -> str:
        begin, self._passed = self._passed, max(self._passed, until)
        return self.said[begin : self._passed]

    def _doubtful_from(self) -> int:
        """The place from which the reply may be repeating a phrase; the end if it is not."""
        words, doubtful = self._words, [len(self.said)]
        for size in range(1, _LONGEST + 1):
            certain = size * (_copies(size) - 1)
            # After a word was said twice, the next one waits; a longer phrase is in doubt from its first word on.
            for more in range(0 if size <= _SHORT else 1, size):
                tail = words[-certain - more :]
                if len(tail) == certain + more and all(tail[k] == tail[k % size] for k in range(len(tail))):
                    doubtful.append(self._begins[-more] if more else self._position)
        begun = self.said[self._position :].lower()
        if any(word.startswith(begun) for word in words[:-_SHORT]):
            doubtful.append(self._position)
        return min(doubtful)

    def _phrase_again(self) -> int | None:
        for begin, word in self._new_words():
            self._words.append(word)
            self._begins.append(begin)
            if (size := repeated_words(self._words)) is not None:
                return self._begins[-size]
        return None

    def _new_words(self) -> list[tuple[int, str]]:
        """The words that have become complete, with their places."""
        complete = max((found.end() for found in _BETWEEN_WORDS.finditer(self.said, self._position)), default=self._position)
        new = [(found.start(), found.group().lower()) for found in _WORD.finditer(self.said, self._position, complete)]
        self._position = complete
        return new

    def _said_before(self, stretch: re.Pattern[str]) -> int | None:
        """The begin of a sentence or clause whose words the reply has said before."""
        for found in stretch.finditer(self.said, self._read.get(stretch, 0)):
            self._read[stretch] = found.end()
            words = _WORD.findall(found.group().lower())
            words = words[1:] if words and words[0] in _JOINS else words
            earlier = f" {' '.join(_WORD.findall(self.said[: found.start()].lower()))} "
            if len(words) >= _LEAST_CLAUSE_WORDS and f" {' '.join(words)} " in earlier:
                return found.start()
        return None


def _copies(size: int) -> int:
    """The number of times in a row that make a repetition of a phrase of `size` words."""
    return 3 if size <= _SHORT else 2


def repeated_words(words: list[str]) -> int | None:
    """The length of the phrase at the end that repeats the one directly before it; None if there is none."""
    for size in range(1, _LONGEST + 1):
        copies = _copies(size)
        if len(words) >= size * copies:
            tail = words[-size * copies :]
            if all(tail[k] == tail[k % size] for k in range(len(tail))):
                return size
    return None


def before_repetition(text: str) -> str:
    """The text up to its first repetition; all of it if there is none."""
    stop = LoopStop()
    stop.push(text + " ")
    return stop.said.strip()
