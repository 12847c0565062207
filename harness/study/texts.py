"""The words of the pages that people see, by key, from one file a language.

A page in a language is whole or it is none: a person who agrees must understand every sentence. So all words are in one file,
whose keys and placeholders a test compares with those of every other, and a further language is a further file. A placeholder
is `{name}`; a text that counts has two forms, `one` and `other`, chosen by its `n`.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

DEFAULT: Final = "en"
Entry = str | tuple[str, ...] | Mapping[str, str]
"""A text, several of them in order (choices, paragraphs), or the forms `one` and `other` of one that counts."""
_FORMS: Final = {"one", "other"}
_PLACE: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of all pages in one language: `words("shared.begin")`, `words("shared.reply", letter="A")`."""

    language: str
    entries: Mapping[str, Entry]

    def __call__(self, key: str, **values: object) -> str:
        """One text, with its placeholders filled."""
        entry = self.entries[key]
        if isinstance(entry, Mapping):
            entry = entry["one" if values["n"] == 1 else "other"]
        if isinstance(entry, tuple):
            raise KeyError(f"{key}: has several texts")
        return _PLACE.sub(lambda found: str(values[found[1]]), entry)

    def several(self, key: str) -> tuple[str, ...]:
        """The texts of a key that has several."""
        entry = self.entries[key]
        if not isinstance(entry, tuple):
            raise KeyError(f"{key}: has one text")
        return entry

    def for_script(self, *sections: str) -> dict[str, Any]:
        """What a page's script needs of some sections, as data: `{"language": "es", "texts": {"shared.begin": …}}`."""
        chosen = {key: entry for key, entry in self.entries.items() if key.split(".")[0] in sections}
        return {"language": self.language, "texts": chosen}


@cache
def languages() -> tuple[str, ...]:
    """The languages that have a file, in alphabetical order."""
    names = (entry.name for entry in files("harness.study").joinpath("texts").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def texts(language: str = DEFAULT) -> Texts:
    """The words of one language.

    Raises:
        KeyError: there is no file for it.
    """
    if language not in languages():
        raise KeyError(language)
    source = files("harness.study").joinpath("texts", f"{language}.toml").read_text(encoding="utf-8")
    return Texts(language, dict(_entries(tomllib.loads(source))))


def placeholders(entry: Entry) -> frozenset[str]:
    """The names that a text's sentences are filled with."""
    parts = [entry] if isinstance(entry, str) else entry.values() if isinstance(entry, Mapping) else entry
    return frozenset(name for part in parts for name in _PLACE.findall(part))


def _entries(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Entry]]:
    for name, value in table.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping) and set(value) != _FORMS:
            yield from _entries(value, f"{key}.")
        else:
            yield key, tuple(value) if isinstance(value, list) else value
