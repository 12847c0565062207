"""The masking of keys in everything that is stored, logged and shown.

Runs are shared: folders are zipped and reports mailed. A key gets into them in many ways (a profile that is stored as
written, an agent that prints its environment, an endpoint that repeats the key it refused), so it is not enough to be
careful at each. As on build servers, every process learns its secrets at the moment it gets them, and
all its output passes `redact`. The places of secrets are in `harness.agents.secret_places`.

The standard library alone, because the supervisor of an agent imports it.
"""

import base64
import errno
import html
import json
import os
import re
import struct
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TextIO
from urllib.parse import unquote

from harness.agents.printable import for_terminal, printable
from harness.agents.secret_places import (
    LEAST_CHARACTERS,
    in_environment,
    in_settings,
    in_text,
    mask_assigned,
    mask_behind_scheme,
    worth_masking,
)
from harness.agents.secret_shapes import mask_shapes

MASK: Final = "***"
MOST_HELD_BYTES: Final = 64 * 1024
"""Longest part of an unfinished line to buffer."""
MOST_ESCAPED: Final = 10
"""Characters that one byte can become (`\\\\\\\\u002f`): as many are delayed at the end of an unfinished line."""
LEAST_IN_BASE64: Final = 8
"""Characters of a key amid other base64: a form that is looked for must not occur by chance, and 8 are 48 bits."""
_USER: Final = re.compile(r"(://)[^/@\s\"'<>\\]+(@)")
_QUERY: Final = re.compile(r"([?&][\w.\[\]%-]+=)[^\s&\"'<>#\\]+")


@dataclass(frozen=True, slots=True)
class Redactor:
    """A mask for known values in all forms in which text contains them; longest first, so that no rest is left."""

    values: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    """The values and what base64 makes of them, before `written` lets each character be escaped."""

    @classmethod
    def of(cls, values: Iterable[str]) -> "Redactor":
        """A redactor of these values."""
        known = tuple(sorted({value for value in values if worth_masking(value)}))
        forms = {form for value in known for form in _forms(value) if len(form) >= LEAST_CHARACTERS}
        return cls(known, tuple(sorted(forms, key=lambda form: (-len(form), form))))

    def with_more(self, values: Iterable[str]) -> "Redactor":
        """A redactor that masks these values too; itself if it knows them all."""
        new = set(values) - set(self.values)
        return Redactor.of([*self.values, *new]) if any(map(worth_masking, new)) else self

    def __call__(self, text: str) -> str:
        """The text without any known secret, and without user, password and query of any address."""
        text = self.without_values(text)
        if "://" in text:
            text = _USER.sub(rf"\1{MASK}\2", text)
        if "=" in text:
            text = _QUERY.sub(rf"\1{MASK}", text)
        return mask_behind_scheme(text, MASK)

    def without_values(self, text: str) -> str:
        """The text without any known secret, addresses left as they are."""
        for form in self.forms:
            if _needle(form) in text:
                text = _pattern(form).sub(MASK, text)
        return text

    def finds(self, text: str) -> bool:
        """True if a known secret is in the text."""
        return any(_needle(form) in text and _pattern(form).search(text) is not None for form in self.forms)

    def foreign(self, text: str) -> str:
        """The text masked as by a call, and also values after a secret's name or with a key's form: for words of others (logs,
        errors, profiles)."""
        return mask_shapes(mask_assigned(self(text), MASK), MASK)


_current: Redactor | None = None


def redactor() -> Redactor:
    """The redactor of all secrets that this process has learnt so far."""
    global _current
    if _current is None:
        _current = Redactor.of(in_environment(os.environ))
    return _current


def learn(values: Iterable[str]) -> None:
    """Mask these values from now on."""
    global _current
    _current = redactor().with_more(values)


def learn_environment() -> None:
    """Learn the secrets in the environment."""
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
    """A text that may be stored or shown: without secrets, and without half characters, which no file can store."""
    return _encodable(redactor()(text))


def redact_foreign(text: str) -> str:
    """As `redact`, for words that an agent or an endpoint wrote: without control characters, too."""
    return printable(redactor().foreign(text))


class RedactedLines:
    """A stream of bytes, masked line by line, so that no secret slips through where two pieces meet."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self._margin = max((len(form.encode()) * MOST_ESCAPED for form in redactor.forms), default=1)

    def feed(self, piece: bytes) -> bytes:
        """The bytes to write now: complete lines, or the beginning of an extremely long one."""
        self._held += piece
        end = max(self._held.rfind(b"\n"), self._held.rfind(b"\r")) + 1
        ready, self._held = self._mask(self._held[:end]), self._held[end:]
        if len(self._held) > MOST_HELD_BYTES:
            masked = self._mask(self._held)
            ready, self._held = ready + masked[: -self._margin], masked[-self._margin :]
        return ready

    def flush(self) -> bytes:
        """The rest at the end of the stream."""
        ready, self._held = self._mask(self._held), b""
        return ready

    def _mask(self, raw: bytes) -> bytes:
        text = raw.decode("utf-8", "surrogateescape")
        return self._redactor.foreign(text).encode("utf-8", "surrogateescape")


class RedactedOutput:
    """Standard output or error with secrets masked in everything: progress, results, tracebacks, libraries."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, masked, and without control characters but those of progress and colours."""
        with _terminal_may_be_gone():
            self._stream.write(for_terminal(redact(text)))
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        with _terminal_may_be_gone():
            self._stream.flush()

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line, masked."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _terminal_may_be_gone() -> Iterator[None]:
    """Without an error where the terminal was closed: there is nobody to read, and what is running is to end or go on."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _forms(value: str) -> Iterator[str]:
    """The forms of a value: unchanged, without its own escapes, and base64 of either."""
    for bare in {value, unquote(value)}:
        yield bare
        yield from _base64_forms(bare.encode("utf-8", "surrogateescape"))


@cache
def _needle(form: str) -> str:
    """A part of the form that nobody escapes: only where it occurs is the form looked for in earnest."""
    return max((str(part) for part in re.findall(r"[A-Za-z0-9]*", form)), key=len)


@cache
def _pattern(form: str) -> re.Pattern[str]:
    pattern = "".join(map(_written, form))
    # A number inside a longer one is a time and not a secret.
    return re.compile(rf"(?<![\d.]){pattern}(?![\d.])" if form.isdigit() else pattern)


@cache
def _written(character: str) -> str:
    """A pattern of one character as addresses (also within addresses), JSON (also within JSON, and as PHP, Go, Java and .NET
    write it), HTML and `repr` carry it."""
    if character.isascii() and character.isalnum():
        return character
    raw = character.encode("utf-8", "surrogateescape")
    percent = "".join(f"%(?:25)?{byte:02x}" for byte in raw)
    units = [f"{unit:04x}" for (unit,) in struct.iter_unpack("<H", character.encode("utf-16-le", "surrogatepass"))]
    forms = [
        rf"\\{{0,4}}{re.escape(character)}",
        f"(?i:{percent})",
        "(?i:" + "".join(rf"\\{{1,4}}u{unit}" for unit in units) + ")",
        "(?i:" + "".join(rf"\\{{1,4}}x{byte:02x}" for byte in raw) + ")",
        rf"(?i:&\#x0{{0,4}}{ord(character):x};|&\#0{{0,4}}{ord(character)};)",
    ]
    forms += [re.escape(named)] if (named := html.escape(character)) != character else []
    forms += [rf"\\{{1,4}}{short[1:]}"] if len(short := json.dumps(character)[1:-1]) == 2 and short[1].isalpha() else []
    forms += [rf"\\{{1,4}}x{ord(character):02x}"] if 0x80 <= ord(character) <= 0xFF or character < " " else []
    forms += [r"\+"] if character == " " else []
    return f"(?:{'|'.join(forms)})"


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Alone, with and without its padding, in both alphabets; and behind one or two more bytes, as `user:key` has them. Of
    three bytes four characters are made, so that what comes before moves the key to one of three places, and the characters
    that it shares with its neighbours say nothing that could be looked for."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).decode()
        yield encode(raw).decode().rstrip("=")
        for before in range(3):
            whole = encode(bytes(before) + raw).decode()
            own = whole[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
            if len(own) >= LEAST_IN_BASE64:
                yield own
