"""Names in users' tables: one spelling of each, and those that only look alike.

A space at the end of a cell and an accent that is a character of its own cannot be seen, so a name that differs from another
only by these is the same name, and it is said. Names that differ but look alike (case, width, an invisible character, a letter
of another alphabet) stay two, because somebody may mean them so, and a note names both. A name with a control or formatting
character is refused: it could not be shown as it is anywhere.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from harness.errors import UserError

MOST_OF_A_NAME: Final = 500
"""Characters."""
MOST_SHOWN: Final = 3
"""Pairs in a note: the rest of a file is of the same kind."""
_LOOKS: Final = str.maketrans(
    "аеорсухіјѕԁһӏкмнтвАВЕКМНОРСТХІЈЅαορνικετυγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ‐‑‒–—―−’‘",
    "aeopcyxijsdhlkmhtbABEKMHOPCTXIJSaopviketuyABEZHIKMNOPTYX-------''",
)
"""Letters of Cyrillic and Greek, hyphens and quotes that look like those of a plain keyboard."""


@lru_cache(maxsize=65_536)
def one_name(text: str) -> str:
    """The name in one spelling: composed characters, without spaces around.

    Raises ValueError: a character that cannot be shown.
    """
    if len(text) > MOST_OF_A_NAME:
        raise ValueError(f"a name of {len(text)} characters; {MOST_OF_A_NAME} are allowed")
    if text.isascii() and text.isprintable():
        return text.strip()
    name = unicodedata.normalize("NFC", text).strip().strip("\ufeff")
    unseen = next((c for c in name if not c.isprintable() and unicodedata.category(c) != "Zs"), None)
    if unseen is not None:
        raise ValueError(f"the name has a character that cannot be shown (U+{ord(unseen):04X}); take it out")
    return name


class NamesRead:
    """The names of a file, by kind (system, judge, …), in one spelling, and notes on them."""

    def __init__(self) -> None:
        self._spelled: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))

    def is_one(self, kind: str, text: str) -> bool:
        """True if the name is written in the one spelling already, and can be shown."""
        known = self._spelled[kind]
        if text in known and text in known[text]:
            return True
        if len(text) > MOST_OF_A_NAME or not text.isprintable() or one_name(text) != text:
            return False
        known[text].setdefault(text)
        return True

    def one(self, kind: str, text: str, where: str) -> str:
        """The name in one spelling. Raises UserError: it is too long, or has a character that cannot be shown."""
        try:
            name = one_name(text)
        except ValueError as error:
            raise UserError(f"{where}: {error}") from None
        self._spelled[kind][name].setdefault(text)
        return name

    def notes(self) -> list[str]:
        """Sentences on names that were read as one, and on names that look alike."""
        notes = []
        for kind, names in self._spelled.items():
            merged = [" and ".join(map(ascii, given)) for given in names.values() if len(given) > 1]
            if merged:
                notes.append(f"Spellings of one {kind} that cannot be told apart by eye are read as one: {_some(merged)}.")
            notes += look_alikes(kind, names)
        return notes


def look_alikes(kind: str, names: Iterable[str]) -> list[str]:
    """A sentence on the different names that look alike; none without."""
    looks: dict[str, list[str]] = defaultdict(list)
    for name in names:
        looks[_look(name)].append(name)
    alike = [" and ".join(map(ascii, sorted(group))) for group in looks.values() if len(group) > 1]
    return [f"Names of a {kind} look alike and are read as different: {_some(alike)}."] if alike else []


def _look(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).translate(_LOOKS).casefold()
    return " ".join("".join(c for c in plain if unicodedata.category(c) != "Cf").split())


def _some(pairs: list[str]) -> str:
    more = f"; and {len(pairs) - MOST_SHOWN} more" if len(pairs) > MOST_SHOWN else ""
    return "; ".join(pairs[:MOST_SHOWN]) + more
