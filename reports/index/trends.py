"""Each agent over its runs that asked the same, and what of it changed in its last one."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from harness.reports.index.rows import CellRow, Change, RunRow, Series


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a series."""

    run: RunRow
    cell: CellRow

    @property
    def valid(self) -> bool:
        """True if the run's figures may be quoted."""
        return not self.run.invalid

    def change(self, figure: str) -> Change | None:
        """The change of one figure since the run before; None where there is none."""
        return next((change for change in self.cell.changes if change.figure == figure), None)


@dataclass(frozen=True, slots=True)
class Trend:
    """The runs of a series, oldest first; at least two."""

    series: Series
    points: tuple[Point, ...]

    @property
    def last(self) -> Point:
        """The newest run."""
        return self.points[-1]

    @property
    def is_worse(self) -> bool:
        """True if a figure of the newest run is surely worse than in the run before."""
        return any(change.verdict == "worse" for change in self.last.cell.changes)


def trends(runs: Sequence[RunRow]) -> tuple[Trend, ...]:
    """The series with a latency in at least two of these runs (newest first), those that became worse before the others."""
    found: defaultdict[Series, list[Point]] = defaultdict(list)
    for run in runs:
        for cell in run.cells:
            found[cell.series].append(Point(run, cell))
    several = [Trend(series, tuple(reversed(points))) for series, points in found.items() if _measured(points) > 1]
    return tuple(sorted(several, key=lambda trend: not trend.is_worse))


def _measured(points: Sequence[Point]) -> int:
    return sum(point.cell.figures.latency.n > 0 for point in points)
