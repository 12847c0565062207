"""The reason why an English voice cannot speak a text, or None: other scripts, invisible signs, emoji, and other languages.

What a voice cannot read it drops without a sound, and the times and verdicts of such a turn say nothing about an agent. A
language shows by function words: a text of eight words or more with at most a twentieth of English ones, or with three or more
of one other language and more of these than of English. The thresholds were chosen on seekers' turns of ESConv's training part,
of which none may be refused (docs/contexts.md).
"""

import re
import unicodedata
from typing import Final

LEAST_WORDS: Final = 8
"""Fewer words do not show a language: a name and an exclamation have no function words either."""
LEAST_ENGLISH: Final = 0.05
LEAST_FOREIGN: Final = 3
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_FIRST_EMOJI: Final = "\u2190"
"""Symbols before it (° © ™) are read out or harmless."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ENGLISH: Final = _set(
    """a about after again all almost always am an and another any anyone anything are aren't around as at away back be
    because been before being best better but by came can can't come could couldn't day did didn't do does doesn't
    doing don't done down each else even ever every everyone everything feel feeling few find first for from get
    getting give go going gone good got had hard has hasn't have haven't having he he's hello help her here him his
    hi how i i'd i'll i'm i've if in into is isn't it it's its just keep kind know last least left less let life
    like little long look lot made make makes many may maybe me mean might more most much must my need never new no
    not nothing now of off oh ok okay old on once one only or other our out over own people please quite rather
    really right said same say see she she's should since so some someone something sometimes sorry still such sure
    take talk tell than thank thanks that that's the their them then there these they they're thing things think
    this those though through time to today together too try trying two under until up us very want wanted was
    wasn't way we we're well went were what what's when where which while who why will with without won't work would
    wouldn't yeah year years yes yet you you're your im dont cant ive didnt thats u ur hey um uh er hmm"""
)
OTHERS: Final = {
    "German": _set(
        """der die das und ich nicht ist ein eine zu mit auf für mich mir mein meine du wir sie es aber auch wie wenn
        dass habe hat bin sind war von dem den im noch nur so kein keine schon mehr"""
    ),
    "French": _set(
        """je tu il elle nous vous ne pas le la les un une des du et est que qui dans pour sur mon ma mes ce cette avec
        suis ai mais plus c'est j'ai très"""
    ),
    "Spanish": _set(
        """yo el la los las un una de que y no en es mi me se por con para como pero muy más está estoy tengo lo al del"""
    ),
    "Italian": _set(
        """io il lo la gli le un una di che e non è per con mi mio mia sono ho ma come più molto della questo anche"""
    ),
    "Portuguese": _set(
        """eu o os as um uma de que e não em é meu minha me se por com para como mas muito mais estou tenho do da"""
    ),
    "Dutch": _set(
        """ik de het een en niet is van mijn met dat die maar ook hij ze wij zijn heb heeft voor naar niet wel geen"""
    ),
    "Polish": _set("""nie się i w na z że jest to jak mi mój moja ja ale co do już tylko bardzo jestem mam po dla"""),
    "Turkish": _set("""ve bir bu ben çok için ama ne de da değil gibi var yok daha benim kadar sonra"""),
}


def unreadable_sign(text: str) -> str | None:
    """The first letter or sign of a text that an English voice has no sound for, in words; None without one."""
    return next(filter(None, map(_sign, text)), None)


def other_language(text: str) -> str | None:
    """The reason to think that a text is not in English, in words; None without one."""
    said = [word.lower() for word in _WORD.findall(text.replace("’", "'"))]
    if len(said) < LEAST_WORDS:
        return None
    english = sum(word in ENGLISH for word in said)
    counts = {language: sum(word in words - ENGLISH for word in said) for language, words in OTHERS.items()}
    language = max(counts, key=counts.__getitem__)
    if counts[language] >= LEAST_FOREIGN and counts[language] > english:
        return f"seems to be {language}"
    if english <= LEAST_ENGLISH * len(said):
        return "seems not to be English"
    return None


def _sign(char: str) -> str | None:
    if char.isascii() and (char.isprintable() or char in "\n\r\t"):
        return None
    category = unicodedata.category(char)
    if category in ("Cc", "Cf", "Co", "Cn", "Cs"):
        return f"has the invisible character U+{ord(char):04X}"
    if category == "So" and char >= _FIRST_EMOJI:
        return f"has the emoji or symbol {char!r}"
    if category[0] == "L" and not unicodedata.name(char, "").startswith(("LATIN", "MODIFIER LETTER", "FEMININE", "MASCULINE")):
        return f"has the letter {char!r}, which is not Latin"
    return None
