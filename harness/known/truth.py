"""The true figures of a turn, and their table.

A truth that only our own code can read would prove nothing to others, so it is a CSV of plain numbers, the same for live calls
and recordings. A figure that is empty is a statement too: there is nothing to be found, and a tool that reports one has
invented it. Definitions, and where each comes from: docs/conformance.md.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final, Literal, get_args

from harness.errors import UserError

Figure = Literal["sound", "speech", "answer", "yield", "cut", "gap"]
FIGURES: Final[tuple[Figure, ...]] = get_args(Figure)


@dataclass(frozen=True, slots=True)
class TurnTruth:
    """One turn. Figures in ms after the caller's spoken end (yield: after the interruption; gap: a length); None: none."""

    call: str
    behaviour: str
    condition: str
    turn: int
    spoken_end_s: float
    sound_ms: float | None = None
    speech_ms: float | None = None
    answer_ms: float | None = None
    yield_ms: float | None = None
    cut_ms: float | None = None
    gap_ms: float | None = None

    def ms(self, figure: Figure) -> float | None:
        """The value of a figure; None if there is none."""
        found: float | None = getattr(self, f"{figure}_ms")
        return found


COLUMNS: Final = tuple(field.name for field in fields(TurnTruth))


def row(truth: TurnTruth) -> list[str]:
    """The cells of one turn, in the order of `COLUMNS`."""
    return ["" if cell is None else f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in astuple(truth)]


def write_truth(path: Path, truths: Iterable[TurnTruth]) -> None:
    """Write the table of all turns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *map(row, truths)])


def read_truth(path: Path) -> Sequence[TurnTruth]:
    """The turns of a table that `write_truth` or `known serve` wrote.

    Raises:
        UserError: the file is no such table.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        return [
            TurnTruth(
                each["call"], each["behaviour"], each["condition"], int(each["turn"]), float(each["spoken_end_s"]),
                *(float(each[f"{figure}_ms"]) if each[f"{figure}_ms"] else None for figure in FIGURES),
            )
            for each in rows
        ]  # fmt: skip
    except (OSError, UnicodeDecodeError, csv.Error, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: is no table of true figures ({error}); write one with `harness known calls`") from error
