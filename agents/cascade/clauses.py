"""The division of a reply into pieces that a voice can speak in one breath each, the first as early as possible.

A synthesiser fed whole sentences starts late: a small model on two cores needs half a second for a sentence, and
synthesis takes its length again. A clause is enough to begin with, provided that the next piece is ready before it has
been said. So the first piece ends at the first punctuation, or before a word that opens a new clause; later ones, for which
there is time, end with their sentence, or at a comma once they are long. Where they would take longer to make than what was
said before them takes to say, an earlier comma or opening word will do. No piece ends inside a clause.
"""

import re
from collections.abc import AsyncIterator
from typing import Final

from pipecat.utils.text.base_text_aggregator import Aggregation, BaseTextAggregator, TextType

_SENTENCE_END: Final = r"[.!?…]+[\"')\]]*(?=\s)"
_COMMA: Final = r"(?<![\d])[,;:](?=\s)|\s[–—]\s?|(?<=\w)—"
_BREAK: Final = re.compile(f"(?P<comma>{_COMMA})|{_SENTENCE_END}")
_ENDS_HERE: Final = re.compile(r"(?<=[^\W\d_])[,;]$|(?<=[^\W\d_]{3})[.!?]$")
"""After a letter, a mark at the end of the text ends the first piece: waiting for the next word costs a token, 14–25 ms on two
cores. A full stop after fewer than three letters may belong to an abbreviation."""
_CLOSERS: Final = ".!?…\"')]"
_COMMA_AFTER_WORDS: Final = 8
"""Least words of a later piece cut at a comma: seams are audible, and there is time."""
_WORDS_BOUGHT_BY_A_WORD: Final = 2
"""A word takes 300 ms to say, and 85 to write and synthesise on two cores, up to 140 when they are slow. So after two words
four may follow before their sound is late: longer pieces are cut at a comma or before an opener from there."""
_OPENERS: Final = frozenset(
    "that and but because when while if so though although since after before which who".split()  # noqa: SIM905
)
"""Words before which a speaker may breathe."""
_OPENER_AFTER_WORDS: Final = 5
"""Least words before an opener, so that the piece is a phrase: "I'm so sorry to hear | that …"."""
_ABBREVIATIONS: Final = frozenset(("mr.", "mrs.", "ms.", "dr.", "st.", "e.g.", "i.e.", "etc.", "vs.", "a.m.", "p.m."))


def first_cut(text: str, least_words: int) -> int | None:
    """The end of a reply's first piece in `text`; None while it may still grow. The rest begins at that index."""
    for found in _BREAK.finditer(text):
        if _is_end(text[: found.end()]) and len(text[: found.end()].split()) >= least_words:
            return found.end()
    if (opener := _opener(text, least_words)) is not None:
        return opener
    if _ENDS_HERE.search(text) and _is_end(text) and len(text.split()) >= least_words:
        return len(text)
    return None


def later_cut(text: str, words_said: int) -> int | None:
    """The end of a later piece in `text`; None while it may still grow. `words_said` are in earlier pieces."""
    in_time = _WORDS_BOUGHT_BY_A_WORD * words_said
    comma_after = min(_COMMA_AFTER_WORDS, in_time)
    for found in _BREAK.finditer(text):
        piece = text[: found.end()]
        if _is_end(piece) and (found.group("comma") is None or len(piece.split()) >= comma_after):
            return _opener(piece, in_time) or found.end()
    return _opener(text, in_time)


def _opener(text: str, least_words: int) -> int | None:
    """The index of the first word that opens a clause after at least `least_words` words and a phrase."""
    for word in re.finditer(r"(?<=\s)(\w+)(?=\s)", text):
        words_before = len(text[: word.start()].split())
        if word.group().lower() in _OPENERS and words_before >= max(least_words, _OPENER_AFTER_WORDS):
            return word.start()
    return None


def _is_end(piece: str) -> bool:
    words = piece.split()
    return bool(words) and words[-1].lower() not in _ABBREVIATIONS


class ClauseAggregator(BaseTextAggregator):
    """A pipecat text aggregator that yields clauses. `least_words`: a shorter piece waits for the next boundary."""

    def __init__(self, least_words: int = 3) -> None:
        super().__init__(aggregation_type=TextType.SENTENCE)
        self._least_words = least_words
        self._held = ""
        self._words_said = 0

    @property
    def text(self) -> Aggregation:
        return Aggregation(self._held.strip(), TextType.SENTENCE)

    async def aggregate(self, text: str) -> AsyncIterator[Aggregation]:
        # A mark that closes a piece which is already spoken ("…", a quotation mark) does not begin the next.
        self._held += text if self._held or not self._words_said else text.lstrip(_CLOSERS)
        while (cut := self._cut()) is not None:
            piece, self._held = self._held[:cut].strip(), self._held[cut:]
            self._words_said += len(piece.split())
            yield Aggregation(piece, TextType.SENTENCE)

    def _cut(self) -> int | None:
        if not self._words_said:
            return first_cut(self._held, self._least_words)
        return later_cut(self._held, self._words_said)

    async def flush(self) -> Aggregation | None:
        piece = self._held.strip()
        await self.reset()
        return Aggregation(piece, TextType.SENTENCE) if piece else None

    async def handle_interruption(self) -> None:
        await self.reset()

    async def reset(self) -> None:
        self._held = ""
        self._words_said = 0
