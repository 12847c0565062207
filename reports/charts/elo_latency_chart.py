"""The joint chart as SVG, for the page and for pictures.

It is drawn here and not in the browser for three reasons. It is on the first screen, so it must exist before any
script has run. Its names must not overlap, which no chart library guarantees. And a phone needs a separate drawing,
not a large one made small. The page has one drawing per setting of its switches, in two sizes; colours are the page's own
variables, so that another theme needs no new drawing.

The latency axis is logarithmic, because people feel ratios: 200 ms against 400 ms matters, 9.8 s against 10 s does
not. The budget and the comfort line make "fast enough" a place on the picture. References have no latency and are lines across.
"""

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from harness.reports.charts.elo_latency_points import (
    PERCENTILES,
    Choice,
    Line,
    Point,
    absent,
    frontier,
    limit_shown,
    points,
    references,
)
from harness.reports.charts.labels import BESIDE_PX, DROP_EM, LINE_EM, Box, first_free, place, shortened, text_width
from harness.reports.charts.scale import LinearScale, LogScale, latency_label
from harness.reports.charts.theme import LIGHT_CATEGORY, LIGHT_INK
from harness.reports.view import METRICS, Estimate, PageView
from harness.reports.wording import elo_interval, latency_interval
from harness.store.manifest import PEOPLE
from harness.wording import had_it_been_its_own, milliseconds

Colour = Callable[[str], str]
"""A function from the name of a colour (`ink`, `quiet`, `line`, `limit`, `card`, `c0` … `c7`) to its value in the drawing."""
_BY: Final = {"people": " by people", "borne_out": " by a judge, borne out", "opinion": ", a judge's opinion", "none": ""}
"""Part of the axis title, by the state of the quality axis."""
_MARK_PX: Final = 12.0
_HEAD_PX: Final = 6.0
"""Length of the arrowhead of an interval without an end."""
_PERSON: Final = "person"
"""Shape of people's point: head and shoulders, which no agent has."""
_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "star", "hexagon")


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a drawing in pixels; it is scaled down to the available width, but never up."""

    name: str
    width: int
    height: int
    letters: float


WIDE = Size("wide", 700, 440, 12.0)
PHONE = Size("phone", 350, 400, 11.0)
PICTURE = Size("picture", 900, 470, 12.0)
SIZES: Final = (WIDE, PHONE)


def on_page(name: str) -> str:
    """A colour as a variable of the page, which follows its theme."""
    return f"var(--{name})"


def on_paper(name: str) -> str:
    """A colour of the light theme, for a picture."""
    return LIGHT_CATEGORY[int(name[1:])] if name[0] == "c" and name[1:].isdigit() else LIGHT_INK[name]


def colour_and_shape(number: int) -> tuple[str, str]:
    """The colour and shape of an agent, unique among 64: the shapes shift by one with every round of the colours."""
    return f"c{number % 8}", _SHAPES[(number + number // 8) % 8]


def draw(view: PageView, choice: Choice, size: Size, colour: Colour = on_page) -> Markup:
    """The chart as an SVG element: of latency alone where no agent has a rating; empty if no agent has this latency."""
    found = points(view, choice)
    return _Drawing(view, choice, size, colour, found, references(view, choice)).svg() if found else Markup()


class _Drawing:
    """A drawing in progress: the scales, the occupied areas, and the parts so far."""

    def __init__(
        self, view: PageView, choice: Choice, size: Size, colour: Colour, found: tuple[Point, ...], lines: tuple[Line, ...]
    ) -> None:
        self.view, self.choice, self.size, self.colour = view, choice, size, colour
        self.points, self.lines = found, lines
        self.rated = all(point.rated for point in found)
        self.title = (*_axis_title(choice, size), *_fitted(absent(view, choice, found), size))
        foot = size.letters * LINE_EM * (1 + len(self.title)) + 12
        self.room = Box(size.letters * 3.6, size.letters * 1.6, size.width - 10, size.height - foot)
        self.x = LogScale(*_latency_range(view, choice, found), self.room.left + 8, self.room.right)
        self.taken: list[Box] = []
        self.labels = self._limit_labels()
        # A reference is often the best rated, and its rule must not run through the names of the limits.
        top = max((box.bottom for box in self.taken), default=self.room.top)
        self.y = LinearScale(*_elo_range(found, lines), self.room.bottom - 4, top + 4)

    def svg(self) -> Markup:
        """The whole drawing, from back to front."""
        back = [*self._grid(), *self._limit_lines(), *self._frontier(), *self._reference_lines(), *self._intervals()]
        self.labels += self._reference_labels()
        names = self._names()
        parts = Markup("").join([*back, *self.labels, *self._marks(), *names])
        return Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" class="joint {}" viewBox="0 0 {} {}" width="{}" height="{}" '
            'font-family="system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif" font-size="{}">{}</svg>'
        ).format(self.size.name, self.size.width, self.size.height, self.size.width, self.size.height, self.size.letters, parts)

    def _line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float, more: str = "") -> Markup:
        return Markup(
            '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{}"{}/>'
        ).format(x1, y1, x2, y2, self.colour(colour), width, Markup(more))  # fmt: skip

    def _text(
        self, x: float, y: float, text: str, most_px: float, colour: str, anchor: str = "start", more: str = ""
    ) -> Markup:
        """A text with a maximum width, which the page enforces if a reader's font is wider than the one assumed here."""
        return Markup('<text x="{:.1f}" y="{:.1f}" data-most="{:.0f}" fill="{}" text-anchor="{}"{}>{}</text>').format(
            x, y, most_px - 2, self.colour(colour), anchor, Markup(more), text
        )

    def _grid(self) -> list[Markup]:
        room, letters = self.room, self.size.letters
        drawn = [self._line(self.x.at(v), room.top, self.x.at(v), room.bottom, "line", 1) for v in self.x.lines()]
        for value in self.y.ticks() if self.rated else ():
            at = self.y.at(value)
            drawn.append(self._line(room.left, at, room.right, at, "line", 1))
            drawn.append(self._text(room.left - 6, at + letters * 0.35, f"{value:.0f}", room.left - 7, "quiet", "end"))
        for value, label in self.x.ticks(letters):
            at = self.x.at(value)
            drawn.append(self._line(at, room.bottom, at, room.bottom + 5, "quiet", 1))
            half = text_width(label, letters) / 2
            middle = min(max(at, half), self.size.width - half)
            drawn.append(self._text(middle, room.bottom + 6 + letters, label, half * 2, "quiet", "middle", ' class="tick"'))
        drawn.append(self._line(room.left, room.bottom, room.right, room.bottom, "quiet", 1))
        above = letters * (LINE_EM - DROP_EM)
        drawn.append(self._text(4, above, self._elo_title(), self.size.width - 8, "ink"))
        middle = (room.left + room.right) / 2
        for k, words in enumerate(self.title):
            y = room.bottom + 10 + letters * (1 + LINE_EM * (k + 1))
            drawn.append(self._text(middle, y, words, 2 * min(middle, self.size.width - middle) - 4, "ink", "middle"))
        return drawn

    def _elo_title(self) -> str:
        if not self.rated:
            return "Latency alone: nobody has rated these replies"
        states = {self.view.agents[p.number].slices[self.choice.subset].cell.quality_state for p in self.points}
        return f"Elo{_BY[states.pop()] if len(states) == 1 else ''} (higher is preferred)"

    def _limits(self) -> tuple[tuple[float, str], ...]:
        """The budget, or the gate's limit, and the comfort line: the place of each on the latency axis, and its label."""
        limit, label = limit_shown(self.view, self.choice)
        comfort = self.view.comfort_ms
        return (self.x.at(limit), label), (self.x.at(comfort), f"comfort {latency_label(comfort)}")

    def _limit_lines(self) -> list[Markup]:
        room, dashed = self.room, ' stroke-dasharray="6 4"'
        return [self._line(at, room.top, at, room.bottom, "limit", 1.5, dashed) for at, _ in self._limits()]

    def _limit_labels(self) -> list[Markup]:
        """The labels of the limits, at the top and beside their lines."""
        size, drawn = self.size.letters * 0.95, []
        for at, label in self._limits():
            width, height = text_width(label, size), size * LINE_EM
            top = self.room.top + 1
            spots = [
                Box(left, top + row * height, left + width, top + (row + 1) * height)
                for row in range(3)
                for left in (at + 4, at - 4 - width)
            ]
            drawn += self._label(label, size, spots, "limit")
        return drawn

    def _label(
        self, label: str, size: float, spots: Sequence[Box], colour: str, marks: Sequence[Box] = (), more: str = ""
    ) -> list[Markup]:
        """A label in the first of these places that is free, which is then taken; nothing if none is."""
        box = first_free(spots, self.room, [*self.taken, *marks])
        if box is None:
            return []
        self.taken.append(box)
        bottom, width = box.bottom - size * DROP_EM, text_width(label, size)
        return [self._text(box.left, bottom, label, width, colour, more=f' font-size="{size:.1f}"{more}{self._halo()}')]

    def _halo(self) -> str:
        """The attributes of a text that stays readable on a line."""
        return f' paint-order="stroke" stroke="{self.colour("card")}" stroke-width="3"'

    def _frontier(self) -> list[Markup]:
        corners = [(self.x.at(p.latency.value or 1), self.y.at(p.elo.value or 0)) for p in frontier(self.points)]
        if len(corners) < 2:
            return []
        path = f"M{corners[0][0]:.1f} {corners[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in corners[1:])
        return [
            Markup('<path class="frontier" d="{}" fill="none" stroke="{}" stroke-width="1.5" stroke-dasharray="2 3"/>').format(
                path, self.colour("quiet")
            )
        ]

    def _reference_lines(self) -> list[Markup]:
        room = self.room
        return [self._line(room.left, self.y.at(e.elo), room.right, self.y.at(e.elo), "quiet", 1.2) for e in self.lines]

    def _reference_labels(self) -> list[Markup]:
        room, size = self.room, self.size.letters * 0.95
        marks = [Box.around(x, y, _MARK_PX, _MARK_PX) for x, y in self._places()]
        drawn = []
        for line in self.lines:
            at = self.y.at(line.elo)
            label = shortened(line.label, size, (room.right - room.left) * 0.8)
            width, height = text_width(label, size), size * LINE_EM
            lefts = [room.right - 4 - width, room.left + 4, (room.left + room.right - width) / 2]
            lefts += [room.left + (room.right - room.left - width) * k / 10 for k in range(11)]
            spots = [Box(left, at + top, left + width, at + top + height) for left in lefts for top in (-height - 1, 2)]
            drawn += self._label(label, size, spots, "quiet", marks, ' class="name reference"')
        return drawn

    def _places(self) -> list[tuple[float, float]]:
        return [(self.x.at(p.latency.value or 1), self.y.at(p.elo.value or 0)) for p in self.points]

    def _intervals(self) -> list[Markup]:
        drawn = []
        for point, (x, y) in zip(self.points, self._places(), strict=True):
            name = _colour(point)
            faint = ' stroke-opacity="0.65"'
            if point.ends is not None:
                low_ms, high_ms = point.ends
                wide = ' stroke-opacity="0.3" class="ends"'
                drawn.append(self._line(self.x.at(low_ms), y, self.x.at(high_ms), y, name, 0.6 * _MARK_PX, wide))
            drawn += self._across(point.latency, y, name, faint)
            drawn += self._upright(point.elo, x, name, faint)
        return drawn

    def _across(self, latency: Estimate, y: float, name: str, faint: str) -> list[Markup]:
        """The interval of a latency; without one end it runs to the edge and has an arrowhead there."""
        if latency.low is None and latency.high is None:
            return []
        low = self.room.left if latency.low is None else self.x.at(latency.low)
        high = self.room.right if latency.high is None else self.x.at(latency.high)
        heads = [(low, 1)] if latency.low is None else [(high, -1)] if latency.high is None else []
        arrows = [f"M{at + side * _HEAD_PX:.1f} {y - 4:.1f}L{at:.1f} {y:.1f}L{at + side * _HEAD_PX:.1f} {y + 4:.1f}"
                  for at, side in heads]  # fmt: skip
        return [self._line(low, y, high, y, name, 2, faint), *(self._arrow(path, name) for path in arrows)]

    def _upright(self, elo: Estimate, x: float, name: str, faint: str) -> list[Markup]:
        """The interval of a rating, drawn as that of a latency is."""
        if elo.low is None and elo.high is None:
            return []
        low = self.room.bottom if elo.low is None else self.y.at(elo.low)
        high = self.room.top if elo.high is None else self.y.at(elo.high)
        heads = [(low, -1)] if elo.low is None else [(high, 1)] if elo.high is None else []
        arrows = [f"M{x - 4:.1f} {at + side * _HEAD_PX:.1f}L{x:.1f} {at:.1f}L{x + 4:.1f} {at + side * _HEAD_PX:.1f}"
                  for at, side in heads]  # fmt: skip
        return [self._line(x, low, x, high, name, 2, faint), *(self._arrow(path, name) for path in arrows)]

    def _arrow(self, path: str, name: str) -> Markup:
        return Markup('<path class="open" d="{}" fill="none" stroke="{}" stroke-width="2"/>').format(path, self.colour(name))

    def _marks(self) -> list[Markup]:
        drawn = []
        for point, (x, y) in zip(self.points, self._places(), strict=True):
            name, shape = _colour(point), _PERSON if point.seat else colour_and_shape(point.number)[1]
            fill, edge, width = ("card", name, 2.0) if point.opinion else (name, "card", 1.0)
            drawn.append(
                Markup(
                    '<g class="{}" data-agent="{}"><title>{}</title><path d="{}" transform="translate({:.1f} {:.1f})" '
                    'fill="{}" stroke="{}" stroke-width="{:g}"/></g>'
                ).format(
                    " ".join(["point", *(["opinion"] if point.opinion else []), *([point.seat] if point.seat else [])]),
                    point.agent,
                    self._words(point),
                    shape_path(shape),
                    x,
                    y,
                    self.colour(fill),
                    self.colour(edge),
                    width,
                )
            )
        return drawn

    def _words(self, point: Point) -> str:
        band = latency_interval(point.latency)
        elo_band = elo_interval(point.elo)
        fast = f"{point.agent}: {milliseconds(point.latency.value)}{f' (95 %: {band})' if band else ''}"
        if point.ends is not None:
            fast += f", {had_it_been_its_own(point.ends)}"
        if not point.rated:
            return fast
        last = "in a judge's opinion" if point.opinion else f"P(on the frontier) {point.p_frontier}"
        if point.seat and not point.opinion:
            last = "people, who are no agent" if point.seat == PEOPLE else "a rehearsal, no people"
        return f"{fast}, Elo {point.elo.value:.0f}{f' (95 %: {elo_band})' if elo_band else ''}, {last}"

    def _names(self) -> list[Markup]:
        letters = self.size.letters
        most = (self.room.right - self.room.left) * (0.42 if self.size is PHONE else 0.34)
        labels = [shortened(point.agent, letters, most) for point in self.points]
        sizes = [(text_width(label, letters), letters * LINE_EM) for label in labels]
        boxes = place(self._places(), sizes, self.room, self.taken, _MARK_PX)
        leaders, names = [], []
        for point, (x, y), label, box in zip(self.points, self._places(), labels, boxes, strict=True):
            if box is None:
                continue
            name = _colour(point)
            near = min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)
            if math.dist(near, (x, y)) > BESIDE_PX:
                leaders.append(self._line(x, y, *near, name, 0.8, ' stroke-opacity="0.8"'))
            halo = f' class="name" font-weight="600"{self._halo()}'
            names.append(self._text(box.left, box.bottom - letters * DROP_EM, label, box.right - box.left, name, more=halo))
        return [*leaders, *names]


def _colour(point: Point) -> str:
    """Name of a point's colour: an opinion has none of its own, and people have that of the writing."""
    if point.seat:
        return "ink"
    return "quiet" if point.opinion else colour_and_shape(point.number)[0]


def _axis_title(choice: Choice, size: Size) -> tuple[str, ...]:
    words = _fitted(f"{METRICS[choice.metric]}, {PERCENTILES[choice.percentile]}", size)
    return (*words, "logarithmic axis: equal steps are equal ratios")


def _fitted(words: str, size: Size) -> list[str]:
    return textwrap.wrap(words, int(size.width / (size.letters * 0.66)))


def _latency_range(view: PageView, choice: Choice, found: Sequence[Point]) -> tuple[float, float]:
    known = [v for p in found for v in (p.latency.value, p.latency.low, p.latency.high, *(p.ends or ())) if v is not None]
    known += [limit_shown(view, choice)[0], view.budget_ttfa_ms, view.budget_ttft_ms, view.comfort_ms]
    return min(known) / 1.2, max(known) * 1.25


def _elo_range(found: Sequence[Point], lines: Sequence[Line]) -> tuple[float, float]:
    known = [v for p in found for v in (p.elo.value, p.elo.low, p.elo.high) if v is not None] + [line.elo for line in lines]
    spread = max(max(known) - min(known), 20.0)
    return min(known) - 0.06 * spread, max(known) + 0.06 * spread


def shape_path(shape: str) -> str:
    """The path of a mark around the origin; all have about the same area."""
    r = _MARK_PX / 2
    if shape == _PERSON:
        head = f"M{-r * 0.55:.2f} {-r * 0.75:.2f}a{r * 0.55:.2f} {r * 0.55:.2f} 0 1 0 {r * 1.1:.2f} 0"
        return f"{head}a{r * 0.55:.2f} {r * 0.55:.2f} 0 1 0 {-r * 1.1:.2f} 0ZM{-r} {r * 1.2:.2f}a{r} {r} 0 0 1 {2 * r} 0Z"
    if shape == "circle":
        return f"M{-r} 0a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"
    if shape == "cross":
        a, b = r * 0.36, r
        return f"M{-a} {-b}H{a}V{-a}H{b}V{a}H{a}V{b}H{-a}V{a}H{-b}V{-a}H{-a}Z"
    corners = {
        "square": [(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
        "diamond": [(0, -1.15), (1.15, 0), (0, 1.15), (-1.15, 0)],
        "triangle-up": [(0, -1.1), (1.1, 0.85), (-1.1, 0.85)],
        "triangle-down": [(0, 1.1), (-1.1, -0.85), (1.1, -0.85)],
        "star": _ring(5, 1.25, 0.52),
        "hexagon": _ring(3, 1.05, 1.05),
    }[shape]
    return "M" + "L".join(f"{r * x:.2f} {r * y:.2f}" for x, y in corners) + "Z"


def _ring(times: int, outer: float, inner: float) -> list[tuple[float, float]]:
    radii = [(outer, inner)[k % 2] for k in range(2 * times)]
    return [(q * math.sin(math.pi * k / times), -q * math.cos(math.pi * k / times)) for k, q in enumerate(radii)]
