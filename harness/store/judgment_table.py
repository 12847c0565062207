"""Very many judgments as columns of numbers, and their conversion, one row at a time: from a run's store, a file, or rows in
memory.

A row as an object is a kilobyte; as columns it is some sixty bytes, because names repeat and reasons in words are left out. A
row that is plainly right becomes numbers, and its object is dropped; any other is read by the model itself, or by the strict
reader of files (`judgment_files`), so columns have no rules of their own.
"""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from harness.store.judgment import AXES, Judgment

Column = NDArray[np.integer[Any]]
_NAMES: Final[Mapping[str, str]] = {
    "context": "contexts", "first": "systems", "second": "systems", "judge": "judges", "subset": "subsets",
    "presentation": "presentations", "condition": "conditions",
}  # fmt: skip
"""Index column → the field with its names."""
NOT_MARKED: Final = -128
"""Value in `axes` for an axis that the judge did not mark."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgmentTable:
    """n rows. Index columns point into the sorted tuples of names; `winner` is 1 (first), −1 or 0 (tie)."""

    contexts: tuple[str, ...]
    systems: tuple[str, ...]
    judges: tuple[str, ...]
    subsets: tuple[str, ...]
    presentations: tuple[str, ...]
    conditions: tuple[str, ...]
    columns: Mapping[str, Column]
    axes: NDArray[np.int8]
    """(n, axes): signed strength of each mark, 0 for a tie, or `NOT_MARKED`."""

    def __len__(self) -> int:
        return int(self.axes.shape[0])

    def __getitem__(self, column: str) -> Column:
        return self.columns[column]

    def named(self, column: Literal["context", "judge", "subset", "presentation", "condition"], name: str) -> NDArray[np.bool_]:
        """(n,): True for rows with this name in a column of names; all False for an unknown name."""
        names: tuple[str, ...] = getattr(self, f"{column}s")
        return np.asarray(self.columns[column] == (names.index(name) if name in names else -1), dtype=np.bool_)

    def of_system(self, name: str) -> NDArray[np.bool_]:
        """(n,): True for rows that compare this system with another; all False for an unknown one."""
        which = self.systems.index(name) if name in self.systems else -1
        return np.asarray((self.columns["first"] == which) | (self.columns["second"] == which), dtype=np.bool_)

    def where(self, kept: NDArray[np.bool_]) -> "JudgmentTable":
        """The rows where `kept` is True, with all names."""
        if kept.all():
            return self
        columns = {name: column[kept] for name, column in self.columns.items()}
        return replace(self, columns=columns, axes=self.axes[kept])


def joined(one: JudgmentTable, other: JudgmentTable) -> JudgmentTable:
    """The rows of both, in this order."""
    names = {field: tuple(sorted({*getattr(one, field), *getattr(other, field)})) for field in _NAMES.values()}

    def column(table: JudgmentTable, name: str) -> Column:
        if name not in _NAMES:
            return table[name]
        place = {spelled: k for k, spelled in enumerate(names[_NAMES[name]])}
        code = np.array([place[spelled] for spelled in getattr(table, _NAMES[name])], dtype=table[name].dtype)
        return code[table[name]] if code.size else table[name]

    columns = {name: np.concatenate([column(one, name), column(other, name)]) for name in one.columns}
    return JudgmentTable(**names, columns=columns, axes=np.concatenate([one.axes, other.axes]))


MILLION: Final = 1_000_000
"""Unit of the column `draw_rate`: a rate of 1 is a million, and 0 is a vote on a pair that was not drawn at random."""
_WINNER: Final = {"a": 1, "b": -1, "tie": 0}
_SHOWN: Final = {"a": 1, "b": -1, None: 0}
_SOURCE: Final = {"judge": 0, "human": 1}
_PURPOSE: Final = {"main": 0, "swapped": 1, "repeat": 2}
_NEEDED: Final = frozenset(name for name, field in Judgment.model_fields.items() if field.is_required())
_STORED: Final = frozenset(Judgment.model_fields)
"""Columns of a row that may be taken without a strict reader: all of a store, because the same model wrote them."""
_UNMARKED: Final = (NOT_MARKED,) * len(AXES)
_Form = tuple[int, int, int, int, int, int, int, int, int, int, int, int]
"""Values of a row that many rows share, as in `_FORM`."""
_FORM: Final = (
    "judge", "subset", "presentation", "condition", "human", "winner", "strength", "shown", "own_family", "purpose",
    "replicate", "draw_rate",
)  # fmt: skip


_KIND: Final[Mapping[str, type[np.signedinteger[Any]]]] = {
    "judge": np.int32, "subset": np.int32, "presentation": np.int32, "condition": np.int32, "replicate": np.int64,
    "draw_rate": np.int64,
}  # fmt: skip
"""Types of columns whose values need more than a byte."""


class Filling:
    """Rows so far. Combinations of values (judge, verdict, order, …) are few, so each is read strictly once and recognised
    by its values afterwards."""

    def __init__(self, readable: frozenset[str] = _STORED) -> None:
        self._readable = readable
        kinds = ("context", "system", "judge", "subset", "presentation", "condition")
        self._names: dict[str, dict[str, int]] = {kind: {} for kind in kinds}
        self._forms: dict[_Form, int] = {}
        self._known: dict[tuple[Any, ...], int] = {}
        self._marks: dict[tuple[int, ...], int] = {_UNMARKED: 0}
        self._shapes: dict[tuple[str, ...], bool] = {}
        self._columns = {name: array("i") for name in ("context", "first", "second", "form", "marks")}
        self._repeat = array("q")

    def take(self, given: Any) -> bool:
        """Take a row that is plainly right; False where the strict reader must decide."""
        if type(given) is not dict:
            return False
        shape = tuple(given)
        known = self._shapes.get(shape)
        if known is None:
            known = self._shapes[shape] = self._readable.issuperset(shape) and _NEEDED.issubset(shape)
        if not known:
            return False
        try:
            form = self._known.get(_values(given))
        except TypeError:
            return False
        context, one, other = given["context"], given["system_a"], given["system_b"]
        repeat, axes = given.get("repeat", 0), given.get("axes")
        if (
            form is None or one == other or type(repeat) is not int or not -(2**62) < repeat < 2**62
            or type(given.get("rationale", "")) is not str
        ):  # fmt: skip
            return False
        marks = 0
        if axes is not None:
            found = _marks(axes)
            if found is None:
                return False
            marks = self._marks.setdefault(found, len(self._marks))
        contexts, systems = self._names["context"], self._names["system"]
        for name, names in ((context, contexts), (one, systems), (other, systems)):
            if type(name) is not str or (name not in names and not name.strip()):
                return False
        self._add(context, one, other, form, marks, repeat)
        return True

    def add(self, row: Judgment, given: Mapping[str, Any] | None = None) -> None:
        """Take a row, which the strict reader made of `given` where it comes from a text."""
        names = self._names

        def code(kind: str, name: str) -> int:
            return names[kind].setdefault(name, len(names[kind]))

        form: _Form = (
            code("judge", row.judge), code("subset", row.subset), code("presentation", row.presentation),
            code("condition", row.condition), _SOURCE[row.source], _WINNER[row.winner], row.strength, _SHOWN[row.shown_first],
            int(row.own_family), _PURPOSE[row.purpose], _numbered(row.replicate), round(MILLION * (row.draw_rate or 0.0)),
        )  # fmt: skip
        known = self._forms.setdefault(form, len(self._forms))
        if given is not None and self._readable.issuperset(given):
            self._known[_values(given)] = known
        marks = list(_UNMARKED)
        for axis, mark in row.axes.items():
            marks[AXES.index(axis)] = _WINNER[mark.winner] * mark.strength
        which = self._marks.setdefault(tuple(marks), len(self._marks))
        self._add(row.context, row.system_a, row.system_b, known, which, _numbered(row.repeat))

    def _add(self, context: str, one: str, other: str, form: int, marks: int, repeat: int) -> None:
        contexts, systems, columns = self._names["context"], self._names["system"], self._columns
        columns["context"].append(contexts.setdefault(context, len(contexts)))
        columns["first"].append(systems.setdefault(one, len(systems)))
        columns["second"].append(systems.setdefault(other, len(systems)))
        columns["form"].append(form)
        columns["marks"].append(marks)
        self._repeat.append(repeat)

    def table(self) -> JudgmentTable:
        """All rows so far, with names in order."""
        read = {name: np.array(column, dtype=np.int32) for name, column in self._columns.items()}
        forms = np.array(list(self._forms), dtype=np.int64).reshape(-1, len(_FORM))
        columns: dict[str, Column] = {name: read[name] for name in ("context", "first", "second")}
        for k, name in enumerate(_FORM):
            columns[name] = forms[:, k].astype(_KIND.get(name, np.int8))[read["form"]]
        columns["repeat"] = np.array(self._repeat, dtype=np.int64)
        kind_of = {"first": "system", "second": "system"}
        ordered = {kind: tuple(sorted(names)) for kind, names in self._names.items()}
        for column in ("context", "first", "second", "judge", "subset", "presentation", "condition"):
            kind = kind_of.get(column, column)
            place = np.empty(max(1, len(ordered[kind])), dtype=np.int32)
            place[[self._names[kind][name] for name in ordered[kind]]] = np.arange(len(ordered[kind]))
            columns[column] = place[columns[column]]
        marks = np.array(list(self._marks), dtype=np.int8)[read["marks"]]
        return JudgmentTable(
            ordered["context"], ordered["system"], ordered["judge"], ordered["subset"], ordered["presentation"],
            ordered["condition"], columns, marks,
        )  # fmt: skip


def _values(given: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values that identify the form of a row of these columns."""
    return (
        given["source"], given["winner"], given.get("strength", 1), given.get("shown_first"),
        given.get("presentation", "written"), given.get("condition", ""), given["subset"], given["judge"],
        given.get("own_family", False), given.get("purpose", "main"), given.get("replicate", 0), given.get("draw_rate"),
    )  # fmt: skip


def _numbered(value: int) -> int:
    """A number that a column can hold. One beyond 62 bits is replaced by its remainder by 2⁶¹ − 1; such numbers only
    distinguish rows."""
    return value if -(2**62) < value < 2**62 else hash(value)


def _marks(axes: Any) -> tuple[int, ...] | None:
    """Signed strengths by axis; None where the strict reader must decide."""
    found = list(_UNMARKED)
    if type(axes) is not dict:
        return None
    for axis, mark in axes.items():
        if axis not in AXES or type(mark) is not dict or not {"winner"} <= mark.keys() <= {"winner", "strength"}:
            return None
        winner, strength = mark["winner"], mark.get("strength", 1)
        if type(winner) is not str or winner not in _WINNER or type(strength) is not int or not 1 <= strength <= 5:
            return None
        found[AXES.index(axis)] = _WINNER[winner] * strength
    return tuple(found)


def table_of(rows: Iterable[Judgment]) -> JudgmentTable:
    """A table of given rows, in their order; an empty table of none."""
    return stored_table((), rows)


def stored_table(stored: Iterable[dict[str, Any]], votes: Iterable[Judgment] = ()) -> JudgmentTable:
    """Rows of a store, then people's votes that are stored beside it, in their order; an empty table of none.

    Raises ValueError: a stored row is no judgment.
    """
    filling = Filling(_STORED)
    for given in stored:
        if not filling.take(given):
            filling.add(Judgment.model_validate(given), given)
    for row in votes:
        filling.add(row)
    return filling.table()
