"""Faults that a reply shows by itself: a flag says what to listen to, and ranks nobody.

A judge whose order of replies is no better than counting their words can still be right about single faults, because a fault
is there or not, however long the reply is. Two are found by rule, since they are matters of spelling: a reply that repeats
itself or an earlier turn, and one that hands the seeker's words back. The others are the reader's, each at a threshold that
one honest reply in a hundred exceeded in its fit. How many each finds and how often it is wrong, on origins that took no part
in the fit, is in `data/reader_record.json`.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib import resources
from typing import Any

from harness.judging.reader import Reader
from harness.judging.sentence_encoder import sentences
from harness.scenarios.context import Turn

SHORTEST_WORDS = 3
"""Shorter sentences ("I see.", "Of course.") come twice in honest talk."""
ECHO_SHARE = 0.7
"""Of a reply's words, the share that must be the seeker's own in one unbroken stretch. Honest replies quote a few words."""
RECORD_PATH = "data/reader_record.json"
_WORD = re.compile(r"[a-z0-9]+(?:['’][a-z]+)*")
_TURNED = {"i": "you", "i'm": "you're", "i've": "you've", "i'd": "you'd", "i'll": "you'll", "my": "your", "me": "you", "am": "are"}


@dataclass(frozen=True, slots=True)
class Flag:
    """One fault of a reply: its name in the record, and the log odds above the threshold; null where a rule found it."""

    fault: str
    odds: float | None = None


def flags_of(reader: Reader, turns: Sequence[Turn], reply: str) -> tuple[Flag, ...]:
    """The faults of a reply to this conversation, those found by rule first."""
    found = [Flag(name) for name, shown in (("repetition", repeats(turns, reply)), ("echo", echoes(turns, reply))) if shown]
    (reading,) = reader.read(turns, [reply])
    found += [
        Flag(name, odds) for name, odds in zip(reader.weights.faults, reading.faults, strict=True) if odds > 0
    ]
    return tuple(found)


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


def record() -> dict[str, Any]:
    """What was measured of the reader that ships, its fit's figures and every look at an origin held out."""
    found: dict[str, Any] = json.loads((resources.files("harness.judging") / RECORD_PATH).read_text(encoding="utf-8"))
    return found


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower().replace("’", "'")))


def _second_person(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(_TURNED.get(word, word) for word in words)
