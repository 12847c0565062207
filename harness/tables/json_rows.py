"""Objects of a user's JSON Lines, each with its line.

JSON lets a name be there twice in an object, and readers take the last in silence; here it is refused, as is every number that
JSON does not have or that no column can hold. Only a line feed ends a line: other line separators are characters of a text.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from harness.errors import UserError
from harness.foreign_problems import in_sentences, problems
from harness.tables.lines import lines_of

_Record = TypeVar("_Record", bound=BaseModel)
_MOST_DIGITS: Final = 40
"""More than any time, count or hash has; Python itself reads no number of thousands of digits."""
_HALF_CHARACTER: Final = re.compile(r"[\ud800-\udfff]")


def json_rows(path: Path, named: str | None = None, at: str = "{}:{}") -> Iterator[tuple[dict[str, Any], str]]:
    """The objects with their places, empty lines left out. `named`, `at`: as for `CsvRows`.

    Raises UserError: not readable, or a line that is no object.
    """
    for text, where in numbered_lines(path, named, at):
        row = value_of(text, where)
        if not isinstance(row, dict):
            raise UserError(f"{where}: is no JSON object")
        yield row, where


def numbered_lines(path: Path, named: str | None = None, at: str = "{}:{}") -> Iterator[tuple[str, str]]:
    """The lines that are not empty, with their places."""
    for number, line in enumerate(lines_of(path, named, "\n"), start=1):
        if not line.isspace():
            yield line, at.format(named or path, number)


def value_of(text: str, where: str) -> Any:
    """The value of a text of JSON. Raises UserError: it is no JSON, has a name twice, or a number that cannot be read."""
    try:
        value = _DECODER.decode(text)
        if "\\u" in text and _HALF_CHARACTER.search(json.dumps(value, ensure_ascii=False)):
            raise ValueError("half a character of UTF-16")
    except json.JSONDecodeError as error:
        raise UserError(f"{where}: not JSON ({error.msg}, column {error.colno})") from None
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    except RecursionError:
        raise UserError(f"{where}: not JSON that can be read (nested too deep)") from None
    return value


def validated(record: type[_Record], given: object, where: str) -> _Record:
    """The record that a row is. Raises UserError: a field that is wrong, by its name."""
    try:
        return record.model_validate(given)
    except ValidationError as error:
        raise UserError(in_sentences(where, problems(error, record, given, "this"), None)) from error


def first_fault(error: ValidationError, whole: str = "line") -> str:
    """The first wrong field and what is wrong with it; `whole`: what to call the record itself."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or whole}: {first['msg']}"


def pairs_in(value: dict[str, Any]) -> int:
    """Number of names in an object and in those within it."""
    return len(value) + sum(pairs_in(inner) for inner in value.values() if type(inner) is dict)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:60]!r} is there twice in one object; keep one")
    return found


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits ({digits[:10]}…), which no field can hold")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if abs(value) == float("inf"):
        raise ValueError(f"the number {digits[:20]} is too large")
    return value


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_whole, parse_float=_finite, parse_constant=_refused)
