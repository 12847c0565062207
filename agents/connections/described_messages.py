"""Matches, paths and templates of JSON messages, as a profile's `[wire]` describes them. Pure.

The language is small on purpose: who reads a table knows what it does, and a server's message, which is hostile, can neither
run nor grow anything. A path is names with dots between, `0` for the first of a list and `*` for each. A match is paths with
the values that they must have, `"*"` for any. A template is JSON in whose texts a name in braces stands for a value: alone it
keeps its type, within a text it is written out. `{message.PATH}` copies a short value of the message that is answered.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator

from harness.agents.connections.wire import shown
from harness.agents.secret_places import VARIABLE
from harness.agents.secret_shapes import known_shapes, random_strings

ANY: Final = "*"
_PATH: Final = re.compile(r"(?:[\w$-]{1,80}|\*)(?:\.(?:[\w$-]{1,80}|\*)){0,9}")
_PLACE: Final = re.compile(r"\{(message\.[\w$.*-]+|[a-z_]+)\}")
_COPIED: Final = 1_000
"""Longest text that is copied into an answer: an id, and no megabyte that a server would have sent back."""
_NAMES: Final = ("type", "event", "event_type", "message_type", "kind", "t", "action")
"""Keys under which most protocols name their messages."""
_PLAIN: Final = re.compile(r"[\w.:/ -]{1,60}")
MOST_KEYS: Final = 4

Values = Mapping[str, Any]
Condition = tuple[tuple[str, ...], str | int | bool]


def _path(written: str) -> str:
    if not _PATH.fullmatch(written):
        raise ValueError("write a path as names with dots between, as in delta.audio or parts.0.text")
    return written


Path = Annotated[str, AfterValidator(_path)]


def _match(table: dict[str, Any]) -> dict[str, Any]:
    if not table:
        raise ValueError('write the values that the message has, as in { type = "ready" }')
    for path, wanted in _conditions(table):
        _path(".".join(path))
        if not isinstance(wanted, str | int | bool):
            raise ValueError(f'{".".join(path)}: write a text, a whole number, true or false, or "*" for any value')
    return table


Match = Annotated[dict[str, Any], AfterValidator(_match)]
Matches = Annotated[tuple[Match, ...], BeforeValidator(lambda given: [given] if isinstance(given, dict) else given)]
"""One match, or a list of which any will do."""


def _template(text: str) -> str:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        # Not with the parser's own words: they may repeat the text.
        at = f" (character {error.pos + 1})" if isinstance(error, json.JSONDecodeError) else ""
        raise ValueError(f'is not JSON{at}: write a message as in \'{{"type": "start"}}\'') from error
    if not isinstance(parsed, dict):
        raise ValueError('is JSON, but no object: write a message as in \'{"type": "start"}\'')
    if any(VARIABLE.search(one) or any(known_shapes(one)) or any(random_strings(one)) for one in _texts(parsed)):
        raise ValueError("a message is stored with every run and holds no key: name it in api_key_env, headers or url")
    return text


Template = Annotated[str, AfterValidator(_template)]


def unknown_places(template: str, known: Sequence[str]) -> list[str]:
    """The names in braces that a template has and this place of the table has not."""
    found = [name for text in _texts(json.loads(template)) for name in _PLACE.findall(text)]
    return [name for name in found if name not in known and not (name.startswith("message.") and "message" in known)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def has_place(template: str, name: str) -> bool:
    """True if a template has this name in braces."""
    return any(name in _PLACE.findall(text) for text in _texts(json.loads(template)))


def filled(template: Any, values: Values) -> Any:
    """A template, parsed, with its values. `values["message"]` is the message that is answered."""
    if isinstance(template, dict):
        return {key: filled(part, values) for key, part in template.items()}
    if isinstance(template, list):
        return [filled(part, values) for part in template]
    if not isinstance(template, str):
        return template
    if (alone := _PLACE.fullmatch(template)) is not None:
        return _value(alone[1], values)
    return _PLACE.sub(lambda place: str(_value(place[1], values)), template)


def _value(name: str, values: Values) -> Any:
    if not name.startswith("message."):
        return values[name]
    found = next(values_at(values["message"], name.removeprefix("message.").split(".")), None)
    return found if isinstance(found, bool | int | float) or (isinstance(found, str) and len(found) <= _COPIED) else None


def values_at(data: Any, path: Sequence[str]) -> Iterator[Any]:
    """The values of a message at a path: none, one, or one for each element where the path has `*`."""
    if not path:
        yield data
    elif isinstance(data, dict):
        if path[0] in data:
            yield from values_at(data[path[0]], path[1:])
    elif isinstance(data, list):
        if path[0] == ANY:
            for part in data:
                yield from values_at(part, path[1:])
        elif path[0].isdecimal() and len(path[0]) <= 4 and int(path[0]) < len(data):
            yield from values_at(data[int(path[0])], path[1:])


def text_at(data: Any, path: str) -> str | None:
    """The texts of a message at a path as one; None if there is none."""
    found = [value for value in values_at(data, path.split(".")) if isinstance(value, str)]
    return "".join(found) if found else None


def _conditions(table: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of a match by their paths, whether these are written with dots or as tables."""
    for name, value in table.items():
        path = (*before, *name.split("."))
        if isinstance(value, dict) and value:
            yield from _conditions(value, path)
        else:
            yield path, value


class Matcher:
    """Matches of which any will do, ready to be asked."""

    def __init__(self, matches: Sequence[Mapping[str, Any]]) -> None:
        self._any = tuple(tuple(_conditions(one)) for one in matches)

    def __bool__(self) -> bool:
        return bool(self._any)

    def __call__(self, data: Mapping[str, Any]) -> bool:
        return any(all(_holds(data, path, wanted) for path, wanted in one) for one in self._any)

    def __str__(self) -> str:
        return " or ".join(" and ".join(f"{'.'.join(path)} = {_literal(value)}" for path, value in one) for one in self._any)


def _holds(data: Mapping[str, Any], path: Sequence[str], wanted: object) -> bool:
    found = values_at(data, path)
    if wanted == ANY:
        return any(value is not None for value in found)
    return any(type(value) is type(wanted) and value == wanted for value in found)


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def name_of(data: Mapping[str, Any]) -> str:
    """The name of a message for people, which is a server's: its type or its keys, and none of its values."""
    for key in _NAMES:
        if isinstance(value := data.get(key), str) and _PLAIN.fullmatch(value) and (masked := shown(value)) == value:
            return f"{key} = {_literal(masked)}"
    keys = [shown(key, 40) for key in list(data)[:MOST_KEYS] if _PLAIN.fullmatch(key)]
    return f"keys {', '.join(keys)}" if keys else "a message without a name"
