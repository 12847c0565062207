"""True for a reply that speaks to whoever judges it: a flag for readers, which decides nothing.

It may be bolder than the embedded judge's filter, which lowers a score, because it only says "listen to this one". A text is
searched as written, in Latin letters without accents and look-alikes, in one spelling, and without spaces. English has
patterns; other languages have stems of two kinds that must be near each other (`data/to_judge.toml`). What must be decoded
first, and languages without stems, are not found; docs/judging.md has how often it is right.
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final

from harness.judging.prompt_injection import addresses_judge
from harness.judging.sentence_encoder import sentences
from harness.scenarios.screens.spelling import one_spelling

_NEAR: Final = ".{0,30}?"
"""Words between two kinds: a short clause. Bounded, so that time is linear in the text."""
_PAIRS: Final = (("ignore", "instructions"), ("choose", "reply"), ("judge", "choose"), ("judge", "reply"), ("reply", "best"))
_LOOK_ALIKE: Final = str.maketrans(
    dict(
        zip(
            "аеорсухіјѕһԁԛԝкмтнвɡɩαβεικνορτυχηɑıօսցᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢ",
            "aeopcyxijshdqwkmthbgiabeikvoptuxnaiougabcdeghijklmnoprtuvwyz",
            strict=True,
        )
    )
)
"""Small letters of other scripts, after case folding, that are drawn as Latin ones (from Unicode's confusables)."""
_SET_APART: Final = re.compile(r"\b\w(?:[.\-_*·•/|]\w){2,}\b")


@lru_cache(maxsize=50_000)
def speaks_to_judge(reply: str) -> bool:
    """True if any part of a reply speaks to a judge, a rater or a model, and not to the seeker."""
    signs = _signs()
    written = _visible(reply)
    latin = _SET_APART.sub(_closed_up, _without_accents(written).translate(_LOOK_ALIKE))
    spelt = one_spelling(latin)
    searched = [
        *((signs.english, text) for text in dict.fromkeys((written, latin, spelt))),
        (signs.unspaced, spelt.replace(" ", "")),
        *((pattern, latin) for pattern in signs.latin),
        *((pattern, written) for pattern in signs.as_written if not written.isascii()),
    ]
    if any(pattern.search(text) for pattern, text in searched):
        return True
    return any(addresses_judge(sentence) for text in dict.fromkeys((reply, latin)) for sentence in sentences(text))


@dataclass(frozen=True, slots=True)
class _Signs:
    english: re.Pattern[str]
    unspaced: re.Pattern[str]
    latin: tuple[re.Pattern[str], ...]
    as_written: tuple[re.Pattern[str], ...]


@cache
def _signs() -> _Signs:
    file = resources.files("harness.judging") / "data" / "to_judge.toml"
    given = tomllib.loads(file.read_text(encoding="utf-8"))
    english, unspaced = (re.compile("|".join(given.pop(name))) for name in ("english", "unspaced"))
    latin: list[re.Pattern[str]] = []
    as_written: list[re.Pattern[str]] = []
    for stems in given.values():
        pattern = _near(stems, r"\b" if stems.get("spaced", True) else "")
        (latin if stems.get("latin", True) else as_written).append(pattern)
    return _Signs(english, unspaced, tuple(latin), tuple(as_written))


def _near(stems: Mapping[str, Any], edge: str) -> re.Pattern[str]:
    kinds = {kind: f"{edge}(?:{stems[kind]})" for pair in _PAIRS for kind in pair}
    return re.compile("|".join(f"{kinds[a]}{_NEAR}{kinds[b]}|{kinds[b]}{_NEAR}{kinds[a]}" for a, b in _PAIRS))


def _visible(text: str) -> str:
    """The text in lower case and one form, without invisible and control characters, blanks merged."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return " ".join("".join(c for c in plain if c.isspace() or not _is_hidden(c)).split())


def _is_hidden(char: str) -> bool:
    """True for what is not drawn, or set upon Latin, Greek and Cyrillic letters; vowel signs of other scripts are letters."""
    category = unicodedata.category(char)
    return category in ("Cf", "Cc") or (category == "Mn" and char <= "\u06ff")


def _without_accents(text: str) -> str:
    apart = unicodedata.normalize("NFD", text.replace("ß", "ss").replace("ł", "l").replace("ı", "i"))
    return unicodedata.normalize("NFC", "".join(c for c in apart if not "\u0300" <= c <= "\u036f"))


def _closed_up(found: re.Match[str]) -> str:
    return re.sub(r"[\W_]", "", found.group())
