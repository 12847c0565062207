"""Every language has the words of every page: the same keys, the same placeholders, and none that no page shows."""

import re
from pathlib import Path

import pytest

from harness.study.texts import Entry, languages, placeholders, texts

_ROOT = Path(__file__).parents[2]
_PAGES = ("reports", "harness/people", "harness/study", "harness/commands", "harness/votes")
_QUOTED = re.compile(r"[\"'`]([a-z_]+(?:\.[a-z0-9_]+)+)(?=[\"'`]|\.[{$\"])")
"""A key as code names it, or the beginning of one that is made of parts."""
_FILES = (".js", ".css", ".html", ".jinja", ".toml")


def sources() -> str:
    """The code and templates of all pages that people see."""
    files = (file for folder in _PAGES for file in sorted((_ROOT / folder).rglob("*")))
    return "\n".join(
        f.read_text() for f in files if f.suffix in (".py", ".js", ".html", ".jinja") and f.stat().st_size < 200_000
    )


def shape(entry: Entry) -> object:
    """What two languages must share of a text: its placeholders, and the number of its parts."""
    return type(entry), len(entry) if isinstance(entry, tuple) else 0, placeholders(entry)


@pytest.mark.parametrize("language", [name for name in languages() if name != "en"])
def test_a_language_has_every_text_with_the_same_placeholders(language: str) -> None:
    english, other = texts("en").entries, texts(language).entries
    assert not set(english) - set(other), f"{language}.toml lacks these keys"
    assert not set(other) - set(english), f"{language}.toml has keys that en.toml has not"
    differ = {key for key in english if shape(english[key]) != shape(other[key])}
    # Which helplines and how many follows from where a language is spoken.
    assert not differ - {"study.helplines"}, f"{language}.toml differs in placeholders or number of parts"


@pytest.mark.parametrize("language", languages())
def test_no_text_is_empty_or_begins_with_a_space(language: str) -> None:
    parts = [
        (key, part)
        for key, entry in texts(language).entries.items()
        for part in ([entry] if isinstance(entry, str) else entry.values() if isinstance(entry, dict) else entry)
    ]
    assert not [key for key, part in parts if not part or part != part.strip()]


def test_a_page_shows_every_text_and_no_text_that_is_missing() -> None:
    keys = set(texts("en").entries)
    sections = {key.split(".")[0] for key in keys}
    quoted = {name for name in _QUOTED.findall(sources()) if name.split(".")[0] in sections and not name.endswith(_FILES)}
    unused = {key for key in keys if not any(_above(key, name) for name in quoted)}
    missing = {name for name in quoted if not any(_above(key, name) for key in keys)}
    assert (unused, missing) == (set(), set())


def _above(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}.")


def test_a_text_is_filled_and_counts() -> None:
    words = texts("es")
    assert words("shared.reply", letter="{letter} <b>") == "Respuesta {letter} <b>"
    assert words.for_script("study")["language"] == "es"
    assert {key.split(".")[0] for key in words.for_script("study")["texts"]} == {"study"}
    with pytest.raises(KeyError):
        texts("tlh")
