"""The response potential of a seeker turn: the strength of distress, conflict and requests for help in it.

The paper screens couplets for it before anything else. Here it is a score from word lists on file, so that a person can
see why a turn was kept: distress (up to 4) + conflict (up to 3) + request (up to 4) + 1 for a length that can be spoken in
two to four sentences. A turn that closes the talk, thanks, or asks about the supporter's own life has none.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import yaml

from harness.scenarios.screens.spelling import one_spelling

LEAST_WORDS, MOST_WORDS = 12, 90
"""Words of a turn: below twelve it is an answer to a question; above ninety it is a monologue of more than half a minute."""
SPOKEN_WORDS = (18, 60)
LEAST_SCORE = 4.0
"""Least score: a clear feeling and one more sign, which is one strong word and a mild one, or a plain word and a request."""

_ABOUT_SUPPORTER = re.compile(
    r"\b(?:do|did|have|has|are|were|was|would|can|could) you (?!think (?:i|that|my|he|she|they|it|this)|see how|understand|"
    r"know what i mean|know how i|believe|suggest|recommend|help|give|advise|imagine)"
    r"|\bhow (?:long|did|do|old|many|much) (?:\w+ ){0,3}you\b|\bhappen\w* to you\b|\byou said you\b"
    r"|\b(?:has|have|did|does|is|was) (?:someone|somebody|anyone|anybody|your \w+) (?:\w+ ){0,3}you\b"
    r"|\b(?:how|what) about you\b|\byour (?:husband|wife|kids|job|family|friends?|partner|girlfriend|boyfriend|boss|name)\b"
)


_NO_FEELING = re.compile(
    r"\b(?:(?:dont|didnt|doesnt|not) feel|im not|i am not|isnt|wasnt|not|no) (?:too |that |as |any )?"
    r"(?:guilty|sad|angry|worried|scared|afraid|anxious|depressed|upset|stressed|alone|lonely|hurt|problem|hard|bad)\b"
    r"|\b(?:is|was|thats|its|what) a shame\b|\bim afraid so\b|\bworries\b"
)
"""Phrases with a word of feeling that deny the feeling."""
_FIRST_PERSON = re.compile(r"\b(?:i|im|ive|id|ill|me|my|mine|myself|we|our)\b")


@dataclass(frozen=True, slots=True)
class Potential:
    """The parts of the score of one seeker turn, and the turn's length in words."""

    distress: float
    conflict: float
    request: float
    closing: float
    words: int
    about_supporter: bool
    of_oneself: bool

    @property
    def score(self) -> float:
        """The sum defined in the module's docstring (2 to 12); 0 for a turn without potential."""
        if self.closing or self.about_supporter or not self.of_oneself or not LEAST_WORDS <= self.words <= MOST_WORDS:
            return 0.0
        return self.distress + self.conflict + self.request + (SPOKEN_WORDS[0] <= self.words <= SPOKEN_WORDS[1])

    @property
    def is_high_stakes(self) -> bool:
        """True for a clear emotional signal (some distress) with a sufficient sum."""
        return self.distress >= 1 and self.score >= LEAST_SCORE


@lru_cache(maxsize=50_000)
def potential(text: str) -> Potential:
    """The response potential of one seeker turn; none for a turn of unsuitable length."""
    if not LEAST_WORDS <= len(text.split()) <= MOST_WORDS:
        return Potential(0.0, 0.0, 0.0, 0.0, len(text.split()), False, False)
    plain = _NO_FEELING.sub(" ", one_spelling(text))
    kinds = {kind: _weight(plain, kind) for kind in ("distress", "conflict", "request", "closing")}
    return Potential(
        **kinds,
        words=len(text.split()),
        about_supporter=bool(_ABOUT_SUPPORTER.search(plain)),
        of_oneself=bool(_FIRST_PERSON.search(plain)),
    )


def _weight(plain: str, kind: str) -> float:
    cap, patterns = _lists()[kind]
    return min(cap, sum(weight * len(set(pattern.findall(plain))) for weight, pattern in patterns))


@cache
def _lists() -> dict[str, tuple[float, tuple[tuple[float, re.Pattern[str]], ...]]]:
    raw = yaml.load((Path(__file__).parent / "potential.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return {
        kind: (float(weights["cap"]), tuple((float(w), _any_of(words.split())) for w, words in weights["words"].items()))
        for kind, weights in raw.items()
    }


def _any_of(words: list[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(word.replace('_', ' ') for word in words)})\b")
