"""Cuts a reply into pieces that a voice can say in one breath each, as early as that is possible.

A synthesiser fed whole sentences starts late: a small model on two cores needs half a second for a sentence, and
synthesis takes its length again. A clause is enough to begin with, provided that the next is ready before it has been
said: a three-word piece lasts about a second, several times what the next piece takes. Pieces end at punctuation, or
before a word that opens a new clause; never inside one.
"""

import re
from collections.abc import AsyncIterator
from typing import Final

from pipecat.utils.text.base_text_aggregator import Aggregation, BaseTextAggregator, TextType

_BREAK: Final = re.compile(r"(?<![\d])[,;:](?=\s)|[.!?…]+[\"')\]]*(?=\s)|\s[–—]\s?|(?<=\w)—")
_OPENERS: Final = frozenset(
    [
        "that",
        "and",
        "but",
        "because",
        "when",
        "while",
        "if",
        "so",
        "though",
        "although",
        "since",
        "after",
        "before",
        "which",
        "who",
    ]
)
"""Words before which a speaker may breathe."""
_OPENER_AFTER_WORDS: Final = 5
"""Before an opener a piece must already be a phrase of its own ("I'm so sorry to hear | that …")."""
_ABBREVIATIONS: Final = frozenset(("mr.", "mrs.", "ms.", "dr.", "st.", "e.g.", "i.e.", "etc.", "vs.", "a.m.", "p.m."))


def first_cut(text: str, least_words: int) -> int | None:
    """Where the first piece of `text` ends, or None while it may still grow. The rest begins at the returned index."""
    for found in _BREAK.finditer(text):
        piece = text[: found.end()]
        if len(piece.split()) >= least_words and piece.split()[-1].lower() not in _ABBREVIATIONS:
            return found.end()
    for word in re.finditer(r"(?<=\s)(\w+)(?=\s)", text):
        words_before = len(text[: word.start()].split())
        if word.group().lower() in _OPENERS and words_before >= max(least_words, _OPENER_AFTER_WORDS):
            return word.start()
    return None


class ClauseAggregator(BaseTextAggregator):
    """A pipecat text aggregator that yields clauses. `least_words`: a shorter piece waits for the next boundary."""

    def __init__(self, least_words: int = 3) -> None:
        super().__init__(aggregation_type=TextType.SENTENCE)
        self._least_words = least_words
        self._held = ""

    @property
    def text(self) -> Aggregation:
        return Aggregation(self._held.strip(), TextType.SENTENCE)

    async def aggregate(self, text: str) -> AsyncIterator[Aggregation]:
        self._held += text
        while (cut := first_cut(self._held, self._least_words)) is not None:
            piece, self._held = self._held[:cut].strip(), self._held[cut:]
            yield Aggregation(piece, TextType.SENTENCE)

    async def flush(self) -> Aggregation | None:
        piece, self._held = self._held.strip(), ""
        return Aggregation(piece, TextType.SENTENCE) if piece else None

    async def handle_interruption(self) -> None:
        self._held = ""

    async def reset(self) -> None:
        self._held = ""
