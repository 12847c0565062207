"""The result of an import: contexts, and a line for everything in the source that has no place in them.

A benchmark imported with unreported omissions is another benchmark; so each importer must list them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.files import for_others, write_whole
from harness.scenarios.context import Context
from harness.scenarios.emotions import unknown_emotion
from harness.scenarios.esconv.write import pack_text
from harness.scenarios.pauses import fault_in_marks


class ImportFault(ValueError):
    """The source cannot be imported; the message is one line with place and fault."""


@dataclass(frozen=True, slots=True)
class Imported:
    """Contexts in the order of the source, and the omitted parts, one line each."""

    contexts: tuple[Context, ...]
    not_carried: tuple[str, ...]


def as_id(text: str) -> str:
    """A context id from any words: lower case, dashes for the rest, at most 80 characters."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:80].strip("-") or "item"


DEFAULTS = {"subset": "regular", "emotion": "neutral", "problem": "imported", "licence": "not stated"}
"""What a context says of itself where its source says nothing."""


def valid_context(data: Mapping[str, Any], where: str) -> Context:
    """The context of an imported item. Raises `ImportFault` if it is none, or for what a pack would refuse."""
    try:
        context = Context.model_validate(data)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise ImportFault(f"{where}: {place + ': ' if place else ''}{fault['msg'].removeprefix('Value error, ')}") from None
    if wrong := _fault_in(context):
        raise ImportFault(f"{where}: {wrong}")
    return context


def _fault_in(context: Context) -> str | None:
    """The fault for which a pack would refuse this context (unknown emotion, malformed pause mark), or None."""
    if fault := unknown_emotion(context.emotion):
        return f"emotion: {fault}"
    for k, turn in enumerate(context.turns):
        if turn.text and (fault := fault_in_marks(turn.text)):
            return f"turns[{k}].text: {fault}"
        if turn.speech and (fault := unknown_emotion(turn.speech.emotion)):
            return f"turns[{k}].speech.emotion: {fault}"
    return None


def write_imported(imported: Imported, out: Path, about: str = "Imported.") -> Path:
    """Write a pack file for `load_pack`; returns its path. Raises `ImportFault` if `out` exists or cannot be written."""
    if out.exists():
        raise ImportFault(f"{out}: exists already; give another name")
    text = pack_text(out.stem, about, imported.contexts)
    try:
        write_whole(out, text)
        for_others(out)
    except OSError as error:
        raise ImportFault(f"{out}: cannot be written ({error.strerror})") from None
    return out
