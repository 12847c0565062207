"""The allocation of items to emotion × problem cells.

Square-root allocation: a cell gets places in proportion to the square root of its candidates, so that the common cells do not
dominate the rare ones and the rare ones do not seem common. No cell gets more than its cap or than it has.
"""

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
Cell = tuple[str, str]

CELL_CAP_SHARE = 0.12
"""Largest share of the set in one cell: without it the largest (anxiety × job crisis) would approach a fifth."""


def places(available: Mapping[Cell, int], total: int, cap: int) -> dict[Cell, int]:
    """The places of each cell; their sum is `total`, or less if the cap requires. Largest remainders; ties by cell name."""
    room = {cell: min(n, cap) for cell, n in available.items() if n > 0}
    given = dict.fromkeys(room, 0)
    left = min(total, sum(room.values()))
    while left > 0:
        open_cells = [cell for cell in room if given[cell] < room[cell]]
        weights = {cell: math.sqrt(available[cell]) for cell in open_cells}
        share = left / sum(weights.values())
        exact = {cell: min(weights[cell] * share, room[cell] - given[cell]) for cell in open_cells}
        whole = {cell: math.floor(exact[cell]) for cell in open_cells}
        if sum(whole.values()) == 0:
            for cell in sorted(open_cells, key=lambda c: (-(exact[c] - whole[c]), c))[:left]:
                given[cell] += 1
            return given
        for cell, n in whole.items():
            given[cell] += n
        left -= sum(whole.values())
    return given


def chosen(
    candidates: Sequence[T], cell_of: Mapping[int, Cell], score_of: Mapping[int, float], total: int, seed: int
) -> list[T]:
    """The candidates that fill the places, by index into `candidates`: best score first, equals in seeded order."""
    order = list(range(len(candidates)))
    random.Random(seed).shuffle(order)
    cells: dict[Cell, list[int]] = defaultdict(list)
    for k in sorted(order, key=lambda k: -score_of[k]):
        cells[cell_of[k]].append(k)
    given = places({cell: len(ks) for cell, ks in cells.items()}, total, max(1, math.floor(total * CELL_CAP_SHARE)))
    kept = sorted(k for cell, ks in cells.items() for k in ks[: given.get(cell, 0)])
    return [candidates[k] for k in kept]
