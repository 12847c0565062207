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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TextIO
from urllib.parse import unquote

from harness.agents.secret_places import (
    LEAST_CHARACTERS,
    in_environment,
    in_settings,
    in_text,
    is_secret_under,
    mask_assigned,
    mask_behind_scheme,
    mask_path_tokens,
    worth_masking,
)
from harness.agents.secret_shapes import continues_block, ends_block, mask_shapes, opens_block
from harness.foreign_files import FileFault
from harness.foreign_toml import parse_toml
from harness.printable import for_terminal, printable

MASK: Final = "***"
MOST_HELD_BYTES: Final = 64 * 1024
"""Longest part of an unfinished line to buffer."""
LONGEST_SHAPE: Final = 4096
"""Characters of the longest key that nobody knows beforehand: a web token with many claims, a block of PEM."""
MOST_MASKED: Final = 64 * 1024
"""Characters of something foreign that are searched before its beginning is shown."""
MOST_ESCAPED: Final = 10
"""Characters that one byte can become (`\\\\\\\\u002f`): as many are delayed at the end of an unfinished line."""
LEAST_IN_BASE64: Final = 8
"""Characters of a key amid other base64: a form that is looked for must not occur by chance, and 8 are 48 bits."""
_COLOURS: Final = re.compile(r"(?:\x1b|\\{1,8}+(?:x1[bB]|u001[bB]|033|e)|\u00b7)\[[0-9;?]{0,20}+[A-Za-z]")
"""Terminals' sequences, as they are and as JSON, `repr` and `printable` write them: their last letter would pass for the
first of a key. They are removed from a text in which something is masked."""
_USER: Final = re.compile(r"(://)(?:[^/@:\s\"'<>\\]*+:(?!\d{1,5}/)[^@\s\"'<>\\]{1,500}+|[^/@\s\"'<>\\]++)(@)")
_USER_CUT_OFF: Final = re.compile(r"(://)[^/@:\[\s\"'<>\\]++:(?!\d{1,5}\W{0,3}\Z|\{)[^/@\s\"'<>\\]++(?=\s*+\Z)")
"""User and password of an address that ends before its host, because the text was cut there."""
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
        plain = _COLOURS.sub("", text) if "[" in text else text
        masked = self._foreign(plain)
        return masked if masked != plain else text

    def _foreign(self, text: str) -> str:
        text = mask_path_tokens(self(text), MASK)
        if "://" in text:
            text = _USER_CUT_OFF.sub(rf"\1{MASK}", text)
        return mask_shapes(mask_assigned(text, MASK), MASK)

    @property
    def margin(self) -> int:
        """Characters at the end of a piece of a text in which a secret may begin that ends in the next piece."""
        return max((len(form.encode()) * MOST_ESCAPED for form in self.forms), default=0) + LONGEST_SHAPE


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
        learn_settings(parse_toml(text))
    except FileFault:
        learn(in_text(text))


def redact(text: str) -> str:
    """A text that may be stored or shown: without secrets, and without half characters, which no file can store."""
    return _encodable(redactor()(text))


def redact_foreign(text: str) -> str:
    """As `redact`, for words that an agent or an endpoint wrote: without control characters, too."""
    return printable(redactor().foreign(text))


def beginning(text: str | bytes, most: int, *, one_line: bool = True) -> str:
    """At most `most` characters of what an agent or an endpoint wrote, masked and safe to print: the only place that cuts it.

    Masked first, because half a key would pass the mask; and of a text that is too long to search, without its end.
    """
    raw = text[: MOST_MASKED * 4].decode("utf-8", "replace") if isinstance(text, bytes) else text
    masked = redactor().foreign(raw[:MOST_MASKED])
    if len(text) > MOST_MASKED:
        masked = masked[: -min(redactor().margin, MOST_MASKED // 2)]
    words = printable(" ".join(masked.split()) if one_line else masked, one_line=one_line)
    is_cut = len(words) > most or len(text) > MOST_MASKED
    return f"{words[: most - 1]}…" if is_cut else words


def masked_values(value: Any, name: str = "") -> Any:
    """A table of what an agent or an endpoint sent, each of its texts and names masked; numbers stay as they are."""
    if isinstance(value, str):
        return MASK if is_secret_under(name, value) else _encodable(redactor().foreign(value))
    if isinstance(value, Mapping):
        return {_encodable(redactor().foreign(str(key))): masked_values(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked_values(inner, name) for inner in value]
    return value


class RedactedLines:
    """A stream of bytes, masked line by line, so that no secret slips through where two pieces meet; a block of PEM is one."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = bytearray()
        self._margin = redactor.margin
        self._in_block = False

    def feed(self, piece: bytes) -> bytes:
        """The bytes to write now: complete lines, or the beginning of an extremely long one."""
        # Only the new piece is searched, and a long line is masked once in as many bytes as are held: an agent that writes
        # without line breaks, a byte at a time, must cost no more than one that writes lines.
        ready = b""
        if end := max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1:
            ready = self._mask(bytes(self._held) + piece[:end])
            self._held = bytearray()
        self._held += piece[end:]
        if len(self._held) > MOST_HELD_BYTES + self._margin:
            masked = self._mask(bytes(self._held))
            ready, self._held = ready + masked[: -self._margin], bytearray(masked[-self._margin :])
        return ready

    def flush(self) -> bytes:
        """The rest at the end of the stream."""
        ready, self._held = self._mask(bytes(self._held)), bytearray()
        return ready

    def _mask(self, raw: bytes) -> bytes:
        text = raw.decode("utf-8", "surrogateescape")
        if self._in_block or "PRIVATE KEY" in text:
            text = "".join(self._without_block(line) for line in text.splitlines(keepends=True))
        return self._redactor.foreign(text).encode("utf-8", "surrogateescape")

    def _without_block(self, line: str) -> str:
        """The line; a mask where it is inside of a block of PEM that began in an earlier one."""
        inside = self._in_block and (ends_block(line) or continues_block(line))
        self._in_block = opens_block(line) or (inside and not ends_block(line))
        return f"{MASK}\n" if inside else line


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
