"""How many items each emotion × problem cell gets, and which.

Square-root allocation: a cell gets places in proportion to the root of its candidates, so that the common cells do not
drown the rare ones and the rare ones do not pretend to be common. No cell takes more than its cap or than it has.
"""

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
Cell = tuple[str, str]

CELL_CAP_SHARE = 0.12
"""No cell holds more than an eighth of the set: the largest (anxiety × job crisis) would otherwise approach a fifth."""


def places(available: Mapping[Cell, int], total: int, cap: int) -> dict[Cell, int]:
    """Places by cell, adding up to `total` or to all there is under the cap. Largest remainders; ties by cell name."""
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
