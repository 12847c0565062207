"""JSON and TOML of others, read so that whatever is in them ends in a value or in one exception.

The standard parsers recurse, and numbers of more than 4,300 digits fail when they are converted: a file of brackets is a
`RecursionError` and one of digits a plain `ValueError`, where a reader expects the parser's own error. `NotReadable` is all of
them, in words for people. The standard library alone, because the supervisor of an agent imports it. Pure.
"""

import json
import tomllib
from collections.abc import Callable
from typing import Any, TypeVar

Text = TypeVar("Text", str, str | bytes)


class NotReadable(ValueError):
    """A text that is not of its format. The message is the end of a sentence for people, in one line; `error` is the parser's,
    if it is its own."""

    def __init__(self, message: str, error: ValueError | None = None) -> None:
        super().__init__(message)
        self.error = error


def read_json(text: str | bytes, **how: Any) -> Any:
    """The value of a JSON text. `how`: as for `json.loads`.

    Raises:
        NotReadable: it is none, is nested too deep, or has a number of too many digits.
    """
    return _read(lambda given: json.loads(given, **how), text, json.JSONDecodeError)


def read_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text.

    Raises:
        NotReadable: it is none, is nested too deep, or has a number of too many digits.
    """
    found: dict[str, Any] = _read(tomllib.loads, text, tomllib.TOMLDecodeError)
    return found


def _read(parse: Callable[[Text], Any], text: Text, own: type[ValueError]) -> Any:
    try:
        return parse(text)
    except own as error:
        raise NotReadable(str(error), error) from None
    except RecursionError:
        raise NotReadable("nested too deep") from None
    except ValueError as error:
        digits = "integer string conversion" in str(error)
        raise NotReadable("a number of more than 4,300 digits" if digits else " ".join(str(error).split())) from None
