"""Figures as text: the digits of each number and its form in a sentence.

The terminal, the page and every caution use these functions, so a figure reads the same everywhere. A dash means "not known":
nothing here turns a missing figure into a zero.
"""

import shlex
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Final

UNKNOWN_TEXT: Final = "—"


def command(*words: object) -> str:
    """A command of this program with its words quoted for a shell, ready to copy."""
    return shlex.join(["harness", *map(str, words)])


def milliseconds(value: float | None) -> str:
    """`474 ms` below a second, `1.10 s` above; a minus sign for sound that began too early."""
    if value is None:
        return UNKNOWN_TEXT
    if abs(value) < 1_000:
        return f"{value:.0f} ms".replace("-", "−")
    return f"{value / 1_000:.2f} s".replace("-", "−")


def of_it_others(owed_ms: float | None) -> str:
    """`at most 22 ms of it others'`: the part of a latency owed to other programs; empty below 1 ms or if not measured."""
    return f"at most {milliseconds(owed_ms)} of it others'" if owed_ms is not None and owed_ms >= 1 else ""


def programs(others: Sequence[tuple[str, float]]) -> str:
    """`chromium .4 cores, python3 .2`: programs that ran beside an agent and the cores that each had; empty without any."""
    unit = chain([" cores"], repeat(""))
    return ", ".join(
        f"{name} {cores:.1f}{word}".replace(" 0.", " .") for (name, cores), word in zip(others, unit, strict=False)
    )


def cannot_tell(part: str, others: Sequence[tuple[str, float]] = ()) -> str:
    """`this machine cannot tell: 27 ms others' (chromium .4 cores)`: a budget between the two ends of a figure."""
    by = programs(others)
    return f"this machine cannot tell: {part} others'" + (f" ({by})" if by else "")


def share(value: float | None) -> str:
    """A share as a whole percentage."""
    return UNKNOWN_TEXT if value is None else f"{100 * value:.0f} %"


def share_band(interval: tuple[float, float] | None) -> str:
    """`61–84 %`; empty if there is no interval."""
    return f"{100 * interval[0]:.0f}–{100 * interval[1]:.0f} %" if interval else ""


def with_band(figure: str, interval: str) -> str:
    """A cell of a table: the figure, and its interval, if any, on a second line."""
    return f"{figure}\n{interval}" if interval else figure


def counted(n: int, one: str, many: str | None = None) -> str:
    """`1 turn`, `12 turns`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}".replace(",", " ")
