"""Where secrets stand: which variables, fields, flags, headers and parts of an address hold one.

A key cannot be told from any other string by its looks, so it is known by its place: by the name beside it, or because a
whole place is private (the user and query of a URL, headers, a call's parameters). A short or plain word in such a place
is taken for a setting (`language = "english"`): masking it wherever it occurs would falsify what agents say.

Pure functions of the standard library alone, so that the supervisor of an agent can use them.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

LEAST_CHARACTERS: Final = 6
"""Of a value that a user put where secrets stand."""
LEAST_IN_ENVIRONMENT: Final = 8
"""Of a variable that only looks secret by its name."""
PLAIN_WORD_CHARACTERS: Final = 15
"""Letters, dashes and underscores up to this length are a word (`none`, `not-needed`), and no key."""

_WORDS: Final = frozenset(("auth", "authorization", "bearer", "cookie", "credential", "passphrase", "passwd", "signature"))
_ENDINGS: Final = ("key", "token", "secret", "password")
_PRIVATE_TABLES: Final = frozenset(("headers", "extra_headers", "default_headers", "additional_headers", "parameters"))
_NOT_THE_VALUE: Final = ("env", "file", "path", "argument")
"""Last words of names that say where a secret is, and hold none (`api_key_env`)."""

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>\\]+")
_SCHEME: Final = re.compile(r"\b(?:Bearer|Basic)\s+([^\s\"',;\\]{8,})", re.IGNORECASE)
_ASSIGNED: Final = re.compile(
    r"(?<![\w.-])([A-Za-z][\w.-]{0,60}+)[\"']?[ \t]{0,3}+[:=][ \t]{0,3}+(?:Bearer +|Basic +)?[\"']?([^\s\"',;&{}\\]{8,}+)"
)
"""Tried once a word: logs are hostile text, and a pattern that backs up through a long line would hold the agent up."""
_FLAG: Final = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?$", re.DOTALL)
_KEY_LIKE: Final = re.compile(r"(?=.*[A-Za-z])(?=.*\d)|.*[^A-Z\W][A-Z]", re.DOTALL)
"""Letters and digits, or capitals inside: neither a word nor a number."""


def looks_secret(name: str) -> bool:
    """Whether a variable, field, flag or header of this name holds a secret."""
    parts = [part.lower() for part in re.split(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])", name) if part]
    if not parts or parts[-1] in _NOT_THE_VALUE:
        return False
    bare = [part.rstrip("0123456789").removesuffix("s") for part in parts]
    return any(part in _WORDS or part.endswith(_ENDINGS) for part in bare)


def assigned(text: str) -> Iterator[str]:
    """Values in free text that stand behind a secret's name (`api_key=…`, `X-Api-Key: …`) and are no mere word or number."""
    for found in _ASSIGNED.finditer(text):
        if looks_secret(found[1]) and _KEY_LIKE.match(found[2]):
            yield found[2]


def mask_assigned(text: str, mask: str) -> str:
    """The text with what `assigned` finds masked in its place."""
    return _ASSIGNED.sub(lambda found: _without(found, 2, mask) if looks_secret(found[1]) else found[0], text)


def mask_behind_scheme(text: str, mask: str) -> str:
    """The text with what stands behind `Bearer` or `Basic` masked, unless it is a word (`a basic understanding`)."""
    return _SCHEME.sub(lambda found: _without(found, 1, mask), text)


def _without(found: re.Match[str], group: int, mask: str) -> str:
    if not _KEY_LIKE.match(found[group]):
        return found[0]
    start, end = (place - found.start() for place in found.span(group))
    return found[0][:start] + mask + found[0][end:]


def in_environment(environment: Mapping[str, str]) -> Iterator[str]:
    """Values of variables with a secret's name, and what stands before the host in any variable that is an address."""
    for name, value in environment.items():
        if "://" in value:
            yield from in_text(value)
        elif looks_secret(name) and len(value) >= LEAST_IN_ENVIRONMENT and not os.path.exists(value):
            yield from _whole(value)


def in_settings(data: Any, environment: Mapping[str, str], name: str = "") -> Iterator[str]:
    """Every secret of a table of settings (a profile, a judge's file, a voices file), those that it names by variable too."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            inside = name if looks_secret(name) or name in _PRIVATE_TABLES else str(key)
            if str(key).lower().endswith("_env") and isinstance(value, str):
                yield from _whole(environment.get(value, ""))
            yield from in_settings(value, environment, inside)
    elif isinstance(data, list | tuple):
        if all(isinstance(word, str) for word in data):
            yield from _in_command(data)
        for value in data:
            yield from in_settings(value, environment, name)
    elif isinstance(data, str):
        yield from in_text(data)
        if looks_secret(name) or name in _PRIVATE_TABLES:
            yield from _whole(data)


def in_text(text: str) -> Iterator[str]:
    """Secrets that a text shows by their place: in addresses, behind `Bearer`, behind a secret's name."""
    for url in _URL.findall(text):
        yield from _in_url(url)
    for found in _SCHEME.finditer(text):
        yield from _whole(found[1])
    yield from assigned(text)


def worth_masking(value: str) -> bool:
    """Whether a value is long and odd enough to be looked for everywhere."""
    plain = len(value) <= PLAIN_WORD_CHARACTERS and re.fullmatch(r"[A-Za-z _-]*", value)
    return len(value) >= LEAST_CHARACTERS and not plain


def _in_command(words: Sequence[str]) -> Iterator[str]:
    for word, following in zip(words, [*words, ""][1:], strict=True):
        flag = _FLAG.match(word)
        if flag and looks_secret(flag[1]):
            yield from _whole(following if flag[2] is None else flag[2])
        if len(inner := _shell_words(word)) > 1:
            yield from _in_command(inner)
        name, separator, value = word.partition(":")
        if separator and looks_secret(name) and not value.startswith("//"):
            yield from _whole(value.strip())


def _shell_words(word: str) -> list[str]:
    try:
        return shlex.split(word)
    except ValueError:
        return word.split()


def _in_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        user, password = parts.username or "", parts.password or ""
    except ValueError:
        return
    yield from _whole(password)
    if user and not password:
        yield from _whole(user)
    if password:
        yield f"{unquote(user)}:{unquote(password)}"
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if looks_secret(name) or re.search(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}", value):
            yield from _whole(value)


def _whole(value: str) -> Iterator[str]:
    """A secret and its parts that are secrets alone: behind `Bearer`, in a cookie, the lines of a PEM block."""
    for piece in {value, value.strip(), *re.split(r"[\s;]+", value), *(p.partition("=")[2] for p in value.split(";"))}:
        if worth_masking(piece):
            yield piece
