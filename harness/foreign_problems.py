"""What is wrong in a file of settings: a sentence for each place, by line and name, with the nearest name to a misspelt one.

A misspelt setting is two faults to a checker: one that it does not know, and often one that is missing. Only the first is the
cause, and only its name is in the file, so it is said first and the missing one with it. Values are not repeated: a key or a
token may stand where it does not belong.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

from harness.nearest import did_you_mean, nearest

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    Model = type[BaseModel]
Place = tuple[str | int, ...]
Line = Callable[[Place], int]
MOST_SAID: Final = 5
"""Sentences on one file: more do not fit on a screen, and mending the first ones often mends the others."""
MOST_LISTED: Final = 24
"""Known settings that are listed where none is near: more than any table of ours but the largest has."""


def problems(error: "ValidationError", model: "Model", data: object, what: str) -> list[tuple[Place, str]]:
    """Each problem of checked data: its place in the file's own keys, and a sentence on it. `what`: what the data describe,
    as in `a text agent`."""
    found: dict[Place, list[Mapping[str, Any]]] = {}
    for fault in error.errors(include_url=False):
        names_a_key = fault["type"] in ("missing", "extra_forbidden")
        found.setdefault(_in_keys(data, fault["loc"], names_a_key=names_a_key), []).append(dict(fault))
    unknown = {place: settings_at(model, place[:-1]) for place, faults in found.items() if _is(faults, "extra_forbidden")}
    meant = {(*place[:-1], nearest(str(place[-1]), known)) for place, known in unknown.items()}
    said = [(place, _unknown(place, known, what)) for place, known in unknown.items()]
    for place, faults in found.items():
        if place in unknown or (_is(faults, "missing") and place in meant):
            continue
        if _is(faults, "too_short") and any(one != place and one[: len(place)] == place for one in found):
            continue  # a list is short of the row that is wrong
        words = " or ".join(dict.fromkeys(_in_words(fault) for fault in faults)).replace(" or Input should be", " or")
        said.append((place, f"{spelt(place)} is missing" if _is(faults, "missing") else f"{spelt(place) or what}: {words}"))
    return said


def in_sentences(name: object, found: Sequence[tuple[Place, str]], line: Line | None, word: str = ", line ") -> str:
    """The problems of a file in one line: `bot.toml, line 4: …. Line 7: …`, five at most and the number of the others.

    `word`: what is between the file's name and the line.
    """
    said: list[str] = []
    for place, words in found[:MOST_SAID]:
        at = None if line is None else line(place)
        begins = f"{name}{'' if at is None else f'{word}{at}'}: " if not said else "" if at is None else f"Line {at}: "
        said.append(f"{begins}{words}".replace("\n", " "))
    if more := len(found) - MOST_SAID:
        said += [f"and {more} more"] if more > 0 else []
    return ". ".join(part.rstrip(".") for part in said).replace("?. ", "? ")


def settings_at(model: "Model", place: Place) -> list[str]:
    """The settings that a table at this place may have."""
    models = [model]
    for part in place:
        inner = [one for each in models for name, one in _fields(each) if part == name for one in _models_in(one)]
        models = inner or models  # the key of a mapping, the row of a list, or the tag of a union
    return list(dict.fromkeys(name for each in models for name, _ in _fields(each)))


def spelt(place: Place) -> str:
    """A place as readers write it: `turns[0].text`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def _fields(model: "Model") -> Iterator[tuple[str, Any]]:
    for name, field in model.model_fields.items():
        yield field.alias or name, field.annotation


def _models_in(annotation: Any) -> "list[Model]":
    if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def _in_keys(data: Any, place: Sequence[str | int], *, names_a_key: bool) -> Place:
    """The place in the file's own keys: a checker also names the member of a union that it tried, which is no key.

    `names_a_key`: the last part is one, whether the file has it there or not."""
    keys: list[str | int] = []
    for k, part in enumerate(place):
        in_table = isinstance(data, dict) and part in data
        in_list = isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)
        if in_table or in_list:
            data = data[part]
            keys.append(part)
        elif names_a_key and k == len(place) - 1:
            keys.append(part)
    return tuple(keys)


def _is(faults: Sequence[Mapping[str, Any]], kind: str) -> bool:
    return all(fault["type"] == kind for fault in faults)


def _unknown(place: Place, known: Sequence[str], what: str) -> str:
    mend = did_you_mean(str(place[-1]), known)
    listed = ", ".join(known[:MOST_LISTED]) + (", …" if len(known) > MOST_LISTED else "")
    return f"{spelt(place)} is no setting of {what}{mend or f'; its settings are {listed}'}"


def _in_words(fault: Mapping[str, Any]) -> str:
    if fault["type"] == "string_type":
        return "must be text; put it in quotes"
    said = " ".join(str(fault["msg"]).removeprefix("Value error, ").split())
    if fault["type"] == "literal_error" and isinstance(fault["input"], str):
        choices = [choice.strip(" '") for choice in fault["ctx"]["expected"].replace(" or ", ", ").split(",")]
        return said + did_you_mean(fault["input"], choices)
    return said
