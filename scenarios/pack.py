"""Packs: named sets of contexts, read from a YAML file or a folder of them, with errors that name the place.

A pack is identified by a hash over its content, not over its bytes, so that a reflowed paragraph or a renamed file does
not make finished sessions unrepeatable, while one changed word does. Recordings count by their content.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import UserError
from harness.foreign_files import FileFault, read_text
from harness.foreign_problems import in_sentences, problems, spelt
from harness.foreign_yaml import Marked, Place, parse_yaml
from harness.nearest import did_you_mean
from harness.scenarios.context import Context, Turn
from harness.scenarios.emotions import unknown_emotion
from harness.scenarios.pause_law import LawName
from harness.scenarios.pauses import fault_in_marks
from harness.scenarios.recorded import RecordingFault, refuse_pauses_outside, sha256_of_recording

SHIPPED = Path(__file__).parent / "packs"
MOST_FILES = 200
MOST_CONTEXTS = 5_000


class PackError(UserError, ValueError):
    """A pack cannot be used; the message is one line: file, line, item, field, what is wrong."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A named set of contexts. `path` is the YAML file or the folder it was read from; `hash` is SHA-256 over its content."""

    name: str
    contexts: tuple[Context, ...]
    hash: str
    path: Path

    @property
    def folder(self) -> Path:
        """The folder to which `audio:` paths are relative."""
        return self.path if self.path.is_dir() else self.path.parent

    def recording_of(self, turn: Turn) -> Path | None:
        """The recording of a turn, checked when the pack was loaded; None for a turn to be rendered."""
        return None if turn.audio is None else self.folder / turn.audio


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    pack: str = Field(default="", max_length=80)
    about: str = Field(default="", max_length=4_000)
    source: str | None = Field(default=None, max_length=400)
    licence: str | None = Field(default=None, max_length=200)
    pauses: LawName | None = None
    """The law by which `harness scenarios` drew the pauses. It is for readers: the marks in the texts are what is played."""
    contexts: list[dict[str, Any]] = Field(min_length=1, max_length=MOST_CONTEXTS)


def shipped_packs() -> tuple[str, ...]:
    """The names of the shipped packs, sorted."""
    return tuple(sorted(p.stem if p.suffix == ".yaml" else p.name for p in SHIPPED.iterdir() if _is_pack(p)))


def load_pack(name_or_path: str | Path) -> Pack:
    """A shipped pack by name, or one of the user's by path (a YAML file, or a folder of YAML files read in name order).

    Raises `PackError` with one line on the first fault: a pack with any fault is refused as a whole.
    """
    path = _locate(str(name_or_path))
    files = pack_files(path)
    contexts: list[Context] = []
    seen: dict[str, str] = {}
    for file in files:
        for context, where in _contexts(file):
            if context.id in seen:
                raise PackError(f"{where}: id {context.id!r} is already used at {seen[context.id]}; ids must differ")
            seen[context.id] = where
            contexts.append(context)
    if len(contexts) > MOST_CONTEXTS:
        raise PackError(f"{path}: {len(contexts)} contexts; a pack holds at most {MOST_CONTEXTS}")
    digest = hashlib.sha256("\n".join(map(context_hash, contexts)).encode()).hexdigest()
    return Pack(path.stem if path.is_file() else path.name, tuple(contexts), digest, path)


def context_hash(context: Context) -> str:
    """The SHA-256 (hex) of a context's content, references included.

    Fields with their default value are not included, so that a field added later does not change the hash of older contexts.
    """
    said = context.model_dump(mode="json", exclude_defaults=True)
    return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _is_pack(path: Path) -> bool:
    return path.suffix == ".yaml" or (path.is_dir() and any(path.glob("*.yaml")))


def _locate(name: str) -> Path:
    if name in shipped_packs():
        shipped = SHIPPED / f"{name}.yaml"
        return shipped if shipped.is_file() else SHIPPED / name
    try:
        path = Path(name)
        if path.exists():
            return path
    except (OSError, ValueError):
        raise PackError(f"{name[:80]!r} is neither a pack nor a path") from None
    hint = did_you_mean(name[:200], shipped_packs()) or f"; shipped are {', '.join(shipped_packs())}, or give a path"
    raise PackError(f"no pack or file {name[:200]!r}{hint}")


def pack_files(path: Path) -> tuple[Path, ...]:
    """The YAML files of a pack, by name. Raises `PackError` for a path that is none."""
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise PackError(f"{path}: neither a file nor a folder")
    files = tuple(sorted(p for p in path.iterdir() if p.suffix in (".yaml", ".yml") and p.is_file()))
    if not files:
        raise PackError(f"{path}: no .yaml file in this folder")
    if len(files) > MOST_FILES:
        raise PackError(f"{path}: {len(files)} YAML files; a pack holds at most {MOST_FILES}")
    return files


def _contexts(file: Path) -> Iterator[tuple[Context, str]]:
    try:
        marked = parse_yaml(read_text(file))
    except FileFault as fault:
        raise PackError(fault.at(file)) from None
    try:
        head = _File.model_validate(marked.data)
    except ValidationError as error:
        raise PackError(in_sentences(file, problems(error, _File, marked.data, "a pack"), marked.line, ":")) from None
    for k, item in enumerate(head.contexts):
        place: Place = ("contexts", k)
        inherited = {key: value for key, value in (("source", head.source), ("licence", head.licence)) if value}
        try:
            context = Context.model_validate({**inherited, **item})
        except ValidationError as error:
            called = repr(item["id"]) if isinstance(item.get("id"), str) else str(k + 1)
            found = [((*place, *at), f"item {called}, {said}") for at, said in problems(error, Context, item, "a context")]
            raise PackError(in_sentences(file, found, marked.line, ":")) from None
        yield _checked(context, file, marked, place), f"{file}:{marked.line(place)}"


def _checked(context: Context, file: Path, marked: Marked, place: Place) -> Context:
    def refuse(field: Place, message: str) -> PackError:
        line = marked.line((*place, *field))
        return PackError(f"{file}:{line}: item {context.id!r}, {spelt(field)}: {message}")

    if fault := fault_in(context):
        raise refuse(*fault)
    turns = []
    for k, turn in enumerate(context.turns):
        if turn.audio is not None:
            try:
                digest = sha256_of_recording(turn.audio, file.parent)
                refuse_pauses_outside(turn.pauses_s or (), turn.audio, file.parent)
            except RecordingFault as error:
                raise refuse(("turns", k, "audio"), str(error)) from None
            turn = turn.model_copy(update={"audio_sha256": digest})
        turns.append(turn)
    return context.model_copy(update={"turns": tuple(turns)})


def fault_in(context: Context) -> tuple[Place, str] | None:
    """The first unknown emotion or malformed pause mark of a context: its field, and what is wrong; None without one."""
    words: list[tuple[Place, str | None]] = [(("emotion",), unknown_emotion(context.emotion))]
    for k, turn in enumerate(context.turns):
        words.append((("turns", k, "text"), fault_in_marks(turn.text) if turn.text else None))
        words.append((("turns", k, "speech", "emotion"), unknown_emotion(turn.speech.emotion) if turn.speech else None))
    return next(((field, fault) for field, fault in words if fault), None)
