"""Metrics pages in Prometheus' text format, read by `prometheus_client` within bounds of our own.

A page is read ten times a second beside an agent that is timed, and most of its rows are histogram buckets that nobody asks
for: only rows of wanted series go through the library, one at a time, so that a damaged row costs that row alone. What a page
contains is foreign text, and the library's time for a row grows with its square: no long row reaches it, and a page that is
mostly strange rows is refused in one sentence. Pure.
"""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client.samples import Sample

_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*(?=[{ \t])")
_SHOWN: Final = 60
MOST_BYTES: Final = 8 * 1024 * 1024
"""Most bytes of a page: forty bytes for each of the most rows."""
MOST_ROWS: Final = 200_000
"""Most rows of a page, comments apart: hundreds of times what a model server serves (some thousands, histograms included)."""
MOST_ROW_CHARACTERS: Final = 2**14
"""Most characters of a row; a longer one is no sample. A row with a server's whole configuration has a few thousand; the worst
of this length takes the library 0.03 s."""


class NotMetrics(Exception):
    """A page that is no metrics page. The message is the end of a sentence for people."""


@dataclass(frozen=True, slots=True)
class Page:
    """The wanted samples of a page, and the names of all its series."""

    series: "tuple[Sample, ...]"
    names: frozenset[str]


def read_page(text: str, wanted: Collection[str]) -> Page:
    """The samples of a page whose names are wanted. Values that are not finite are left out: they say that nothing is known.

    Raises:
        NotMetrics: most of its rows are no samples, or there is none, or there are more than `MOST_ROWS`.
    """
    series: list[Sample] = []
    names: set[str] = set()
    rows = strange = 0
    for row in filter(None, map(str.strip, text.splitlines())):
        if row.startswith("#"):
            continue
        rows += 1
        if rows > MOST_ROWS:
            raise NotMetrics(f"has more than {MOST_ROWS:,} rows")
        try:
            name = _name_of(row)
            if name in wanted:
                series += _samples(row)
            names.add(name)
        except (ValueError, LookupError, OverflowError):
            strange += 1
    if not rows:
        raise NotMetrics("has no series")
    if 2 * strange > rows:
        beginning = " ".join(text[: 10 * _SHOWN].split())[:_SHOWN]
        raise NotMetrics(f"is no Prometheus text: it begins with {beginning!r}")
    return Page(tuple(series), frozenset(names))


def _name_of(row: str) -> str:
    """The name of a row's series.

    Raises:
        ValueError: the row is too long, begins with no name, or ends with no number.
    """
    name = _NAME.match(row)
    if name is None or len(row) > MOST_ROW_CHARACTERS:
        raise ValueError(row[:_SHOWN])
    float(row.rsplit(None, 1)[-1])
    return name[0]


def _samples(row: str) -> "list[Sample]":
    # Its import takes 0.1 s, which a command that reads no page need not spend.
    from prometheus_client.parser import text_string_to_metric_families

    samples = [sample for family in text_string_to_metric_families(row) for sample in family.samples]
    return [sample for sample in samples if math.isfinite(sample.value)]
