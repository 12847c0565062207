"""Words that are no answer yet: continuers, hesitations, stock openings, and phrases that hold the floor.

An agent can buy a good first-audio figure with an empty opener ("I'm so sorry to hear that", "let me check"), so the closed
lists of such words are here in the open. No model decides: a rule that anyone can check is worth more than a finer one.
"""

import re
from collections.abc import Sequence
from typing import Final

_CONTINUERS: Final = frozenset(("m", "hm", "mhm", "uhuh", "uhum", "aha", "yeah", "yep", "yup"))
"""As `_sounds_like` writes them: "Mmm", "Mm-hmm", "uh-huh". A listener says them while somebody else has the floor."""
_WORDLESS: Final = _CONTINUERS - {"yeah", "yep", "yup"}
_FILLERS: Final = frozenset(
    ("ah", "aha", "alright", "aw", "er", "erm", "hey", "hi", "hello", "hm", "hmm", "huh", "mhm", "mm", "mmm", "mm-hm", "oh",
     "okay", "ok", "right", "so", "sure", "uh", "uh-huh", "um", "well", "wow", "yeah", "yes")
)  # fmt: skip
_ALONE: Final = _FILLERS | frozenset(
    ("absolutely", "actually", "certainly", "correct", "definitely", "exactly", "fine", "good", "great", "honestly", "listen",
     "look", "no", "nope", "now", "ouch", "perfect", "please", "really", "sorry", "thanks", "true", "understood", "wait")
)  # fmt: skip
"""Words that are said alone before a pause."""
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
_WHILE: Final = "(?:moment|second|sec|minute)"
_SEEK: Final = "(?:(?:look|pull) (?:that|this|it) up|find out|(?:take|have) a (?:quick )?look|think|check|see|look)"
_HOLDING: Final = re.compile(
    rf"(?:(?:let me|i'll) (?:just |quickly )?{_SEEK}|let's see|i'm (?:just )?(?:checking|looking|thinking)"
    rf"|(?:please )?(?:just )?(?:give me )?(?:just )?(?:one|a) {_WHILE}|hold on|hang on|bear with me"
    r"|(?:that's a |that is a )?(?:good|great|interesting) question|interesting$)"
    r"(?: (?:about|on|at|into|over))?(?: (?:that|this|it))?"
    rf"(?: (?:for you|please|real quick|quickly|now|for (?:just )?(?:a|one) {_WHILE}))*"
    r"(?: (?:up )?(?:your|the|our|my)(?: \w+){1,3}$)?(?= |$)"
)
"""A request to wait, at the start of what is said; with an object ("let me check your order") only where nothing follows it."""


def plain(word: str) -> str:
    """A word in the form in which lists are compared: small letters, straight apostrophes, no punctuation around it."""
    return re.sub(r"^[^a-z0-9]+|[^a-z0-9]+$", "", word.lower().replace("’", "'"))


def plain_words(text: str) -> list[str]:
    """The words of a text as `plain` writes them, parted at hyphens; without those that are punctuation alone."""
    return [bare for word in text.replace("-", " ").split() if (bare := plain(word))]


def opening_length(words: Sequence[str]) -> int:
    """Number of words from the start that are fillers, stock openings or requests to wait; all of them for a reply without
    substance."""
    bare = [plain(w) for w in words]
    at = 0
    while at < len(bare):
        stock = next((s for s in _BY_LENGTH if tuple(bare[at : at + len(s)]) == s), None)
        holding = _HOLDING.match(" ".join(bare[at:]))
        if stock is not None:
            at += len(stock)
        elif holding is not None:
            at += len(holding[0].split())
        elif bare[at] in _FILLERS or not bare[at] or is_continuer(bare[at : at + 1]):
            at += 1
        else:
            break
    return at


def opening_words(text: str, count: int = 3) -> tuple[str, ...]:
    """The first words of a reply, in the form in which openings are compared."""
    return tuple(p for p in (plain(w) for w in text.split()) if p)[:count]


def is_empty(words: Sequence[str]) -> bool:
    """True if words contain nothing of substance; also of no words."""
    return opening_length(words) == len(words)


def is_continuer(words: Sequence[str], *, wordless: bool = False) -> bool:
    """True if words are there and all are continuers. `wordless`: only those that no question is answered with ("mm-hm")."""
    return bool(words) and all(_sounds_like(w) in (_WORDLESS if wordless else _CONTINUERS) for w in words)


def are_said_alone(words: Sequence[str]) -> bool:
    """True if words are there that people say alone before a pause, as an opener or a request to wait, and no continuer."""
    if not words or is_continuer(words):
        return False
    return is_empty(words) or asks_to_wait(words) or all(plain(w) in _ALONE for w in words)


def is_misheard(words: Sequence[str]) -> bool:
    """True if a short voice that was transcribed like this may have been a hum.

    A transcriber writes a word for a hum, "And" or "dumb" for "mm-hm"; one that people say alone is believed, and so are two.
    """
    return len(words) == 1 and plain(words[0]) not in _ALONE and not is_continuer(words)


def asks_to_wait(words: Sequence[str]) -> bool:
    """True if words are empty and a request to wait is among them ("okay, let me check"), or nothing but a hesitation."""
    bare = [plain(w) for w in words]
    if not bare or not is_empty(words):
        return False
    waits = any(_HOLDING.match(" ".join(bare[at:])) for at in range(len(bare)))
    return waits or all(w in ("um", "uh", "er", "erm") for w in bare)


def _sounds_like(word: str) -> str:
    """A word without hyphens and lengthened letters: "Mm-hmm" is "mhm"."""
    return re.sub(r"(.)\1+", r"\1", plain(word).replace("-", ""))
