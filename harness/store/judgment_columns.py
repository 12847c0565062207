"""Reading files of very many judgments, one row at a time, into columns.

A row that is plainly right is taken as numbers, and its object dropped. Any other is read by the strict reader of judgment
files, which accepts it or says in one line what is wrong with it; so this reader has no rules of its own.
"""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic_core import from_json

from harness.errors import UserError
from harness.store import judgment_files as files
from harness.store.judgment import AXES, Judgment
from harness.store.judgment_table import NOT_MARKED, Column, JudgmentTable

_COLUMNS: Final[Mapping[str, str]] = {
    "context": "i", "first": "i", "second": "i", "judge": "i", "subset": "i", "presentation": "i", "condition": "i",
    "human": "b", "winner": "b", "strength": "b", "shown": "b", "own_family": "b", "purpose": "b", "replicate": "q",
    "repeat": "q",
}  # fmt: skip
_WINNER: Final = {"a": 1, "b": -1, "tie": 0}
_SHOWN: Final = {"a": 1, "b": -1, None: 0, "": 0}
_SOURCE: Final = {"judge": 0, "human": 1}
_PURPOSE: Final = {"main": 0, "swapped": 1, "repeat": 2}
_PRESENTATIONS: Final = ("written", "heard_text", "audio", "audio_with_delay")
_STRENGTH: Final[Mapping[int | str, int]] = {**{k: k for k in range(1, 6)}, **{str(k): k for k in range(1, 6)}}
_PLAIN: Final = frozenset((*files.PLAIN, *files.EXTRA))
_READ: Final = frozenset((*files.NEEDED, "strength", "shown_first", "presentation", "rationale", "repeat", "condition"))
"""Columns of a row that is taken without the strict reader; `axes` besides."""


@dataclass
class _Filling:
    names: dict[str, dict[str, int]] = field(default_factory=dict)
    columns: dict[str, "array[int]"] = field(default_factory=lambda: {name: array(code) for name, code in _COLUMNS.items()})
    marks: "array[int]" = field(default_factory=lambda: array("b"))
    shapes: dict[tuple[str, ...], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = ("context", "system", "judge", "subset", "presentation", "condition")
        self.names = {kind: {} for kind in kinds}

    def take(self, given: Any) -> bool:
        """Take a row that is plainly right; False where the strict reader must decide."""
        if type(given) is not dict:
            return False
        shape = tuple(given)
        known = self.shapes.get(shape)
        if known is None:
            known = self.shapes[shape] = _READ.union(("axes",)).issuperset(shape) and set(files.NEEDED).issubset(shape)
        if not known:
            return False
        one, other = given["system_a"], given["system_b"]
        winner = _WINNER.get(given["winner"]) if type(given["winner"]) is str else None
        strength, source = given.get("strength", 1), given["source"]
        strength = _STRENGTH.get(strength) if type(strength) in (int, str) else None
        human = _SOURCE.get(source) if type(source) is str else None
        shown, presentation = given.get("shown_first"), given.get("presentation", "written")
        repeat, condition = given.get("repeat", 0), given.get("condition", "")
        words = (given["context"], one, other, given["judge"], given["subset"], condition)
        if (
            winner is None or strength is None or human is None or one == other
            or not all(type(word) is str for word in words) or not all(word and not word.isspace() for word in words[:5])
            or not (shown is None or type(shown) is str) or shown not in _SHOWN
            or presentation not in _PRESENTATIONS or type(repeat) is not int or not -(2**62) < repeat < 2**62
            or type(given.get("rationale", "")) is not str
        ):  # fmt: skip
            return False
        marks = _marks(given.get("axes"))
        if marks is None:
            return False
        self._add(words, winner, strength, human, _SHOWN[shown], presentation, 0, repeat, 0, 0, marks)
        return True

    def add(self, row: Judgment) -> None:
        """Take a row that the strict reader accepted."""
        marks = [NOT_MARKED] * len(AXES)
        for axis, mark in row.axes.items():
            marks[AXES.index(axis)] = _WINNER[mark.winner] * mark.strength
        words = (row.context, row.system_a, row.system_b, row.judge, row.subset, row.condition)
        self._add(
            words, _WINNER[row.winner], row.strength, _SOURCE[row.source], _SHOWN[row.shown_first], row.presentation,
            _numbered(row.replicate), _numbered(row.repeat), int(row.own_family), _PURPOSE[row.purpose], marks,
        )  # fmt: skip

    def _add(
        self, words: tuple[str, ...], winner: int, strength: int, human: int, shown: int, presentation: str, replicate: int,
        repeat: int, own_family: int, purpose: int, marks: list[int],
    ) -> None:  # fmt: skip
        names, columns = self.names, self.columns
        context, one, other, judge, subset, condition = words
        systems = names["system"]
        for column, value in (
            ("context", names["context"].setdefault(context, len(names["context"]))),
            ("first", systems.setdefault(one, len(systems))),
            ("second", systems.setdefault(other, len(systems))),
            ("judge", names["judge"].setdefault(judge, len(names["judge"]))),
            ("subset", names["subset"].setdefault(subset, len(names["subset"]))),
            ("presentation", names["presentation"].setdefault(presentation, len(names["presentation"]))),
            ("condition", names["condition"].setdefault(condition, len(names["condition"]))),
            ("human", human), ("winner", winner), ("strength", strength), ("shown", shown), ("own_family", own_family),
            ("purpose", purpose), ("replicate", replicate), ("repeat", repeat),
        ):  # fmt: skip
            columns[column].append(value)
        self.marks.extend(marks)

    def table(self) -> JudgmentTable:
        """All rows so far, with names in order."""
        ordered: dict[str, tuple[str, ...]] = {}
        wide = {"q": np.int64, "i": np.int32, "b": np.int8}
        columns: dict[str, Column] = {n: np.array(c, dtype=wide[_COLUMNS[n]]) for n, c in self.columns.items()}
        of = {"context": "context", "first": "system", "second": "system", "judge": "judge", "subset": "subset",
              "presentation": "presentation", "condition": "condition"}  # fmt: skip
        for kind, names in self.names.items():
            order = sorted(names)
            ordered[kind] = tuple(order)
            place = np.empty(max(1, len(order)), dtype=np.int32)
            place[[names[name] for name in order]] = np.arange(len(order))
            for column in (c for c, k in of.items() if k == kind):
                columns[column] = place[columns[column]]
        marks = np.frombuffer(self.marks, dtype=np.int8).reshape(-1, len(AXES)) if self.marks else np.empty((0, 5), np.int8)
        return JudgmentTable(
            ordered["context"], ordered["system"], ordered["judge"], ordered["subset"], ordered["presentation"],
            ordered["condition"], columns, marks.copy(),
        )  # fmt: skip


def _numbered(value: int) -> int:
    """A number that a column can hold. One beyond 62 bits stands for its remainder by 2⁶¹ − 1; such numbers only tell apart."""
    return value if -(2**62) < value < 2**62 else hash(value)


def _marks(axes: Any) -> list[int] | None:
    """Signed strengths by axis; None where the strict reader must decide."""
    found = [NOT_MARKED] * len(AXES)
    if axes is None or axes == {}:
        return found
    if type(axes) is not dict:
        return None
    for axis, mark in axes.items():
        if axis not in AXES or type(mark) is not dict or not {"winner"} <= mark.keys() <= {"winner", "strength"}:
            return None
        winner, strength = mark["winner"], mark.get("strength", 1)
        if type(winner) is not str or winner not in _WINNER or type(strength) is not int or not 1 <= strength <= 5:
            return None
        found[AXES.index(axis)] = _WINNER[winner] * strength
    return found


def lines_in(path: Path) -> int:
    """How many lines a file has, at the speed of the disk; 0 for one that cannot be read."""
    try:
        with path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(2**20), b""))
    except OSError:
        return 0


def read_table(path: Path) -> JudgmentTable:
    """All rows of a file, as `judgment_files.read` would accept them, one at a time.

    Raises UserError: as `judgment_files.read`.
    """
    filling = _Filling()
    try:
        for given, where in _csv_rows(path) if path.suffix.lower() == ".csv" else _json_rows(path):
            if not filling.take(given):
                filling.add(files.row_of(given, where))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({' '.join(str(error).split())})") from None
    found = filling.table()
    if not len(found):
        raise UserError(f"{path}: holds no judgments")
    return found


def _json_rows(path: Path) -> Iterator[tuple[Any, str]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not text.strip():
                continue
            try:
                given = from_json(text, allow_inf_nan=False)
            except ValueError:
                given = files.object_of(text.decode("utf-8"), f"{path}, line {number}")
            yield given, f"{path}, line {number}"


def _csv_rows(path: Path) -> Iterator[tuple[Any, str]]:
    with path.open(encoding="utf-8-sig", newline="") as text:
        yield from files.csv_rows(text, path)
