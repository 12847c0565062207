"""The placement of labels in a picture, so that they cover neither each other nor a point.

Names at a fixed offset overlap as soon as two agents are close, which is the case that matters to a reader.
So each name takes the first free place on a spiral around its point, and a thin line leads back if that place is not
beside it. Widths are those of DejaVu Sans Bold and lines are as high as those of the highest font in use, so that no reader's
font makes words touch that do not touch here. The page compresses letters that are still wider.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_EM: Final = {**dict.fromkeys("ijlI.,:;|!'()[] ", 0.40), **dict.fromkeys('frt-/“”"', 0.52), **dict.fromkeys("mwMW%@…", 1.11),
              **dict.fromkeys("+=<>~#^&", 0.88)}  # fmt: skip
_LOWER_EM, _UPPER_EM, _WIDE_EM = 0.72, 0.86, 1.25
"""Widths in em: of DejaVu Sans Bold's letters and digits, and of full-width characters with room to spare."""
LINE_EM: Final = 1.4
DROP_EM: Final = 0.3
"""The height of a line, and the height of its baseline: 1.36 and 0.29 em in Noto Sans, 1.33 and 0.25 in Segoe UI."""
_DIRECTIONS: Final = tuple(math.radians(a) for a in (-35, 35, -145, 145, 0, 180, -90, 90, -60, -120, 60, 120))
"""Directions to try: directly above the point first, where people expect a name; y grows downwards."""
_STEP_PX: Final = 7.0
BESIDE_PX: Final = 16.0
"""Distance from its point above which a name gets a line to it."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """True if the two overlap."""
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom

    def inside(self, room: "Box") -> bool:
        """True if it is completely inside the room."""
        return (
            self.left >= room.left and self.right <= room.right and self.top >= room.top and self.bottom <= room.bottom
        )  # fmt: skip

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> "Box":
        """The rectangle of this size with its middle here."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def text_width(text: str, size_px: float) -> float:
    """The largest width of a text, in pixels."""
    return size_px * sum(_em(character) for character in text)


def _em(character: str) -> float:
    if character in _EM:
        return _EM[character]
    if ord(character) > 0x2E7F:
        return _WIDE_EM
    return _UPPER_EM if character.isupper() else _LOWER_EM


def shortened(text: str, size_px: float, most_px: float) -> str:
    """The text, or as much of its beginning and end as fits with an ellipsis between: names often differ at the end."""
    if text_width(text, size_px) <= most_px:
        return text
    for kept in range(len(text) - 1, 1, -1):
        short = f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"
        if text_width(short, size_px) <= most_px:
            return short
    return text[:1] + "…"


def place(
    points: Sequence[tuple[float, float]], sizes: Sequence[tuple[float, float]], room: Box, taken: Sequence[Box], mark_px: float
) -> tuple[Box | None, ...]:
    """A free rectangle of each size near each point, inside the room; None if there is none.

    `taken` are the occupied areas; `mark_px` is the width of the marks at the points, which are occupied too.
    """
    marks = [Box.around(x, y, mark_px, mark_px) for x, y in points]
    used = [*taken, *marks]
    found: list[Box | None] = [None] * len(points)
    for k in sorted(range(len(points)), key=lambda k: (points[k][1], points[k][0])):
        spots = _around(points[k], sizes[k], mark_px / 2, room)
        found[k] = next((b for b in spots if b.inside(room) and not any(b.meets(other) for other in used)), None)
        if (box := found[k]) is not None:
            used.append(box)
    return tuple(found)


def first_free(spots: Sequence[Box], room: Box, taken: Sequence[Box]) -> Box | None:
    """The first of these that is inside the room and covers nothing."""
    return next((b for b in spots if b.inside(room) and not any(b.meets(other) for other in taken)), None)


def _around(point: tuple[float, float], size: tuple[float, float], gap_px: float, room: Box) -> Iterator[Box]:
    reach = math.hypot(room.right - room.left, room.bottom - room.top)
    distance = gap_px + 2
    while distance < reach:
        for angle in _DIRECTIONS:
            x = point[0] + math.cos(angle) * distance + _side(math.cos(angle)) * size[0] / 2
            y = point[1] + math.sin(angle) * distance + _side(math.sin(angle)) * size[1] / 2
            yield Box.around(x, y, *size)
        distance += _STEP_PX


def _side(direction: float) -> float:
    return 0.0 if abs(direction) < 0.1 else math.copysign(1.0, direction)


def roomy(ticks: Sequence[float], widths: Sequence[float], gap_px: float) -> bool:
    """True if labels of these widths, centred on these places, do not overlap."""
    return all(b - a >= (w + v) / 2 + gap_px for (a, b), (w, v) in zip(pairwise(ticks), pairwise(widths), strict=True))
