"""The places of people's pauses in a turn: each gap between two words has a kind, and each kind has people's odds of a pause.

Pauses are not spread evenly over words. People stop where a sentence is complete, beside a filler or a word said twice, and
before "and" or "but", and now and then between any two words. For an agent that ends a turn by its words the first kind is a
trap and the others are a help, so callers must have all of them in people's proportion.

The odds are fitted on the patients of PriMock57 (Korfiatis et al. 2022, CC BY 4.0): 57 mock consultations, transcribed and
timed by hand, by utterance and not by word.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

Kind = Literal["after_sentence", "hesitation", "before_conjunction", "after_comma", "elsewhere"]
KINDS: Final[tuple[Kind, ...]] = ("after_sentence", "hesitation", "before_conjunction", "after_comma", "elsewhere")

FILLERS: Final = frozenset(("um", "uh", "er", "erm", "ah", "hm", "hmm", "mm", "umm", "uhm", "eh"))
CONJUNCTIONS: Final = frozenset(("and", "but", "so", "because", "cause", "or", "if", "when", "then", "that", "which", "while"))
"""Words that open a clause. After a full stop they are the beginning of another sentence, and the gap is `after_sentence`."""

PAUSES_A_GAP: Final[Mapping[Kind, float]] = {
    "after_sentence": 0.77,
    "hesitation": 0.98,
    "before_conjunction": 0.08,
    "after_comma": 0.65,
    "elsewhere": 0.10,
}
"""Pauses per gap of each kind (patients of PriMock57, 3,434 utterances of 57 talks); only their ratios are used.
Of those patients' pauses 12, 42, 2, 22 and 23 % fall at the five kinds: how many a text has depends on its own gaps. A
hesitation counts the length of the "um" itself, and final lengthening counts everywhere, so these are odds of *hearing a
delay*."""

_ENDS_SENTENCE = re.compile(r"(?<![.?!])[.?!]++[\"'”’)]*+$")
_TRAILS_OFF = re.compile(r"((?<!\.)\.\.++|…|--?|–|—)[\"'”’)]*+$")
_DASH = re.compile(r"^(--?|–|—|…|\.\.+)")


def kind_of_gap(words: Sequence[str], gap: int) -> Kind:
    """The kind of the gap before `words[gap]` (1 to the number of words less 1); words keep their punctuation."""
    before, after = words[gap - 1], words[gap]
    left, right = bare(before), bare(after)
    if left in FILLERS or _TRAILS_OFF.search(before) or _DASH.match(after):
        return "hesitation"
    if _ENDS_SENTENCE.search(before):
        return "after_sentence"
    if right in FILLERS or left == right or two_words(words, gap) in ("you know", "i mean"):
        return "hesitation"
    if right in CONJUNCTIONS:
        return "before_conjunction"
    return "after_comma" if before.rstrip("\"'”’)").endswith((",", ";", ":")) else "elsewhere"


def two_words(words: Sequence[str], gap: int) -> str:
    """The last two words before a gap, bare; fewer at the start of a turn."""
    return " ".join(bare(word) for word in words[max(0, gap - 2) : gap])


def bare(word: str) -> str:
    """A word without punctuation, in lower case."""
    return re.sub(r"[^\w']", "", word.lower().replace("’", "'")).strip("'")
