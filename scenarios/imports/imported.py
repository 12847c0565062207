"""The result of an import: contexts, and a line for everything in the source that has no place in them.

A benchmark imported with unreported omissions is another benchmark; so each importer must list them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from harness.files import for_others, write_whole
from harness.foreign_files import first_fault
from harness.foreign_problems import spelt
from harness.scenarios.context import Context
from harness.scenarios.pack import fault_in
from harness.scenarios.pause_law import PauseLaw


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
        place, wrong = first_fault(error)
        raise ImportFault(f"{where}: {place + ': ' if place else ''}{wrong}") from None
    if fault := fault_in(context):
        raise ImportFault(f"{where}: {spelt(fault[0])}: {fault[1]}")
    return context


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, _data: Any) -> bool:
        return True


def pack_text(name: str, about: str, contexts: tuple[Context, ...], law: PauseLaw | None = None) -> str:
    """The YAML of a pack: keys in the order of the type, defaults left out. `law`: the law of its drawn pauses."""
    rows = [context.model_dump(mode="json", exclude_defaults=True) for context in contexts]
    head = {"pack": name, "about": about, **({"pauses": law.name} if law else {}), "contexts": rows}
    return yaml.dump(head, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


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
