"""Rules that find conversations which a careful person would not show to a rater.

Response potential is about one turn; these rules are about the conversation around it: swapped roles, an absent side,
text that is not language, an empty answer.
"""

import re

from harness.scenarios.emotions import EMOTIONS
from harness.scenarios.esconv.couplets import Couplet
from harness.scenarios.esconv.potential import potential

_LETTERS = re.compile(r"[A-Za-z]")
_WORD = re.compile(r"[A-Za-z']+")
_NUMBERED = re.compile(r"[.!?a-z] ?\(?\d{1,2}\)?\.?$")
MOST_NUMBERED = 3
"""Numbered messages of a writer: one turn may end in a number by chance, three do not."""
MOST_CHARACTERS = 2_000
"""Longest turn in characters: some two minutes of speech, also the limit of a reference."""
LEAST_ANSWER_WORDS = 6
"""Least words of an original completion: "ok" or "I see" cannot be ranked."""
LEAST_SEEKER_WORDS = 20
"""Least words of the seeker in total, so that a judge can decide if a reply is attuned to them."""


def fault_in_talk(couplet: Couplet) -> str | None:
    """The first fault of the conversation up to this turn, or None."""
    text = couplet.seeker.text
    seeker_before = " ".join(t.text for t in couplet.history if t.role == "seeker")
    if couplet.dialogue.emotion not in EMOTIONS:
        return "a label of emotion that is not known here"
    if max(len(t.text) for t in (*couplet.history, couplet.seeker, couplet.answer)) > MOST_CHARACTERS:
        return "a turn is longer than anybody speaks"
    if couplet.turns_after == 0:
        return "the talk ends at this turn"
    if len(_LETTERS.findall(text)) < 0.7 * len(text.replace(" ", "")):
        return "not plain language"
    words = _WORD.findall(text)
    if sum(word.isupper() and len(word) > 1 for word in words) > max(3, len(words) // 4):
        return "written in capitals"
    if len(_WORD.findall(couplet.answer.text)) < LEAST_ANSWER_WORDS:
        return "the original completion is too short"
    if len(_WORD.findall(seeker_before)) + len(words) < LEAST_SEEKER_WORDS:
        return "the seeker has said too little"
    if any(potential(t.text).request >= 4 and "i " in t.text.lower()[:3] for t in couplet.history if t.role == "supporter"):
        return "the supporter seeks help"
    if sum(bool(_NUMBERED.search(t.text)) for t in (*couplet.history, couplet.seeker)) >= MOST_NUMBERED:
        return "the messages are numbered"
    if len({t.text.lower() for t in couplet.history}) < len(couplet.history):
        return "a turn is repeated"
    return None
