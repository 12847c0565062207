"""The one place that keeps keys out of what is stored, logged and shown.

Runs are passed around: folders are zipped and reports mailed. A key reaches them by many doors (a profile that is kept as
written, an agent that prints its environment, an endpoint that repeats the key it refused), so it is not enough to be
careful at each. As build servers do, every process learns the secrets it is given, at the moment it is given them, and
whatever leaves it passes `redact`. Where secrets stand is said in `harness.agents.secret_places`.

The standard library alone, because the supervisor of an agent imports it.
"""

import base64
import html
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO
from urllib.parse import quote, quote_plus, unquote

from harness.agents.secret_places import (
    in_environment,
    in_settings,
    in_text,
    looks_secret,
    mask_assigned,
    mask_behind_scheme,
    worth_masking,
)

MASK: Final = "***"
MOST_HELD_BYTES: Final = 64 * 1024
"""Of a line that has not ended yet."""
_USER: Final = re.compile(r"(://)[^/@\s\"'<>\\]+(@)")
_QUERY: Final = re.compile(r"([?&][\w.\[\]%-]+=)[^\s&\"'<>#\\]+")


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks known values in any of the forms in which text carries them; longest first, so that no rest is left."""

    values: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Iterable[str]) -> "Redactor":
        """One that masks these values."""
        known = tuple(sorted({value for value in values if worth_masking(value)}))
        forms = {form for value in known for form in _forms(value) if len(form) >= 6}
        return cls(known, tuple(sorted(forms, key=lambda form: (-len(form), form))))

    def with_more(self, values: Iterable[str]) -> "Redactor":
        """One that masks these values too; itself where it knows them all."""
        new = set(values) - set(self.values)
        return Redactor.of([*self.values, *new]) if any(map(worth_masking, new)) else self

    def __call__(self, text: str) -> str:
        """The text without any known secret, and without user, password and query of any address."""
        for form in self.forms:
            if form in text:
                # A number may stand inside a longer one, which is a time and no secret.
                text = re.sub(rf"(?<![\d.]){form}(?![\d.])", MASK, text) if form.isdigit() else text.replace(form, MASK)
        if "://" in text:
            text = _USER.sub(rf"\1{MASK}\2", text)
        if "=" in text:
            text = _QUERY.sub(rf"\1{MASK}", text)
        return mask_behind_scheme(text, MASK)

    def foreign(self, text: str) -> str:
        """As a call, and also what stands behind a secret's name: for words that others wrote (logs, errors, profiles)."""
        return mask_assigned(self(text), MASK)


_current: Redactor | None = None


def redactor() -> Redactor:
    """All that this process has learnt so far."""
    global _current
    if _current is None:
        _current = Redactor.of(in_environment(os.environ))
    return _current


def learn(values: Iterable[str]) -> None:
    """Mask these values from now on."""
    global _current
    _current = redactor().with_more(values)


def learn_environment() -> None:
    """Learn what the environment holds now."""
    learn(in_environment(os.environ))


def learn_settings(data: object) -> None:
    """Learn the secrets of a table of settings, and of the variables that its `…_env` fields name."""
    learn(in_settings(data, os.environ))


def learn_file(text: str) -> None:
    """Learn the secrets of a TOML file before anything can be said about it, malformed or not."""
    try:
        learn_settings(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError):
        learn(in_text(text))


def redact(text: str) -> str:
    """A text fit to be stored or shown: no secret in it, and no half of a character that no file can hold."""
    return _encodable(redactor()(text))


def redact_foreign(text: str) -> str:
    """As `redact`, for words that an agent or an endpoint wrote."""
    return _encodable(redactor().foreign(text))


def redact_settings(text: str) -> str:
    """A TOML text fit to be kept: as `redact_foreign`, and every string under a secret's name, however short."""
    text = redact_foreign(text)
    try:
        short = set(_strings_of_secrets(tomllib.loads(text)))
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    for value in short - {MASK, ""}:
        for mark in "\"'":
            text = text.replace(f"{mark}{value}{mark}", f"{mark}{MASK}{mark}")
    return text


class RedactedLines:
    """A stream of bytes, masked line by line, so that no secret slips through where two pieces meet."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self._margin = max((len(form.encode()) for form in redactor.forms), default=1)

    def feed(self, piece: bytes) -> bytes:
        """What can be written now: whole lines, or the front of one that grows past all measure."""
        self._held += piece
        end = max(self._held.rfind(b"\n"), self._held.rfind(b"\r")) + 1
        ready, self._held = self._mask(self._held[:end]), self._held[end:]
        if len(self._held) > MOST_HELD_BYTES:
            masked = self._mask(self._held)
            ready, self._held = ready + masked[: -self._margin], masked[-self._margin :]
        return ready

    def flush(self) -> bytes:
        """What is left when nothing more comes."""
        ready, self._held = self._mask(self._held), b""
        return ready

    def _mask(self, raw: bytes) -> bytes:
        text = raw.decode("utf-8", "surrogateescape")
        return self._redactor.foreign(text).encode("utf-8", "surrogateescape")


class RedactedOutput:
    """Standard output or error that says no secret, whoever writes to it: progress, results, tracebacks, libraries."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, masked."""
        self._stream.write(redact(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line, masked."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _strings_of_secrets(data: object, secret: bool = False) -> Iterator[str]:
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _strings_of_secrets(value, secret or looks_secret(str(name)))
    elif isinstance(data, list):
        for value in data:
            yield from _strings_of_secrets(value, secret)
    elif isinstance(data, str) and secret:
        yield data


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _forms(value: str) -> Iterator[str]:
    """A value as it stands, and as addresses, JSON, HTML, `repr` and basic authentication carry it."""
    yield value
    yield unquote(value)
    yield quote(value)
    yield quote(value, safe="")
    yield quote_plus(value)
    for ascii_only in (True, False):
        yield json.dumps(value, ensure_ascii=ascii_only)[1:-1]
    yield html.escape(value)
    yield repr(value)[1:-1]
    raw = value.encode("utf-8", "surrogateescape")
    yield base64.b64encode(raw).decode().rstrip("=")
    yield base64.urlsafe_b64encode(raw).decode().rstrip("=")
