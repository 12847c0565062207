"""Text normalised to one spelling, for the rules.

People in distress misspell, and people who expect a filter avoid it: no apostrophes, stretched letters, digits
and stars for letters, adverbs between the words that matter. Rules over raw text missed "I dont want to really be
around"; over this form the adverb is gone and the spelling is one.
"""

import re
import unicodedata

_LETTERS_MEANT = str.maketrans({"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i"})
_LEET = re.compile(r"[a-z0-9@$!]+")
_LETTER = re.compile(r"[a-z]")
_FOR_A_LETTER = re.compile(r"[013457@$!]")
_SPACED_OUT = re.compile(r"\b[a-z](?:[*._\- ][a-z]){2,}\b")
"""Words with a sign between the letters: k.i.l.l"""
_ORDINAL = re.compile(r"\d+(st|nd|rd|th|s|am|pm|k|h|m|yo|yrs?|x)?$")

# Words between the relevant ones that do not change the meaning.
_PADDING = frozenset(
    re.findall(
        r"\w+",
        """really actually just even ever kinda sorta honestly truly simply literally basically seriously totally quite
        almost always often sometimes probably maybe perhaps still so very much only um uh er eh well lol haha completely
        genuinely constantly frequently somehow now right please god rly rlly""",
    )
)
_SPELLINGS = {
    "wanna": "want to",
    "wana": "want to",
    "gonna": "going to",
    "gunna": "going to",
    "gotta": "got to",
    "dunno": "dont know",
    "dnt": "dont",
    "dun": "dont",
    "wnt": "want",
    "wan": "want",
    "waant": "want",
    "livin": "living",
    "liv": "live",
    "lif": "life",
    "lyfe": "life",
    "dyin": "dying",
    "ded": "dead",
    "di": "die",
    "dye": "die",
    "mysef": "myself",
    "myslf": "myself",
    "myselfs": "myself",
    "meself": "myself",
    "anymor": "anymore",
    "no1": "nobody",
    "u": "you",
    "ur": "your",
    "2": "to",
    "kil": "kill",
    "kll": "kill",
    "hart": "hurt",
    "wudnt": "wouldnt",
    "wldnt": "wouldnt",
    "wish'd": "wish",
    "arround": "around",
    "aroung": "around",
    "worls": "world",
    "exsist": "exist",
    "excist": "exist",
}
_NEGATED = (
    (re.compile(r"\b(do|does|did|would|could|should|ca|can|wo|is|was|are|were|has|have|had) (not|nt)\b"), r"\1nt"),
    (re.compile(r"\b(dont|doesnt|didnt) no\b"), "dont know"),
    (re.compile(r"\bmy self\b"), "myself"),
    (re.compile(r"\bany more\b"), "anymore"),
    (re.compile(r"\bany longer\b"), "anymore"),
)


def _with_letters_meant(found: re.Match[str]) -> str:
    """A word with the letters that its digits and signs are written for; "!" at its end is punctuation, and "2nd" a number."""
    word = found[0].rstrip("!")
    if not (_LETTER.search(word) and _FOR_A_LETTER.search(found[0])) or _ORDINAL.fullmatch(word):
        return found[0]
    return word.translate(_LETTERS_MEANT) + found[0][len(word) :]


def one_spelling(text: str) -> str:
    """The text in lower case, without punctuation and padding; stretched letters and digits for letters are undone."""
    plain = text.lower()
    if not plain.isascii():
        plain = unicodedata.normalize("NFKD", plain)
        plain = "".join(c for c in plain if not unicodedata.combining(c) and unicodedata.category(c) != "Cf")
    plain = re.sub(r"['’‘`´]", "", plain)
    plain = _SPACED_OUT.sub(lambda m: re.sub(r"[^a-z]", "", m.group()), plain)
    plain = re.sub(r"(?<=[a-z])\*+(?=[a-z])", "", plain)
    plain = _LEET.sub(_with_letters_meant, plain)
    plain = re.sub(r"([a-z])\1{2,}", r"\1", plain)
    words = re.findall(r"[a-z0-9]+", plain)
    joined = " ".join(_SPELLINGS.get(word, word) for word in words if word not in _PADDING)
    for pattern, meant in _NEGATED:
        joined = pattern.sub(meant, joined)
    return joined
