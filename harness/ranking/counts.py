"""Plain shares of wins: what a reader can check by hand, beside the fit.

The paper's "percentiles" are these shares on one axis (each printed column has mean 50.0), not ranks among systems. A tie
counts half for each side; an axis that a judge left unmarked, having marked others, is a tie on that axis.
"""

from collections.abc import Iterable

from harness.store.judgment import AXES, Judgment

_POINTS = {"a": 1.0, "tie": 0.5, "b": 0.0}


def win_rates(judgments: Iterable[Judgment]) -> dict[str, float]:
    """System → share of its comparisons won, 0–1."""
    points: dict[str, list[float]] = {}
    for row in judgments:
        points.setdefault(row.system_a, []).append(_POINTS[row.winner])
        points.setdefault(row.system_b, []).append(1.0 - _POINTS[row.winner])
    return {system: sum(found) / len(found) for system, found in points.items()}


def axis_win_rates(judgments: Iterable[Judgment]) -> dict[str, dict[str, float]]:
    """System → axis → share won, 0–1; an axis that nobody marked is absent."""
    rows = [row for row in judgments if row.axes]
    found: dict[str, dict[str, float]] = {}
    for axis in AXES:
        if not any(axis in row.axes for row in rows):
            continue
        points: dict[str, list[float]] = {}
        for row in rows:
            mark = row.axes.get(axis)  # type: ignore[call-overload]
            point = _POINTS[mark.winner] if mark else 0.5
            points.setdefault(row.system_a, []).append(point)
            points.setdefault(row.system_b, []).append(1.0 - point)
        for system, shares in points.items():
            found.setdefault(system, {})[axis] = sum(shares) / len(shares)
    return found
