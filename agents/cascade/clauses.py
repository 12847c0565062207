"""The division of a reply into pieces that a voice can speak in one breath each, the first as early as possible.

A synthesiser fed whole sentences starts late: a small model on two cores needs half a second for a sentence, and
synthesis takes its length again. A clause is enough to begin with, provided that the next piece is ready before it has
been said. So the first piece ends at the first punctuation, or before a word that opens a new clause; later ones, for which
there is time, end with their sentence, or at a comma once they are long. Where they would take longer to make than what was
said before them takes to say, an earlier comma or opening word will do. No piece ends inside a clause, except a first one that
may be short (`most_first_words`): it ends before a word that does not lean on the one before.
"""

import re
from bisect import bisect_left
from collections.abc import AsyncIterator
from typing import Final

from pipecat.utils.text.base_text_aggregator import Aggregation, BaseTextAggregator, TextType

_SENTENCE_END: Final = r"(?<![.!?…])[.!?…]++[\"')\]]*+(?=\s)"
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
_DETERMINERS: Final = frozenset(
    "a an the my your his her its our their some any no every each another such what which".split()  # noqa: SIM905
)
_PREPOSITIONS: Final = frozenset("of in on at to for with from by about into over after before like as than".split())  # noqa: SIM905
_CONJUNCTIONS: Final = frozenset("and but or if because when while so who how where why".split())  # noqa: SIM905
_SUBJECTS: Final = frozenset("i you he she it we they there this that these those let".split())  # noqa: SIM905
_AUXILIARIES: Final = frozenset(
    "am is are was were be been being have has had do does did can could will would should may might must going want".split()  # noqa: SIM905
)
_ADVERBS: Final = frozenset("not never just only even also still always really very too quite pretty more most".split())  # noqa: SIM905
_LEANING: Final = _DETERMINERS | _PREPOSITIONS | _CONJUNCTIONS | _SUBJECTS | _AUXILIARIES | _ADVERBS
"""Words that lean on the next one: nobody breathes after them."""
_CLINGING: Final = frozenset("me you him her it us them this that one to".split())  # noqa: SIM905
"""Words that lean on the one before: objects, and the "to" of "want to"."""
_WORD: Final = re.compile(r"\S+")
_MARKS: Final = ",;:.!?…—–"
_CONTRACTED: Final = re.compile(r"(n['’]t|['’](m|re|ve|ll|d|s))$")
"""Contractions lean too, and a possessive."""
_ABBREVIATIONS: Final = frozenset(("mr.", "mrs.", "ms.", "dr.", "st.", "e.g.", "i.e.", "etc.", "vs.", "a.m.", "p.m."))


def first_cut(text: str, least_words: int, most_words: int | None = None) -> int | None:
    """The end of a reply's first piece in `text`; None while it may still grow. The rest begins at that index.

    With `most_words` a piece that has so many ends before the first word that does not lean on the one before, nor that on it.
    """
    if most_words is not None and (early := _early(text, most_words)) is not None:
        text = text[:early]
        return first_cut(text, least_words) or early
    words = _Words(text)
    for found in _BREAK.finditer(text):
        if words.may_end(found.end()) and words.until(found.end()) >= least_words:
            return found.end()
    if (opener := _opener(text, least_words)) is not None:
        return opener
    if _ENDS_HERE.search(text) and words.may_end(len(text)) and words.until(len(text)) >= least_words:
        return len(text)
    return None


def later_cut(text: str, words_said: int) -> int | None:
    """The end of a later piece in `text`; None while it may still grow. `words_said` are in earlier pieces."""
    in_time = _WORDS_BOUGHT_BY_A_WORD * words_said
    comma_after = min(_COMMA_AFTER_WORDS, in_time)
    words = _Words(text)
    for found in _BREAK.finditer(text):
        if words.may_end(found.end()) and (found.group("comma") is None or words.until(found.end()) >= comma_after):
            return _opener(text[: found.end()], in_time) or found.end()
    return _opener(text, in_time)


def _opener(text: str, least_words: int) -> int | None:
    """The index of the first word that opens a clause after at least `least_words` words and a phrase."""
    for words_before, word in enumerate(_WORD.finditer(text)):
        whole = word.end() < len(text)
        if whole and words_before >= max(least_words, _OPENER_AFTER_WORDS) and word.group().lower() in _OPENERS:
            return word.start()
    return None


def _early(text: str, most_words: int) -> int | None:
    """The index of the first word, behind `most_words` words, before which a speaker may stop for a moment.

    Of that word there may only be the beginning, for waiting until it is whole would cost a token.
    """
    words = list(_WORD.finditer(text))
    for k in range(most_words, len(words)):
        determined = k > 1 and _bare(words[k - 2].group()) in _DETERMINERS
        coming = _bare(words[k].group())
        # "a good" may be the whole of it or not; what follows shows.
        whole = coming in _LEANING if determined else coming not in _CLINGING and coming[-1:] not in _MARKS
        if whole and not _leans(_bare(words[k - 1].group())):
            return words[k].start()
    return None


def _leans(word: str) -> bool:
    return word in _LEANING or word in _ABBREVIATIONS or word.isdigit() or _CONTRACTED.search(word) is not None


def _bare(word: str) -> str:
    return word.strip("\"'“”‘’()").lower()


class _Words:
    """The words of a text and their places, found once: a text of commas or abbreviations has a break at each of its words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._begins = [word.start() for word in _WORD.finditer(text)]

    def until(self, end: int) -> int:
        """The number of words before this place."""
        return bisect_left(self._begins, end)

    def may_end(self, end: int) -> bool:
        """True if a piece may end at this place: not at the dot of an abbreviation."""
        count = self.until(end)
        return count > 0 and self._text[self._begins[count - 1] : end].rstrip().lower() not in _ABBREVIATIONS


class ClauseAggregator(BaseTextAggregator):
    """A pipecat text aggregator that yields clauses. `least_words`: a shorter piece waits for the next boundary.

    `most_first_words`: where given, the length from which the first piece need not wait for one.
    """

    def __init__(self, least_words: int = 3, most_first_words: int | None = None) -> None:
        super().__init__(aggregation_type=TextType.SENTENCE)
        self._least_words = least_words
        self._most_first_words = most_first_words
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
            return first_cut(self._held, self._least_words, self._most_first_words)
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
