"""A copy of a pack with people's pauses in its seeker turns and the name of their law, and nothing else changed.

The text of each turn is edited in place, so comments, order, quotes and blank lines stay as their author
left them; only the lines of an edited turn are wrapped again. The result is parsed and compared with the intended one before
it is returned, because an edit of a user's file that changes more than it says is worse than none.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.files import write_whole
from harness.foreign_files import read_text
from harness.foreign_yaml import parse_yaml
from harness.scenarios.pack import Pack, PackError, pack_files
from harness.scenarios.pause_law import PER_TURN, TO_AGENTS, PauseLaw
from harness.scenarios.pauses import PAUSE
from harness.scenarios.people_pauses import marked_set

WIDTH = 120
"""The line length of the shipped packs."""
_HELD = "\u2060"
"""A word joiner, which no text of ours contains; it binds the two halves of a mark while lines are wrapped."""


@dataclass(frozen=True, slots=True)
class _Scalar:
    """The text of one seeker turn in a file: from `start` to `end` (characters)."""

    place: tuple[int, int]
    start: int
    end: int
    line: int
    value: str


def with_people_pauses(pack: Pack, seed: int, *, per_turn: float = PER_TURN, law: PauseLaw = TO_AGENTS) -> Mapping[Path, str]:
    """All files of a pack as text, with new pause marks in all seeker turns (recordings are unchanged) and `pauses:` their law.

    Raises `PackError` with the turn if a text cannot be edited in place.
    """
    sources = {file: read_text(file) for file in pack_files(pack.path)}
    found = [(file, scalar) for file, source in sources.items() for scalar in _seeker_texts(source)]
    texts = marked_set([scalar.value for _, scalar in found], seed, per_turn=per_turn, law=law)
    written = {}
    for file, source in sources.items():
        mine = [(scalar, text) for (of, scalar), text in zip(found, texts, strict=True) if of == file]
        written[file] = _edited(file, source, mine, law)
    return written


def write_people_pauses(pack: Pack, out: Path, seed: int, *, per_turn: float = PER_TURN, law: PauseLaw = TO_AGENTS) -> Path:
    """Write a pack with people's pauses to `out`: a file for a pack of one file, a folder for a folder.

    Raises `PackError` if `out` exists already, cannot be written, or would separate a recording from its pack.
    """
    if out.exists():
        raise PackError(f"{out}: exists already; give a path that does not")
    if out.parent.resolve() != pack.folder.resolve() and any(turn.audio for c in pack.contexts for turn in c.turns):
        raise PackError(f"{pack.path}: names recordings beside it; write the marked pack into {pack.folder}")
    written = with_people_pauses(pack, seed, per_turn=per_turn, law=law)
    try:
        if pack.path.is_dir():
            out.mkdir(parents=True)
        for file, text in written.items():
            write_whole(out / file.name if pack.path.is_dir() else out, text)
    except OSError as error:
        raise PackError(f"{out}: cannot be written ({error.strerror})") from None
    return out


def _seeker_texts(source: str) -> Iterator[_Scalar]:
    root = yaml.compose(source, Loader=yaml.CSafeLoader)
    for c, context in enumerate(_field(root, "contexts").value):
        for t, turn in enumerate(_field(context, "turns").value):
            fields = {key.value: value for key, value in turn.value}
            if fields["role"].value == "seeker" and "audio" not in fields:
                node = fields["text"]
                start, end = node.start_mark, node.end_mark
                yield _Scalar((c, t), start.index, end.index, start.line + 1, node.value)


def _field(node: Any, name: str) -> Any:
    return next(value for key, value in node.value if key.value == name)


def _edited(file: Path, source: str, turns: Sequence[tuple[_Scalar, str]], law: PauseLaw) -> str:
    pieces, at = [], 0
    for scalar, text in turns:
        if text.split() != scalar.value.split():
            pieces += [source[at : scalar.start], _rewritten(source, scalar, text)]
            at = scalar.end
    written = _with_law("".join((*pieces, source[at:])), law)
    meant = {**parse_yaml(source).data, "pauses": law.name}
    for scalar, text in turns:
        c, t = scalar.place
        meant["contexts"][c]["turns"][t]["text"] = text
    found = parse_yaml(written).data
    for scalar, text in turns:
        c, t = scalar.place
        turn = found["contexts"][c]["turns"][t]
        if turn["text"].split() != text.split():
            raise PackError(f"{file}:{scalar.line}: this text cannot be edited in place; write it as a folded block (text: >-)")
        turn["text"] = text
    if found != meant:
        raise PackError(f"{file}: cannot be edited without changing more than its pauses; no file was written")
    return written


def _with_law(text: str, law: PauseLaw) -> str:
    """The file with the law's name in its head, in place of another law's or before the contexts."""
    root: Any = yaml.compose(text, Loader=yaml.CSafeLoader)
    nodes = {key.value: (key, value) for key, value in root.value}
    if "pauses" in nodes:
        old = nodes["pauses"][1]
        return text[: old.start_mark.index] + law.name + text[old.end_mark.index :]
    key = nodes["contexts"][0]
    end = ", " if root.flow_style else "\n" + " " * key.start_mark.column
    return f"{text[: key.start_mark.index]}pauses: {law.name}{end}{text[key.start_mark.index :]}"


def _rewritten(source: str, scalar: _Scalar, text: str) -> str:
    raw = source[scalar.start : scalar.end]
    head, body, tail = _parts(raw)
    words = iter(PAUSE.sub(" ", body).split())
    filled = " ".join(token if PAUSE.fullmatch(token) else next(words, "") for token in _tokens(text))
    if "\n" not in raw.strip():
        return head + filled + tail
    lines = [line for line in body.split("\n")[1 if not head else 0 :] if line.strip()]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    held = PAUSE.sub(lambda mark: mark.group().replace(" ", _HELD), filled)
    column = 0 if head else scalar.start - source.rfind("\n", 0, scalar.start) - 1
    wrapped = textwrap.wrap(
        held,
        WIDTH,
        initial_indent=indent if head else " " * column,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return head + "\n".join(wrapped)[0 if head else column :].replace(_HELD, " ") + tail


def _parts(raw: str) -> tuple[str, str, str]:
    """The header of a block scalar (empty for others), the words, and the blanks after them."""
    tail = raw[len(raw.rstrip()) :]
    body = raw[: len(raw) - len(tail)]
    if body[:1] in (">", "|") and "\n" in body:
        head, _, rest = body.partition("\n")
        return head + "\n", rest, tail
    return "", body, tail


def _tokens(text: str) -> Iterator[str]:
    for piece in PAUSE.sub(lambda mark: mark.group().replace(" ", _HELD), text).split():
        yield piece.replace(_HELD, " ")
