"""The samples of the machine over a run, reduced to the resolution of a chart.

A run of an hour has 36,000 samples; a chart is a thousand points wide. Each point is the *highest* value of its interval:
a burst makes a turn slow, and a mean would hide it.
"""

import json
from pathlib import Path

from harness.reports.view import SeriesView

POINTS = 400
LONGEST_WAIT_S = 3_600.0
"""Sampling starts before the first session. Samples that all end before it, or begin this long after it, are on another clock
(the machine was restarted in between), and no turn can be compared with them.
"""
_SHOWN = {"cpu_percent": "processor, % of all cores"}
_SHOWN_ENDINGS = {".utilisation_percent": "{name}, % busy"}


def series(samples_file: Path, first_ns: int | None) -> tuple[SeriesView, ...]:
    """The columns in percent over the seconds since the first session; empty without samples. Incomplete lines are left out."""
    if first_ns is None or not samples_file.is_file():
        return ()
    samples: list[tuple[float, dict[str, float]]] = []
    with samples_file.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                sample = json.loads(line)
                samples.append(((sample["at_ns"] - first_ns) / 1e9, sample))
            except (ValueError, KeyError, TypeError):
                continue
    if not samples:
        return ()
    begin, end = samples[0][0], samples[-1][0]
    if end < 0 or begin > LONGEST_WAIT_S:
        return ()
    width = max((end - begin) / POINTS, 1e-3)
    highest: dict[str, dict[int, float]] = {}
    for second, sample in samples:
        for column, value in sample.items():
            name = _name(column)
            if name is not None:
                place = int((second - begin) / width)
                bins = highest.setdefault(name, {})
                bins[place] = max(bins.get(place, float(value)), float(value))
    return tuple(
        SeriesView(name, tuple((round(begin + place * width, 1), round(value, 1)) for place, value in sorted(bins.items())))
        for name, bins in sorted(highest.items())
    )


def _name(column: str) -> str | None:
    for ending, words in _SHOWN_ENDINGS.items():
        if column.endswith(ending):
            return words.format(name=column.removesuffix(ending))
    return _SHOWN.get(column)
