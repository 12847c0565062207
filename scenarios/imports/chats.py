"""Contexts from logs of chats in JSON or JSON Lines: `messages` of chat completions, and ShareGPT's `conversations`.

A file is JSON Lines, a list of conversations, or one conversation. A conversation is a list of messages, or an object with such
a list: of a log of chat completions, the request's with the reply in `choices`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.foreign_files import FileFault, json_lines, parse_json, read_text
from harness.scenarios.imports.imported import Imported, ImportFault
from harness.scenarios.imports.talk import Said, context_of, role_of, text_of


@dataclass(frozen=True, slots=True)
class Shape:
    """The names of a format's fields."""

    talk: str
    role: str
    text: str


SHAPES: Final = {"messages": Shape("messages", "role", "content"), "sharegpt": Shape("conversations", "from", "value")}
_AROUND: Final = ("request", "body", "input")
"""Fields of a log's row in which the request is."""
_CALLS: Final = ("tool_calls", "function_call", "audio", "refusal")
"""Fields of a message beside its content, which are counted as left out."""


def import_chats(path: Path, kind: str, licence: str | None = None) -> Imported:
    """All conversations of a file. Raises `ImportFault` with the place of the first fault."""
    contexts, left = [], []
    for number, (where, row) in enumerate(_rows(path, SHAPES[kind]), 1):
        messages = _messages(row, SHAPES[kind], where)
        said = (_said(one, k, SHAPES[kind], where) for k, one in enumerate(messages))
        context, dropped = context_of(said, path, number, where, {"licence": licence} if licence else {})
        contexts.append(context)
        left += dropped
    if not contexts:
        raise ImportFault(f"{path}: holds no conversation")
    return Imported(tuple(contexts), tuple(left))


def _rows(path: Path, shape: Shape) -> Iterator[tuple[str, Any]]:
    try:
        if path.suffix != ".json":
            yield from ((f"{path}:{number}", row) for number, row in json_lines(path))
            return
        whole = parse_json(read_text(path))
    except FileFault as fault:
        raise ImportFault(fault.at(path)) from None
    several = isinstance(whole, list) and not any(isinstance(one, dict) and shape.role in one for one in whole)
    yield from ((f"{path}, conversation {k}", row) for k, row in enumerate(whole if several else [whole], 1))


def _messages(row: Any, shape: Shape, where: str) -> list[Any]:
    if isinstance(row, list):
        return row
    for place in (row, *(row.get(name) for name in _AROUND)) if isinstance(row, dict) else ():
        if isinstance(place, dict) and isinstance(place.get(shape.talk), list):
            return [*place[shape.talk], *_reply(row)]
    raise ImportFault(
        f"{where}: has no list {shape.talk!r}; write {{{shape.talk!r}: [{{{shape.role!r}: 'user', {shape.text!r}: '…'}}]}}"
    )


def _reply(row: dict[str, Any]) -> list[Any]:
    """The reply of a logged chat completion, if it is there: it is left out, and said to be."""
    answer = row.get("response", row)
    choices = answer.get("choices") if isinstance(answer, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return [first["message"]] if isinstance(first, dict) and isinstance(first.get("message"), dict) else []


def _said(message: Any, k: int, shape: Shape, where: str) -> Said:
    place = f"{where}: {shape.talk}[{k}]"
    if not isinstance(message, dict) or shape.role not in message:
        raise ImportFault(f"{place}: has no {shape.role!r}; write user or assistant there")
    text, parts = text_of(message.get(shape.text), place)
    calls = tuple(f"a message's {name!r}" for name in _CALLS if message.get(name))
    return Said(role_of(message[shape.role], place), text, parts + calls)
