"""The line number of a key in a TOML file, for errors about its value.

The standard parser keeps no positions. Rather than writing a second, lesser parser, the file is parsed again in growing
prefixes: the statement that brings a key is the one whose end makes the key appear. Profiles are tens of lines, so the
quadratic cost is a few milliseconds, and only paid when something is wrong.
"""

import re
import tomllib
from collections.abc import Sequence
from typing import Any

_POSITION = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line (from 1) of the statement that brings the deepest part of `path` that the file has; 1 if it has none.

    `text` must be valid TOML. A key inside a multi-line value is placed on the first line of that value.
    """
    lines = text.splitlines()
    target = _depth(tomllib.loads(text), path)
    if target == 0:
        return 1
    whole_until = 0
    for count in range(1, len(lines) + 1):
        try:
            parsed = tomllib.loads("\n".join(lines[:count]) + "\n")
        except tomllib.TOMLDecodeError:
            continue
        if _depth(parsed, path) >= target:
            return whole_until + 1
        whole_until = count
    return whole_until + 1


def syntax_error(text: str, error: tomllib.TOMLDecodeError) -> tuple[int, str]:
    """The line (from 1) of a syntax error, and the parser's words without the position."""
    message = str(error)
    found = _POSITION.search(message)
    if found is None:
        return 1, message
    words = message[: found.start()]
    return int(found["line"] or max(len(text.splitlines()), 1)), words


def _depth(parsed: Any, path: Sequence[str | int]) -> int:
    depth = 0
    for part in path:
        in_table = isinstance(parsed, dict) and part in parsed
        in_list = isinstance(parsed, list) and isinstance(part, int) and part < len(parsed)
        if not (in_table or in_list):
            break
        parsed = parsed[part]
        depth += 1
    return depth
