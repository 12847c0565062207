"""Metrics pages in Prometheus' text format.

A page is read ten times a second beside an agent that is timed, and most of its rows are histogram buckets that nobody asks
for. So this reader makes objects of the wanted series alone, and no others are stored. What a page contains is foreign text: a
row that is no sample is skipped, and a page that is mostly such rows is refused in one sentence. Its time is linear in the
page's length: no pattern begins a second try inside what an earlier try has passed (possessive repeats, and a look behind).

Source: Prometheus' exposition formats (text 0.0.4; OpenMetrics 1.0 where its rows are the same). Pure.
"""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

_ROW: Final = re.compile(
    r"(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)(?:\{(?P<labels>[^\n]*)\})?[ \t]+(?P<value>[^\s{}]+)(?:[ \t]+[-+.\deE]+)?[ \t]*"
)
_LABEL: Final = re.compile(r'(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_]*+)="((?:[^"\\]++|\\.)*+)"')
_ESCAPED: Final = re.compile(r"\\(.)")
_EXEMPLAR: Final = re.compile(r"[ \t]#[ \t]*\{[^\n]*$")
_SHOWN: Final = 60
MOST_ROWS: Final = 200_000
"""Most rows of a page, comments apart: hundreds of times what a model server serves (some thousands, histograms included)."""
MOST_ROW_CHARACTERS: Final = 2**20
"""Most characters of a row; a longer one is no sample. A row with a server's whole configuration has a few thousand; one of
this length, all labels, is read in 0.1 s."""


class NotMetrics(Exception):
    """A page that is no metrics page. The message is the end of a sentence for people."""


@dataclass(frozen=True, slots=True)
class Series:
    """One sample of a page."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Page:
    """The wanted samples of a page, and the names of all its series."""

    series: tuple[Series, ...]
    names: frozenset[str]


def read_page(text: str, wanted: Collection[str]) -> Page:
    """The samples of a page whose names are wanted. Values that are not finite are left out: they say that nothing is known.

    Raises:
        NotMetrics: most of its rows are no samples, or there is none, or there are more than `MOST_ROWS`.
    """
    found: list[Series] = []
    names: set[str] = set()
    rows = strange = 0
    for raw in text.splitlines():
        row = raw.strip()
        if not row or row.startswith("#"):
            continue
        rows += 1
        if rows > MOST_ROWS:
            raise NotMetrics(f"has more than {MOST_ROWS:,} rows")
        if len(row) > MOST_ROW_CHARACTERS:
            strange += 1
            continue
        parsed = _ROW.fullmatch(_EXEMPLAR.sub("", row) if "#" in row else row)
        value = _number(parsed["value"]) if parsed is not None else None
        if parsed is None or value is None:
            strange += 1
            continue
        names.add(parsed["name"])
        if parsed["name"] in wanted and math.isfinite(value):
            found.append(Series(parsed["name"], _labels(parsed["labels"] or ""), value))
    if not rows:
        raise NotMetrics("has no series")
    if 2 * strange > rows:
        raise NotMetrics(f"is no Prometheus text: it begins with {_beginning(text)!r}")
    return Page(tuple(found), frozenset(names))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _labels(text: str) -> dict[str, str]:
    return {name: _ESCAPED.sub(_unescaped, value) for name, value in _LABEL.findall(text)}


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]


def _beginning(text: str) -> str:
    return " ".join(text[: 10 * _SHOWN].split())[:_SHOWN]
