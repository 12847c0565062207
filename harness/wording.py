"""Figures as text: the digits of each number and its form in a sentence.

The terminal, the page and every caution use these functions, so a figure reads the same everywhere. A dash means "not known":
nothing here turns a missing figure into a zero.
"""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

UNKNOWN_TEXT: Final = "—"
_NUMBERS: Final = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_IN_SECONDS_MS: Final = 1_000.0
OWN: Final = " had the machine been its own"
LEAST_RANGE_MS: Final = 1.0
"""A latency is shown in whole ms, so two ends that are nearer to each other are one figure."""
LEAST_CORES: Final = 0.05
"""A program is named with the tenths of a core that it had."""
Ends = tuple[float, float]
"""A figure at its low and at its high end."""
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
"""English whatever the machine's locale, as all other words are."""


def command(*words: object) -> str:
    """A command of this program with its words quoted for a shell, ready to copy."""
    return shlex.join(["harness", *map(str, words)])


def milliseconds(value: float | None) -> str:
    """`474 ms` below a second, `1.10 s` above; a minus sign for sound that began too early."""
    if value is None:
        return UNKNOWN_TEXT
    if abs(value) < _IN_SECONDS_MS:
        return f"{value:.0f} ms".replace("-", "−")
    return f"{value / 1_000:.2f} s".replace("-", "−")


def elo_band(low: float | None, high: float | None) -> str:
    """`1480–1530`; `≥ 1720` or `≤ 1280` for one that won or lost every comparison; empty without an interval."""
    if low is not None and high is not None:
        return f"{low:.0f}–{high:.0f}"
    return f"≥ {low:.0f}" if low is not None else f"≤ {high:.0f}" if high is not None else ""


def latency_band(low_ms: float | None, high_ms: float | None) -> str:
    """`430–520 ms`, `1.35–1.55 s`, `≥ 2.10 s` if it extends into "no reply"; empty without an interval."""
    if low_ms is None:
        return ""
    if high_ms is None:
        return f"≥ {milliseconds(low_ms)}"
    if low_ms >= 0 and high_ms < _IN_SECONDS_MS:
        return f"{low_ms:.0f}–{high_ms:.0f} ms"
    if low_ms >= _IN_SECONDS_MS:
        return f"{low_ms / 1_000:.2f}–{high_ms / 1_000:.2f} s"
    return f"{milliseconds(low_ms)} – {milliseconds(high_ms)}"


def programs(others: Sequence[tuple[str, float]]) -> str:
    """`chromium .4 cores, python3 .2`: the programs that ran beside the agent, with the cores that each had; empty for none."""
    found = [(name, f"{cores:.1f}".removeprefix("0")) for name, cores in others if cores >= LEAST_CORES]
    return ", ".join(f"{name} {cores}{'' if k else ' cores'}" for k, (name, cores) in enumerate(found))


def had_it_been_its_own(ends_ms: Ends | None, others: Sequence[tuple[str, float]] = ()) -> str:
    """`430–461 had the machine been its own (others: chromium .4 cores, python3 .2)`: both ends of a latency.

    Empty where they are less than 1 ms apart, or others' part was not measured.
    """
    if ends_ms is None or ends_ms[1] - ends_ms[0] < LEAST_RANGE_MS:
        return ""
    return f"{_apart(ends_ms)}{OWN}{_by(others)}"


def share_had_it_been_its_own(ends: Ends | None, others: Sequence[tuple[str, float]] = ()) -> str:
    """`53–61 % had the machine been its own`: both ends of a share; empty where they are the same whole percentage."""
    if ends is None or share(ends[0]) == share(ends[1]):
        return ""
    return f"{share_band(ends)}{OWN}{_by(others)}"


def cannot_tell(part: str, others: Sequence[tuple[str, float]] = ()) -> str:
    """`this machine cannot tell: 38 ms others' (chromium .4 cores)`: a budget between the two ends of a figure."""
    by = programs(others)
    return f"this machine cannot tell: {part} others'" + (f" ({by})" if by else "")


def _by(others: Sequence[tuple[str, float]]) -> str:
    return f" (others: {named})" if (named := programs(others)) else ""


def _apart(ends_ms: Ends) -> str:
    """Both ends in the unit of the larger one: `430–461`, `0.93–1.10 s`."""
    low, high = ends_ms
    if abs(high) < _IN_SECONDS_MS:
        return f"{low:.0f}–{high:.0f}".replace("-", "−")
    return f"{low / 1_000:.2f}–{high / 1_000:.2f} s".replace("-", "−")


def of_it_others(owed_ms: float | None, others: Sequence[tuple[str, float]] = ()) -> str:
    """`at most 22 ms of it others' (chromium .4 cores)`: the part of a latency that other programs could have caused; empty
    below 1 ms, or if it was not measured."""
    if owed_ms is None or owed_ms < LEAST_RANGE_MS:
        return ""
    by = programs(others)
    return f"at most {milliseconds(owed_ms)} of it others'" + (f" ({by})" if by else "")


def share(value: float | None) -> str:
    """A share as a whole percentage."""
    return UNKNOWN_TEXT if value is None else f"{100 * value:.0f} %"


def share_band(interval: tuple[float, float] | None) -> str:
    """`61–84 %`; empty if there is no interval."""
    return f"{100 * interval[0]:.0f}–{100 * interval[1]:.0f} %" if interval else ""


UNDER_A_FIGURE: Final = "Under a figure is its 95 % interval."
"""The sentence below a table of `with_band`: no interval is without its level."""


def with_band(figure: str, interval: str) -> str:
    """A cell of a table: the figure, and its interval, if any, on a second line."""
    return f"{figure}\n{interval}" if interval else figure


def counted(n: int, one: str, many: str | None = None) -> str:
    """`1 turn`, `2,510 turns`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """`one`, `one and two`, `one, two and three`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def when(moment: str | datetime) -> str:
    """`28 November 2026, 09:31 UTC`: a moment as people write it; a text that is no date is returned as it is.

    A run's file has ISO 8601, UTC where it names no zone.
    """
    try:
        at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    except ValueError:
        return str(moment)
    zone = (at if at.tzinfo else at.replace(tzinfo=UTC)).tzname()
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M} {zone}"


def day(moment: str | datetime) -> str:
    """`28 November 2026`."""
    return when(moment).partition(",")[0]


def number_word(n: int) -> str:
    """`one`, `twenty`, `21`: a whole number as a sentence has it."""
    return _NUMBERS[n] if 0 <= n < len(_NUMBERS) else f"{n:,}"
