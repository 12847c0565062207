"""ESConv from disk, in both of its layouts, as one type.

The original `ESConv.json` is one list whose turns have `speaker`, `content` and an `annotation`; the JSON Lines copies
with separate splits have `speaker` as `usr` or `sys`, `text` and `strategy`. Labels are unchanged; only
strategies that the copies spell differently are merged.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from harness.errors import UserError
from harness.foreign_files import FileFault, read_json

Role = Literal["seeker", "supporter"]
_ROLES: dict[str, Role] = {
    "seeker": "seeker",
    "usr": "seeker",
    "speaker": "seeker",
    "supporter": "supporter",
    "sys": "supporter",
    "listener": "supporter",
}
_STRATEGIES = {
    "Others": "Other",
    "Questions": "Question",
    "Restatement": "Restatement or Paraphrasing",
    "Reflection of Feelings": "Reflection of feelings",
}
MOST_BYTES = 256 * 1024 * 1024
"""Largest file: ESConv is 6 MB; the limit stops a wrong path, not a larger corpus."""


class EsconvError(UserError, ValueError):
    """The path has no ESConv in a known layout; the message is one line with place and fault."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message as written: role, text, and the supporter's strategy label if there is one."""

    role: Role
    text: str
    strategy: str | None = None


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation. `key` is stable: its split or file, and its position there (from 0)."""

    key: str
    emotion: str
    problem: str
    situation: str
    utterances: tuple[Utterance, ...]


def read_esconv(path: Path) -> tuple[Dialogue, ...]:
    """All dialogues under `path`: a `.json` or `.jsonl` file, or a folder with `ESConv.json` or `*.jsonl` splits.

    A folder's JSON Lines files are preferred over its `ESConv.json`, never mixed with it, as both have the same dialogues.
    Raises `EsconvError` with one line.
    """
    dialogues = tuple(d for file in _files(path) for d in _dialogues(file))
    if not dialogues:
        raise EsconvError(f"{path}: no dialogue in it")
    return dialogues


def _files(path: Path) -> tuple[Path, ...]:
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise EsconvError(f"{path}: no such file or folder; give ESConv.json or the folder that holds the splits")
    splits = tuple(sorted(path.glob("*.jsonl")))
    whole = tuple(p for p in (path / "ESConv.json",) if p.is_file())
    if not (splits or whole):
        raise EsconvError(f"{path}: holds neither ESConv.json nor .jsonl splits")
    return splits or whole


def _dialogues(file: Path) -> Iterator[Dialogue]:
    if file.stat().st_size > MOST_BYTES:
        raise EsconvError(f"{file}: larger than {MOST_BYTES // 1024 // 1024} MiB")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (UnicodeDecodeError, OSError) as error:
        raise EsconvError(f"{file}: cannot be read as UTF-8 text ({error.__class__.__name__})") from None
    for k, (where, raw) in enumerate(_rows(file, text)):
        yield _dialogue(raw, f"{file.stem}-{k}", where)


def _rows(file: Path, text: str) -> Iterator[tuple[str, Any]]:
    if file.suffix == ".jsonl":
        numbered: Iterable[tuple[int, str]] = ((n, row) for n, row in enumerate(text.split("\n"), 1) if row.strip())
        for n, row in numbered:
            yield f"{file}:{n}", _json(row, f"{file}:{n}")
        return
    whole = _json(text, str(file))
    if not isinstance(whole, list):
        raise EsconvError(f"{file}: is no list of dialogues")
    for n, row in enumerate(whole, 1):
        yield f"{file}, dialogue {n}", row


def _json(text: str, where: str) -> Any:
    try:
        return read_json(text)
    except FileFault as error:
        raise EsconvError(f"{where}: not JSON ({error})") from None


def _dialogue(raw: Any, key: str, where: str) -> Dialogue:
    try:
        return Dialogue(
            key=key.lower().replace("_", "-"),
            emotion=str(raw["emotion_type"]).strip().lower(),
            problem=str(raw["problem_type"]).strip().lower(),
            situation=" ".join(str(raw.get("situation", "")).split()),
            utterances=tuple(_utterance(u) for u in raw["dialog"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise EsconvError(f"{where}: is no ESConv dialogue (missing or odd: {error})") from None


def _utterance(raw: Any) -> Utterance:
    speaker = str(raw["speaker"])
    if speaker not in _ROLES:
        raise KeyError(f"speaker {speaker!r}")
    text = " ".join(str(raw["text"] if "text" in raw else raw["content"]).split())
    strategy = raw.get("strategy") or (raw.get("annotation") or {}).get("strategy")
    return Utterance(_ROLES[speaker], text, _STRATEGIES.get(strategy, strategy) if strategy else None)


@dataclass(frozen=True, slots=True)
class MergedTurn:
    """One turn: the joined messages of one speaker, and the strategy labels they carried, in order, each once."""

    role: Role
    text: str
    strategies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Couplet:
    """A seeker turn with its history, and the supporter turn that answered it. `turn` is its position (from 1)."""

    dialogue: Dialogue
    turn: int
    history: tuple[MergedTurn, ...]
    seeker: MergedTurn
    answer: MergedTurn
    turns_after: int
    """Number of turns of the dialogue after the answer; 0 if it ended there."""

    @property
    def id(self) -> str:
        """The dialogue's key and the turn, stable across runs."""
        return f"{self.dialogue.key}-t{self.turn}"


def merged(utterances: tuple[Utterance, ...]) -> tuple[MergedTurn, ...]:
    """Turns that alternate strictly. Empty messages, and a message sent twice, are dropped.

    Crowd workers send one thought in several messages; a history with two seeker messages in a row is not a conversation that
    can be spoken, so they are joined, with a full stop where the writer left none. Nothing else of the wording is touched.
    """
    turns: list[MergedTurn] = []
    for said in utterances:
        if not said.text or (turns and turns[-1].role == said.role and turns[-1].text.endswith(said.text)):
            continue
        labels = (said.strategy,) if said.strategy else ()
        if turns and turns[-1].role == said.role:
            last = turns[-1]
            joint = last.text if last.text[-1] in ".?!,;:…" else last.text + "."
            strategies = last.strategies + tuple(label for label in labels if label not in last.strategies)
            turns[-1] = MergedTurn(said.role, f"{joint} {said.text}", strategies)
        else:
            turns.append(MergedTurn(said.role, said.text, labels))
    return tuple(turns)


def couplets(dialogue: Dialogue) -> Iterator[Couplet]:
    """All answered seeker turns of a dialogue, in order."""
    turns = merged(dialogue.utterances)
    for k, (turn, after) in enumerate(pairwise(turns)):
        if turn.role == "seeker":
            yield Couplet(dialogue, k + 1, turns[:k], turn, after, len(turns) - k - 2)
