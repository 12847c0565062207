"""The text of a file that somebody else wrote, and JSON in it: bounded in size and depth, with one line for each fault.

Profiles, packs, limits and transcripts come from strangers. Such a file may be endless, a folder, in another encoding, or so
deep that a parser ends in a traceback; the bounds are stated here once for every reader. `harness.foreign_toml` and
`harness.foreign_yaml` read the other formats. Rows of tables are read elsewhere.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    # An agent's supervisor reads with the standard library alone.
    from pydantic import ValidationError

MOST_BYTES: Final = 8 * 1024 * 1024
"""Largest file: a built set of 300 items is about 1 MB; a file eight times as large is not a pack."""
MOST_DEPTH: Final = 64
"""Deepest nesting: published chat logs have about ten levels, and recursion is safe to several hundred."""


class FileFault(ValueError):
    """The reason why a file or text cannot be read, on one line, with the line number if there is one."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line

    def at(self, path: Path, line_word: str = ":") -> str:
        """The message behind its place: `path:3: …`, or with `line_word` ", line " `path, line 3: …`."""
        return f"{path}{f'{line_word}{self.line}' if self.line else ''}: {self}"


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """The file as text, without a byte order mark. Raises `FileFault` if it cannot be read, is too large, or is no UTF-8."""
    try:
        with path.open("rb") as file:
            raw = file.read(most_bytes + 1)
    except OSError as error:
        raise FileFault(f"cannot be read ({error.strerror or error})") from None
    if len(raw) > most_bytes:
        raise FileFault(f"larger than {most_bytes // 1024**2} MiB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise FileFault(f"not UTF-8 (byte 0x{raw[error.start]:02x}); save the file as UTF-8", line) from None
    if (nul := text.find("\0")) >= 0:
        raise FileFault("has a NUL character, as UTF-16 has; save the file as UTF-8", text.count("\n", 0, nul) + 1)
    return text


def first_fault(error: "ValidationError") -> tuple[str, str]:
    """Where the first fault of a checked value is, as `turns.0.text` (empty: the value itself), and what it is."""
    fault = error.errors(include_url=False, include_input=False)[0]
    return ".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, ")


def read_json(text: str | bytes, **how: Any) -> Any:
    """The value of a JSON text, `how` as for `json.loads`. Raises `FileFault` for everything that is none, and for nesting or
    numbers that Python cannot read."""
    try:
        return json.loads(text, **how)
    except json.JSONDecodeError as error:
        raise FileFault(f"not JSON ({error.msg})", error.lineno) from None
    except RecursionError:
        raise FileFault("not JSON that can be read (nested too deep)") from None
    except FileFault:
        raise
    except ValueError as error:
        raise FileFault(f"not JSON ({str(error)[:60]})") from None


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises `FileFault` for deep nesting, doubled keys and numbers that are not finite, too."""
    value = read_json(text, object_pairs_hook=_without_doubled_keys, parse_constant=_refuse_constant)
    refuse_depth(value)
    return value


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The values of a file of JSON Lines, with their line numbers. Raises `FileFault` at the first line that is none.

    Lines end with a line feed alone: `str.splitlines` also splits at U+2028 and others, which JSON allows within a text.
    """
    for number, row in enumerate(read_text(path).split("\n"), 1):
        if not row.strip():
            continue
        try:
            yield number, parse_json(row)
        except FileFault as fault:
            raise FileFault(str(fault), number) from None


def refuse_depth(value: Any, most: int = MOST_DEPTH) -> None:
    """Raise `FileFault` for data nested deeper than `most`: what reads it later recurses."""
    level = [value]
    for _ in range(most + 1):
        level = [
            child
            for one in level
            for child in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise FileFault(f"nested more than {most} deep")


def _without_doubled_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise FileFault(f"key {key[:40]!r} is there twice")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise FileFault(f"not JSON ({name} is no number)")
