"""The samples of the machine over a run, reduced to the resolution of a chart.

A run of an hour has 36,000 samples of the processor and 180,000 of each GPU; a chart is a thousand points wide. Each point is
the *highest* value of its interval: a burst makes a turn slow, and a mean would hide it. Of a GPU's clock it is the *lowest*
under load, in percent of the highest of the run, for the same reason.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.foreign_files import FileFault, read_json
from harness.machine.gpu_use import under_load
from harness.reports.view import SeriesView

POINTS = 400
LONGEST_WAIT_S = 3_600.0
"""Sampling starts before the first session. Samples that all end before it, or begin this long after it, are on another clock
(the machine was restarted in between), and no turn can be compared with them.
"""
_SHOWN = {"cpu_percent": "processor, % of all cores"}
_SHOWN_ENDINGS = {".utilisation_percent": "{name}, % busy"}
_CLOCK: Final = ".sm_clock_mhz"
_BEGINNING: Final = re.compile(r'\{"at_ns": (\d+),')
_Bins = dict[int, float]


def series(samples_file: Path, first_ns: int | None) -> tuple[SeriesView, ...]:
    """The columns in percent over the seconds since the first session; empty without samples. Incomplete lines are left out."""
    if first_ns is None or not samples_file.is_file():
        return ()
    ends = _ends(samples_file, first_ns)
    if ends is None or ends[1] < 0 or ends[0] > LONGEST_WAIT_S:
        return ()
    begin, end = ends
    width = max((end - begin) / POINTS, 1e-3)
    highest: dict[str, _Bins] = {}
    clocks: dict[str, _Bins] = {}
    top: dict[str, float] = {}
    for second, sample in _samples(samples_file, first_ns):
        place = int((second - begin) / width)
        for column, value in sample.items():
            if column.endswith(_CLOCK):
                card = column.removesuffix(_CLOCK)
                if under_load(card, sample):
                    top[card] = max(top.get(card, 0.0), value)
                    bins = clocks.setdefault(card, {})
                    bins[place] = min(bins.get(place, value), value)
            elif (name := _name(column)) is not None:
                bins = highest.setdefault(name, {})
                bins[place] = max(bins.get(place, float(value)), float(value))
    for card, bins in clocks.items():
        of_top = {place: 100 * value / top[card] for place, value in bins.items()}
        highest[f"{card}, clock under load, % of its highest"] = of_top
    return tuple(
        SeriesView(name, tuple((round(begin + place * width, 1), round(value, 1)) for place, value in sorted(bins.items())))
        for name, bins in sorted(highest.items())
    )


def _ends(path: Path, first_ns: int) -> tuple[float, float] | None:
    """The seconds of the first and the last sample; None without any."""
    with path.open(encoding="utf-8") as lines:
        seconds = [(int(found[1]) - first_ns) / 1e9 for line in lines if (found := _BEGINNING.match(line))]
    return (seconds[0], seconds[-1]) if seconds else None


def _samples(path: Path, first_ns: int) -> Iterator[tuple[float, dict[str, float]]]:
    """(seconds, sample), one at a time: a night of samples does not fit into memory."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                sample = read_json(line)
                yield (sample["at_ns"] - first_ns) / 1e9, sample
            except (FileFault, KeyError, TypeError):
                continue


def _name(column: str) -> str | None:
    for ending, words in _SHOWN_ENDINGS.items():
        if column.endswith(ending):
            return words.format(name=column.removesuffix(ending))
    return _SHOWN.get(column)
