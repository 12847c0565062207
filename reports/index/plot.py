"""The small charts of a trend, as geometry in percent of their box.

The drawing stretches with its box while the words beside it keep their size, so that one chart fits a phone and a desk:
strokes do not scale, and a dot is a stroke of no length. Runs are at equal distances, in their order: nights that are missing
would otherwise be most of the picture. The axis begins at zero, so that a step of ten per cent looks like one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.reports.index.trends import Point, Trend
from harness.reports.index.words import change_verdict, change_words, median, median_interval, share_words
from harness.reports.view import Estimate, percentile
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.wording import UNKNOWN_TEXT, counted, milliseconds, share, when

_ROOM: Final = 1.08
_STEPS: Final = (1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Dot:
    """One run: its place, its interval from `low` to `high` where it has one, and its words. All in percent, y from above."""

    x: float
    y: float
    low: float | None
    high: float | None
    tone: Literal["", "worse", "better", "invalid"]
    title: str
    beyond: str = ""
    """Its figure, where that is beyond the axis."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One chart. `course`: the path through the valid runs; `limit`: the path of the budget; `ticks`: (y, label)."""

    title: str
    said: str
    dots: tuple[Dot, ...]
    course: str
    limit: str
    limit_words: str
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure of a trend. `figure`: its name among the changes."""

    figure: str
    of: Callable[[Point], Estimate]
    words: Callable[[Point], str]
    unit: Callable[[float], str]
    scale: float


_MEDIAN = _Figure(
    "latency",
    lambda point: percentile(point.cell.figures.latency, "p50"),
    lambda point: _with_interval(median(point.cell), median_interval(point.cell)),
    milliseconds,
    1.0,
)
_PAUSES = _Figure(
    "pauses_cut",
    lambda point: Estimate.of(*point.cell.figures.pauses_cut),
    lambda point: _with_interval(*share_words(point.cell.figures.pauses_cut)),
    share,
    0.01,
)


def plots(trend: Trend) -> Iterator[Plot]:
    """The charts of a trend: its median, and its inner pauses cut where it has any."""
    name = trend.last.cell.figures.measure.upper()
    yield _plot(trend, _MEDIAN, f"Median {name}", [point.cell.budget_ms for point in trend.points])
    if any(point.cell.figures.inner_pauses for point in trend.points):
        yield _plot(trend, _PAUSES, "Inner pauses cut", ())


def _plot(trend: Trend, figure: _Figure, title: str, limits: Sequence[float]) -> Plot:
    estimates = [figure.of(point) for point in trend.points]
    most = max([v for e in estimates for v in (e.value, e.high) if v is not None] + list(limits), default=0.0)
    top = max(most, 10 * figure.scale) * _ROOM

    def y(value: float | None) -> float:
        return 0.0 if value is None else round(100 - 100 * min(value, top) / top, 2)

    xs = [round(100 * (k + 0.5) / len(estimates), 2) for k in range(len(estimates))]
    dots = tuple(
        Dot(
            x=x,
            y=y(e.value),
            low=y(e.low) if e.low is not None else None,
            high=y(e.high) if e.low is not None else None,
            tone=_tone(point, figure.figure),
            title=_title(point, figure),
            beyond=OVER_LIMIT_TEXT if e.value is None else "",
        )
        for x, e, point in zip(xs, estimates, trend.points, strict=True)
        if figure.words(point) != UNKNOWN_TEXT
    )
    return Plot(
        title=title,
        said=_said(trend, figure, title),
        dots=dots,
        course=_path([(dot.x, dot.y) for dot in dots if dot.tone != "invalid"]),
        limit=_steps([y(limit) for limit in limits]),
        limit_words=f"budget {milliseconds(limits[-1])}" if limits else "",
        ticks=tuple((y(value), figure.unit(value)) for value in _ticks(top, figure.scale)),
    )


def _tone(point: Point, figure: str) -> Literal["", "worse", "better", "invalid"]:
    if not point.valid:
        return "invalid"
    change = point.change(figure)
    return "" if change is None or change.verdict == "unclear" else change.verdict


def _title(point: Point, figure: _Figure) -> str:
    change = point.change(figure.figure)
    parts = [f"{point.run.name}, {when(point.run.created)}", figure.words(point)]
    parts += ["invalid run, not to be quoted"] if not point.valid else []
    parts += [f"{change_words(change)} since {change.since}: {change_verdict(change)}"] if change is not None else []
    return "\n".join(parts)


def _said(trend: Trend, figure: _Figure, title: str) -> str:
    """The chart in words, for those who do not see it."""
    first, last = trend.points[0], trend.last
    worse = [point.run.name for point in trend.points if _tone(point, figure.figure) == "worse"]
    words = f"{title} over {counted(len(trend.points), 'run')}: first {figure.words(first)}, last {figure.words(last)}"
    return f"{words}; worse than the run before in {', '.join(worse) if worse else 'none'}."


def _with_interval(figure: str, interval: str) -> str:
    return f"{figure} ({interval})" if interval else figure


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in places) if len(places) > 1 else ""


def _steps(ys: Sequence[float]) -> str:
    """A path that is level at each run's height, over the whole width."""
    if not ys:
        return ""
    edges = [round(100 * k / len(ys), 2) for k in range(len(ys) + 1)]
    return f"M0 {ys[0]}" + "".join(f"V{height}H{edge}" for height, edge in zip(ys, edges[1:], strict=True))


def _ticks(top: float, scale: float) -> list[float]:
    """Two to five round values from zero on, `scale` being the least that has a name."""
    step = scale
    while True:
        for factor in _STEPS:
            if top / (step * factor) <= 5:
                return [step * factor * k for k in range(int(top / (step * factor)) + 1)]
        step *= 10
