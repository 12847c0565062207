"""A completion, the test that two completions are the same, and files of completions of any origin.

Identities and texts are together here and are separated before a judge sees anything: a judge is shown two texts, never a
system. Two replies that differ only in case, spacing, punctuation or typographic quotes say the same thing, so they are a
tie without a call: asking would measure nothing but position bias.

A file is JSON Lines with `context, system, text`, so that a board can be run on text alone. It may carry `family` (for the
own-family rule) and the times that came with the replies (`ttft_ms`, `ttfa_ms`); `audio` is accepted and not read here. Errors
name file, line and field, because such files are made by other programs.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from harness.errors import UserError
from harness.judging.sound import Clip
from harness.scenarios.context import Context, Turn
from harness.tables.json_rows import json_rows, validated
from harness.tables.names import NamesRead


@dataclass(frozen=True, slots=True)
class Completion:
    """One system's next supporter turn for one context. `family` is the model family that wrote it, if any.

    >>> import harness
    >>> from harness.scenarios.pack import load_pack
    >>> contexts = load_pack("heart-mini").contexts
    >>> mine = [harness.Completion(context.id, system="mine", text="What is hardest?") for context in contexts]
    >>> len(mine)
    12
    """

    context_id: str
    system: str
    text: str
    family: str | None = None
    turns: tuple[Turn, ...] | None = None
    """The conversation that it answers, if that differs from the context's (replay); None: the context's."""
    lost: str = ""
    """Reason of a missing reply (nothing heard, the agent crashed): it loses to any reply without a call."""
    sound: Clip | None = None
    """The reply as heard, for a judge that hears."""


def normalised(text: str) -> str:
    """Letters and digits only, case-folded, single spaces: two replies differ only if this differs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(ch if ch.isalnum() else ("" if ch in "'’" else " ") for ch in folded)
    return " ".join(kept.split())


def identical(one: str, other: str) -> bool:
    """True if two replies are the same after normalising; replies of punctuation alone are compared literally."""
    a, b = normalised(one), normalised(other)
    return a == b if a or b else one.strip() == other.strip()


def same_reply(one: Completion, other: Completion) -> bool:
    """True if two replies to the same conversation are the same to whoever judges them: as sounds, or else as texts."""
    if one.turns != other.turns:
        return False
    if one.sound is not None and other.sound is not None:
        return one.sound.sha256 == other.sound.sha256
    return identical(one.text, other.text)


class CompletionRow(BaseModel):
    """One line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context: Annotated[str, StringConstraints(min_length=1, max_length=80)]
    system: Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=20_000, strip_whitespace=True)]
    family: str | None = None
    audio: str | None = None
    ttft_ms: Annotated[float, Field(ge=0)] | None = None
    ttfa_ms: float | None = None


@dataclass(frozen=True, slots=True)
class CompletionsFile:
    """The contents of a file: the completions, and the times where given (system → context → ms or None)."""

    completions: tuple[Completion, ...]
    ttft_ms: dict[str, dict[str, float | None]]
    ttfa_ms: dict[str, dict[str, float | None]]
    notes: tuple[str, ...] = ()
    """Sentences on names that are spelled in several ways or look alike."""


def read_completions(path: Path, contexts: Sequence[Context]) -> CompletionsFile:
    """Read and check a file against the contexts that it names.

    Raises:
        UserError: unreadable, a bad line, an unknown context, or two replies of one system to one context.
    """
    known = {c.id for c in contexts}
    seen: set[tuple[str, str]] = set()
    out = CompletionsFile((), {}, {})
    completions = []
    names = NamesRead()
    for given, where in json_rows(path):
        for name, kind in (("context", "context"), ("system", "system")):
            if isinstance(given.get(name), str):
                given[name] = names.one(kind, given[name], f"{where}: {name}")
        row = validated(CompletionRow, given, where)
        if row.context not in known:
            raise UserError(f"{where}: context {row.context!r} is not in the pack; check --pack")
        if (row.context, row.system) in seen:
            raise UserError(f"{where}: a second completion of {row.system!r} for {row.context!r}; keep one")
        seen.add((row.context, row.system))
        completions.append(Completion(row.context, row.system, row.text, row.family))
        out.ttft_ms.setdefault(row.system, {})[row.context] = row.ttft_ms
        out.ttfa_ms.setdefault(row.system, {})[row.context] = row.ttfa_ms
    if not completions:
        raise UserError(f"{path}: holds no completions; each line is an object with context, system and text")
    return CompletionsFile(tuple(completions), out.ttft_ms, out.ttfa_ms, tuple(names.notes()))
