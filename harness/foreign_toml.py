"""A TOML text as plain data, and the line of any of its settings.

The standard parser recurses into brackets, takes quadratic time for a key of many parts, and remembers no positions. So the
text is first read as tokens, in one linear pass: depth is bounded before the parser sees it, and the ends of statements are
found, which the parser then reads one by one for a line number.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from harness.foreign_files import FileFault

MOST_BYTES: Final = 1024**2
"""Largest text: a profile is tens of lines, a long prompt in it some ten thousand characters."""
MOST_DEPTH: Final = 32
"""Most brackets within each other, and parts of a key; a profile has four."""
_TOKEN: Final = re.compile(
    r'"""(?:[^"\\]|\\(?:.|\Z)|"(?!""))*+(?:"{3,5}|\Z)'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\[^\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+"
    r"|[\[\]{}.=,\n]",
    re.DOTALL,
)
"""Every branch ends where it began to fail (an open text runs to its end), so that no place is read twice."""
_POSITION: Final = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises `FileFault` with the line."""
    if len(text) > MOST_BYTES:
        raise FileFault(f"larger than {MOST_BYTES // 1024**2} MiB")
    _refuse_depth(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        found = _POSITION.search(message)
        words = message[: found.start()] if found else message
        line = int(found["line"] or max(text.rstrip("\n").count("\n") + 1, 1)) if found else 1
        raise FileFault(f"not valid TOML: {words}", line) from None
    except ValueError as error:
        raise FileFault(f"not valid TOML: {str(error)[:60]}") from None


def _refuse_depth(text: str) -> None:
    depth = parts = 0
    line = 1
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token == ".":
            parts += 1
        elif token in ("[", "{", "]", "}", "=", ",", "\n"):
            parts = 0
            depth += (token in "[{") - (token in "]}")
        if max(depth, parts) > MOST_DEPTH:
            raise FileFault(f"nested more than {MOST_DEPTH} deep", line)
        line += token.count("\n")


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line (from 1) of the statement that brings the deepest part of `path` that the text has; 1 if it has none.

    `text` must be valid TOML. A key inside a value of several lines is placed on the first line of that value.
    """
    best, deepest = 1, 0
    header: list[str | int] = []
    rows: dict[tuple[str | int, ...], int] = {}
    for line, statement in _statements(text):
        parsed = tomllib.loads(statement)
        if not parsed:
            continue
        if statement.lstrip().startswith("["):
            header = _header(parsed, rows)
            depth = _shared(header, path)
        elif (depth := _shared(header, path)) == len(header):
            depth += depth_of(parsed, path[depth:])
        if depth > deepest:
            best, deepest = line, depth
    return best


def depth_of(parsed: Any, path: Sequence[str | int]) -> int:
    """The number of leading parts of `path` that the data have."""
    depth = 0
    for part in path:
        in_table = isinstance(parsed, dict) and part in parsed
        in_list = isinstance(parsed, list) and isinstance(part, int) and part < len(parsed)
        if not (in_table or in_list):
            break
        parsed = parsed[part]
        depth += 1
    return depth


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement with the line on which it begins."""
    depth = begin = 0
    line = first = 1
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token in ("[", "{", "]", "}"):
            depth += (token in "[{") - (token in "]}")
        line += token.count("\n")
        if token == "\n" and depth == 0:
            yield first, text[begin : found.end()]
            begin, first = found.end(), line
    yield first, text[begin:]


def _header(parsed: Any, rows: dict[tuple[str | int, ...], int]) -> list[str | int]:
    """The place of a table, with the number of its row in each array of tables that it is in."""
    place: list[str | int] = []
    while parsed:
        key, parsed = next(iter(parsed.items()))
        place.append(key)
        if isinstance(parsed, list):
            rows[tuple(place)] = rows.get(tuple(place), -1) + 1
            parsed = parsed[0]
        if (row := rows.get(tuple(place))) is not None:
            place.append(row)
    return place


def _shared(header: Sequence[str | int], path: Sequence[str | int]) -> int:
    same = 0
    for mine, wanted in zip(header, path, strict=False):
        if mine != wanted:
            break
        same += 1
    return same
