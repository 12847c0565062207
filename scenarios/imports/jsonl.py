"""Contexts from a JSON Lines file: one conversation per line, of which only the turns are required.

A line is a context as in a pack (`line_schema`), with short forms from other tools: `messages` for `turns`,
`content` for `text`, `user` and `assistant` for the roles. Omitted fields get a plain default that says so.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import foreign_files
from harness.foreign_files import FileFault
from harness.scenarios.context import Context, Turn
from harness.scenarios.imports.imported import DEFAULTS, Imported, ImportFault, as_id, valid_context
from harness.scenarios.imports.talk import role_of, text_of


def line_schema() -> dict[str, Any]:
    """The JSON Schema of a full line (a short line needs only `turns` or `messages`)."""
    return Context.model_json_schema()


def import_jsonl(path: Path) -> Imported:
    """All conversations of the file. Raises `ImportFault` with the number of the first wrong line."""
    contexts: list[Context] = []
    left: list[str] = []
    seen: dict[str, int] = {}
    for number, line in json_lines(path):
        context, dropped = _context(line, path, number)
        if context.id in seen:
            raise ImportFault(f"{path}:{number}: id {context.id!r} is already used on line {seen[context.id]}")
        seen[context.id] = number
        contexts.append(context)
        left += [f"{path}:{number}: {what}" for what in dropped]
    if not contexts:
        raise ImportFault(f"{path}: holds no conversation")
    return Imported(tuple(contexts), tuple(left))


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON Lines, with their line numbers. Raises `ImportFault` at the first line that is none."""
    try:
        for number, value in foreign_files.json_lines(path):
            if not isinstance(value, dict):
                raise ImportFault(f"{path}:{number}: is no object")
            yield number, value
    except FileFault as fault:
        raise ImportFault(fault.at(path)) from None


def _context(line: dict[str, Any], path: Path, number: int) -> tuple[Context, list[str]]:
    raw_turns = line.get("turns", line.get("messages"))
    if not isinstance(raw_turns, list):
        raise ImportFault(f"{path}:{number}: has neither 'turns' nor 'messages'")
    dropped = [f"{key!r} is not carried over" for key in line if key not in Context.model_fields and key != "messages"]
    turns = [turn for turn in (_turn(raw, k, dropped, f"{path}:{number}") for k, raw in enumerate(raw_turns)) if turn]
    while turns and turns[-1]["role"] == "supporter":
        turns.pop()
        dropped.append("the last supporter turn is not carried over: a context ends on the seeker")
    known = {key: value for key, value in line.items() if key in Context.model_fields}
    fields = {
        "id": as_id(f"{path.stem}-{number}"),
        "source": f"{path.name}, line {number}",
        **DEFAULTS,
        **known,
        "turns": turns,
    }
    return valid_context(fields, f"{path}:{number}"), dropped


def _turn(raw: Any, k: int, dropped: list[str], where: str) -> dict[str, Any] | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("role"), str):
        raise ImportFault(f"{where}: turns[{k}] has no 'role'")
    role = role_of(raw["role"], f"{where}: turns[{k}]")
    if role is None:
        dropped.append(f"turns[{k}] with role {raw['role']!r} is not carried over")
        return None
    kept = {key: value for key, value in raw.items() if key in Turn.model_fields and key not in ("audio", "audio_sha256")}
    dropped += [f"turns[{k}].{key} is not carried over" for key in raw if key not in kept and key != "content"]
    text, parts = text_of(raw.get("text", raw.get("content")), f"{where}: turns[{k}]")
    dropped += [f"turns[{k}]: {part} is not carried over" for part in parts]
    if not text and raw.get("tool_calls"):
        return None
    return {**kept, "role": role, "text": text}
