"""Very many judgments as columns of numbers.

A complete row of a file is an object of a kilobyte, and a million of them need more memory and time than the
fits that use them. A rating reads only the names and the verdict of a row, and names repeat; so a row is some sixty bytes here.
Reasons in words are not stored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

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
