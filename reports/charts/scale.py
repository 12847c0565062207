"""The two axes of the joint chart: the position of values and of ticks.

People hear latencies as ratios, so their axis is logarithmic, and on such an axis evenly spaced ticks mislead. Ticks are taken
from the densest series of round values whose labels do not overlap, so that a phone has fewer than a screen, and neither
leaves a point without two marked values around it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.reports.charts.labels import roomy, text_width

LADDERS: Final = (
    (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.5, 2, 3, 4, 5, 7),
    (1, 2, 3, 5, 7),
    (1, 2, 5),
    (1, 3),
    (1,),
)  # fmt: skip
"""Values of a decade that are marked, densest first."""
_APART_PX: Final = 9.0


@dataclass(frozen=True, slots=True)
class LogScale:
    """Milliseconds to pixels."""

    low: float
    high: float
    start_px: float
    end_px: float

    def at(self, value: float) -> float:
        """The position of a value in pixels."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start_px + share * (self.end_px - self.start_px)

    def ticks(self, size_px: float) -> tuple[tuple[float, str], ...]:
        """(value, label) of the ticks, as many as fit without overlap at this font size."""
        found: list[tuple[float, str]] = []
        for ladder in LADDERS:
            found = [(value, latency_label(value)) for value in self._rungs(ladder)]
            if roomy([self.at(v) for v, _ in found], [text_width(label, size_px) for _, label in found], _APART_PX):
                break
        return tuple(found)

    def lines(self) -> tuple[float, ...]:
        """The values with a grid line, even without room for a label: their spacing shows that the axis is logarithmic."""
        return tuple(self._rungs((1, 2, 3, 4, 5, 6, 7, 8, 9)))

    def _rungs(self, ladder: Sequence[float]) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        rungs = [step * 10.0**decade for decade in decades for step in ladder]
        return [value for value in rungs if self.low <= value <= self.high]


@dataclass(frozen=True, slots=True)
class LinearScale:
    """Elo to pixels; higher is further up, so `start_px` is the larger."""

    low: float
    high: float
    start_px: float
    end_px: float

    def at(self, value: float) -> float:
        """The position of a value in pixels."""
        return self.start_px + (value - self.low) / (self.high - self.low) * (self.end_px - self.start_px)

    def ticks(self, apart_px: float = 44.0) -> tuple[float, ...]:
        """Round values at least this far apart."""
        most = max(2, int(abs(self.end_px - self.start_px) / apart_px))
        raw = (self.high - self.low) / most
        base = 10.0 ** math.floor(math.log10(raw))
        step = next(base * m for m in (1, 2, 2.5, 5, 10) if base * m >= raw)
        first = math.ceil(self.low / step)
        return tuple(k * step for k in range(first, math.floor(self.high / step) + 1))


def latency_label(value_ms: float) -> str:
    """`250 ms`, `1.5 s`."""
    return f"{value_ms / 1_000:g} s" if value_ms >= 1_000 else f"{value_ms:g} ms"
