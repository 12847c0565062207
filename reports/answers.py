"""The table on the first screen: a row of answers per agent, each with its figure and a bar.

A word alone hides how near the limit a figure is, and a figure alone hides how uncertain it is. So each cell has both, and a
bar with the interval over it. A column has one scale, which begins at zero and ends just after its largest figure and limit:
a reply after twice the time has a bar of twice the length. An interval that goes on beyond the scale, or has no end, runs to
the edge. Every mark is in words too, for readers who do not see it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from harness.reports.verdict import INVALID, NO_INTERVAL, ONE_FOR_ALL, STATED, Half, Verdict, signed
from harness.reports.view import Estimate
from harness.timing.figures import NO_REPLY_MS
from harness.turn_taking.detectors import PAUSES_CUT_LIMIT
from harness.wording import UNKNOWN_TEXT

_TONES: Final = {"yes": "good", "few": "good", "no": "bad", "many": "bad"}
_UNDECIDED: Final = "warn"
_WHOLE: Final = 100.0
_ROOMY: Final = 6
"""Twenty agents fit on a screen only with one row of words each."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, in percent of the width of its cell."""

    limit: float
    fill: tuple[float, float] | None
    """Start and width of the bar itself; None without a figure."""
    end: float | None
    """The figure."""
    interval: tuple[float, float] | None
    """Start and end; an interval without one bound runs to the edge."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One answer. `note`: a filler before the answer, and why there is no interval; `words`: what the heading says of all."""

    answer: str
    figure: str = ""
    interval: str = ""
    """The 95 % interval."""
    words: str = ""
    note: str = ""
    tone: str = _UNDECIDED
    bar: Bar | None = None
    value: float | None = None
    """The value to sort by; a cell without one is last."""


@dataclass(frozen=True, slots=True)
class Row:
    """The row of one agent, a cell a column."""

    verdict: Verdict
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its key and heading. `against`: with what its figures are compared; empty where rows differ."""

    key: str
    heading: str
    against: str


@dataclass(frozen=True, slots=True)
class Answers:
    """The table. `roomy`: true for so few agents that each cell has room for its interval in words."""

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    roomy: bool


Place = Callable[[float], float]
"""From a value to its place in percent."""


def answers(found: Sequence[Verdict], *, spoken: bool = True) -> Answers:
    """The table of these verdicts, in their order. `spoken`: false where no agent hears the caller, who then has no pauses."""
    fast, kind, pauses = ([half for v in found if (half := getattr(v, name)) is not None] for name in _COLUMNS)
    scales = _latency_scale(fast), _rating_scale(kind), _share_scale(pauses)
    cells = ((_fast(v.fast, scales[0]), _kind(v.kind, scales[1]), _pauses(v.pauses, scales[2])) for v in found)
    columns = (
        Column("fast", "Fast", _common(fast)),
        Column("kind", "Kind", _common(kind)),
        Column("cut", "Pauses cut", _common(pauses)),
    )
    shown = 3 if spoken else 2
    rows = (Row(v, row[:shown]) for v, row in zip(found, cells, strict=True))
    return Answers(tuple(rows), columns[:shown], len(found) <= _ROOMY)


_COLUMNS: Final = ("fast", "kind", "pauses")


def _common(halves: Sequence[Half]) -> str:
    """What all figures of a column are compared with; empty if that differs."""
    found = {half.against for half in halves if half.against}
    return found.pop() if len(found) == 1 else ""


def _fast(half: Half, place: Place) -> Cell:
    over = half.value.value is None and half.against
    return _cell(half, half.figure, _bar(half, place), NO_REPLY_MS if over else half.value.value)


def _kind(half: Half, place: Place) -> Cell:
    value = half.value.value
    if half.answer == "no verdict":
        return Cell(half.answer, words=f"({half.figure})")
    if half.answer == "not rated":
        return Cell(half.answer, tone="")
    return _cell(half, half.figure if value is None else f"{signed(value)} Elo", _bar(half, place), value)


def _pauses(half: Half | None, place: Place) -> Cell:
    if half is None:
        return Cell(UNKNOWN_TEXT, words="no inner pauses", tone="")
    return _cell(half, half.figure, _bar(half, place), half.value.value)


def _cell(half: Half, figure: str, bar: Bar | None, value: float | None) -> Cell:
    lacking = half.interval if half.interval in (NO_INTERVAL, INVALID, STATED, ONE_FOR_ALL) else ""
    interval = half.interval if not lacking else ""
    note = "; ".join(words for words in (half.beside, lacking) if words)
    return Cell(half.answer, figure, interval, half.against, note, _TONES.get(half.answer, _UNDECIDED), bar, value)


def _bar(half: Half, place: Place) -> Bar | None:
    """The bar of a figure that has a limit. A latency without a value is over 15 s: its bar runs to the edge."""
    if not half.against:
        return None
    estimate = half.value
    end = _WHOLE if estimate.value is None and half.limit else _placed(estimate.value, place)
    ends = None
    if estimate.low is not None or estimate.high is not None:
        low, high = _placed(estimate.low, place), _placed(estimate.high, place)
        ends = (0.0 if low is None else low, _WHOLE if high is None else high)
    zero = place(0.0)
    fill = None if end is None else (min(zero, end), round(abs(end - zero), 2))
    return Bar(place(half.limit), fill, end, ends)


def _placed(value: float | None, place: Place) -> float | None:
    return None if value is None else place(value)


def _numbers(halves: Sequence[Half]) -> list[float]:
    """All finite values of a column."""
    return [n for half in halves for n in _ends(half.value) if n is not None]


def _ends(estimate: Estimate) -> tuple[float | None, ...]:
    return estimate.value, estimate.low, estimate.high


def _latency_scale(halves: Sequence[Half]) -> Place:
    known = [n for half in halves for n in (half.value.value, half.limit) if n is not None]
    widest = max(known, default=0.0) * 1.15 or 1.0
    return lambda ms: _within(ms / widest)


def _rating_scale(halves: Sequence[Half]) -> Place:
    widest = max((abs(n) for n in _numbers(halves)), default=0.0) * 1.08 or 1.0
    return lambda elo: _within((elo / widest + 1) / 2)


def _share_scale(halves: Sequence[Half]) -> Place:
    widest = max([2 * PAUSES_CUT_LIMIT, *_numbers(halves)]) * 1.04
    return lambda part: _within(part / widest)


def _within(share: float) -> float:
    return round(_WHOLE * min(1.0, max(0.0, share)), 2)
