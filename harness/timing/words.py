"""Times at which the first word, and the first word *of substance*, were heard.

An agent can buy a good first-audio figure with an empty opener ("I'm so sorry to hear that"), so the first word about
*this* caller gets a separate figure. A short closed list of fillers and stock openings, here in the open, decides which words
are empty, and not a model: a rule that anyone can check is worth more than a finer one.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from harness.timing.figures import TurnTiming

Word = tuple[str, float, float]
"""(word, start_s, end_s) on the recording's timeline."""

LATE_S: Final = 0.5
"""A recogniser's time of a word is wrong by up to 0.2 s; the caller's next turn, and the reply to it, come later than this."""
_FILLERS: Final = frozenset(
    ("ah", "aha", "aw", "er", "erm", "hey", "hi", "hello", "hm", "hmm", "huh", "mhm", "mm", "mmm", "mm-hm", "oh", "okay", "ok",
     "right", "so", "sure", "uh", "uh-huh", "um", "well", "wow", "yeah", "yes")
)  # fmt: skip
_STOCK_OPENINGS: Final = tuple(
    tuple(phrase.split())
    for phrase in (
        "i'm so sorry to hear that",
        "i'm really sorry to hear that",
        "i'm sorry to hear that",
        "i am so sorry to hear that",
        "i am sorry to hear that",
        "i'm so sorry you're going through this",
        "i'm sorry you're going through this",
        "i'm so sorry",
        "i'm really sorry",
        "i'm sorry",
        "i am sorry",
        "that sounds really hard",
        "that sounds really tough",
        "that sounds so hard",
        "that sounds hard",
        "that sounds tough",
        "that sounds difficult",
        "that must be hard",
        "that must be really hard",
        "that must be so hard",
        "i hear you",
        "i understand",
        "i completely understand",
        "i understand how you feel",
        "i can imagine",
        "thank you for sharing that",
        "thank you for sharing",
        "thanks for sharing that",
        "thank you for telling me",
        "i'm here for you",
        "it's okay",
        "it's okay to feel that way",
    )
)
# Longest first, or the shorter opening inside a longer one would leave a piece of it as "substance".
_BY_LENGTH: Final = tuple(sorted(_STOCK_OPENINGS, key=len, reverse=True))


def plain(word: str) -> str:
    """A word in the form in which lists are compared: small letters, straight apostrophes, no punctuation around it."""
    return re.sub(r"^[^a-z0-9]+|[^a-z0-9]+$", "", word.lower().replace("’", "'"))


def opening_length(words: Sequence[str]) -> int:
    """Number of words from the start that are fillers or stock openings; all of them for a reply without substance."""
    bare = [plain(w) for w in words]
    at = 0
    while at < len(bare):
        stock = next((s for s in _BY_LENGTH if tuple(bare[at : at + len(s)]) == s), None)
        if stock is not None:
            at += len(stock)
        elif bare[at] in _FILLERS or not bare[at]:
            at += 1
        else:
            break
    return at


def opening_words(text: str, count: int = 3) -> tuple[str, ...]:
    """The first words of a reply, in the form in which openings are compared."""
    return tuple(p for p in (plain(w) for w in text.split()) if p)[:count]


def with_words(timing: TurnTiming, words: Sequence[Word]) -> TurnTiming:
    """The same figures with `first_word_ms` and `first_substance_ms` from the transcript of the reply.

    Words that ended before the agent's first sound of this turn, or begin after its last, belong to something else and are left
    out.
    """
    reply = _of_this_reply(timing, words)
    if not reply or timing.ttfa_ms is None:
        return replace(timing, first_word_ms=None, first_substance_ms=None, transcribed=True)
    skipped = opening_length([w for w, _, _ in reply])
    return replace(
        timing,
        transcribed=True,
        first_word_ms=_after_spoken_end(timing, reply[0]),
        first_substance_ms=_after_spoken_end(timing, reply[skipped]) if skipped < len(reply) else None,
    )


def _of_this_reply(timing: TurnTiming, words: Sequence[Word]) -> list[Word]:
    onset_ms = timing.signed_ms if timing.signed_ms is not None else timing.ttfa_ms
    if onset_ms is None:
        return []
    onset_s = (timing.spoken_end_ms + onset_ms) / 1000
    end_s = math.inf if timing.reply_end_ms is None else (timing.spoken_end_ms + timing.reply_end_ms) / 1000 + LATE_S
    return [w for w in words if w[2] > onset_s and w[1] < end_s]


def _after_spoken_end(timing: TurnTiming, word: Word) -> float:
    """Time of a word, not before the sound begins, because a recogniser's time may be up to 0.2 s too early."""
    started_ms = word[1] * 1000 - timing.spoken_end_ms
    return started_ms if timing.ttfa_ms is None else max(started_ms, timing.ttfa_ms)


def all_with_words(timings: Sequence[TurnTiming], words: Sequence[Word]) -> tuple[TurnTiming, ...]:
    """The turns of one session with the words of each reply. `words`: of the whole call."""
    return tuple(with_words(timing, words) for timing in timings)
