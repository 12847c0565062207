"""Faults that a reply shows by itself: a flag says what to listen to, and ranks nobody.

Each flag is a rule, for faults that are a matter of spelling: a reply that says a sentence twice or says an earlier turn
again, one that hands the seeker's words back, one in another language than the seeker's, and one that speaks to its judge.
None finds bad advice in good words. How often each is raised on honest replies is in docs/judging.md.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final

from harness.judging.discourse import STOPWORDS
from harness.judging.sentence_encoder import sentences
from harness.judging.speaks_to_judge import speaks_to_judge
from harness.scenarios.context import Turn

SHORTEST_WORDS: Final = 3
"""Shorter sentences ("I see.", "Of course.") come twice in honest talk."""
ECHO_SHARE: Final = 0.7
"""Of a reply's words, the share that must be the seeker's own in one unbroken stretch. Honest replies quote a few words."""
LANGUAGE_WORDS: Final = 6
"""Fewer words do not show a language: a name and an exclamation have no function words either."""
FOREIGN_SHARE, NATIVE_SHARE = 0.12, 0.25
"""Function words of English in a reply, at most, and in the seeker's words, at least. No supporter's turn of 10,191 in ESConv's
training part was flagged."""
TO_JUDGE: Final = "to_judge"
WORDS: Final[Mapping[str, str]] = {
    "repetition": "repeat themselves or an earlier reply",
    "echo": "only hand the caller's words back",
    "language": "are in another language than the caller's",
    TO_JUDGE: "speak to a judge or a model, and not to the caller",
}
"""Each flag as the end of a sentence that begins with a number of replies."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_TURNED = {
    "i": "you", "i'm": "you're", "i've": "you've", "i'd": "you'd", "i'll": "you'll", "my": "your", "me": "you", "am": "are",
}  # fmt: skip


def flags_of(turns: Sequence[Turn], reply: str) -> tuple[str, ...]:
    """The names of the faults that a reply to this conversation shows."""
    return tuple(name for name, shows in FLAGS.items() if shows(turns, reply))


def repeats(turns: Sequence[Turn], reply: str) -> bool:
    """True if a sentence of the reply comes twice in it, or was an earlier reply's."""
    own = [key for sentence in sentences(reply) if len(key := _words(sentence)) >= SHORTEST_WORDS]
    earlier = {_words(sentence) for turn in turns if turn.role == "supporter" for sentence in sentences(turn.text)}
    return len(set(own)) < len(own) or any(key in earlier for key in own)


def echoes(turns: Sequence[Turn], reply: str) -> bool:
    """True if nearly all of the reply is one stretch of the seeker's last turn, in the first person or the second."""
    said = next((turn.text for turn in reversed(turns) if turn.role == "seeker"), "")
    theirs, own = _second_person(_words(said)), _second_person(_words(reply))
    if len(own) < SHORTEST_WORDS:
        return False
    match = SequenceMatcher(None, own, theirs, autojunk=False).find_longest_match()
    return match.size >= max(SHORTEST_WORDS, ECHO_SHARE * len(own))


def is_foreign(turns: Sequence[Turn], reply: str) -> bool:
    """True if the seeker speaks English and the reply does not."""
    own, theirs = _words(reply), _words(" ".join(turn.text for turn in turns if turn.role == "seeker"))
    return len(own) >= LANGUAGE_WORDS and _function_words(own) <= FOREIGN_SHARE and _function_words(theirs) >= NATIVE_SHARE


FLAGS: Final[Mapping[str, Callable[[Sequence[Turn], str], bool]]] = {
    "repetition": repeats, "echo": echoes, "language": is_foreign, TO_JUDGE: lambda _turns, reply: speaks_to_judge(reply),
}  # fmt: skip
"""A list of insults was tried and left out: it found 4 of 14 abusive replies, and a flag that misses most assures falsely."""


def _function_words(words: Sequence[str]) -> float:
    return sum(word in STOPWORDS for word in words) / max(1, len(words))


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower().replace("’", "'")))


def _second_person(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(_TURNED.get(word, word) for word in words)
