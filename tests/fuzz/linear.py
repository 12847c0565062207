"""How the time of a function grows with its input, as a ratio within one run: so it says the same on a slow or busy machine.

Two lengths a factor four apart are timed in turns, and the shortest times are compared, because a disturbance only adds. Where
the ratio is too large, the longer one is compared with four times its own length: a step in the costs of memory is passed once,
and a quadratic function is quadratic there too.
"""

import gc
import time
from collections.abc import Callable
from typing import Final, TypeVar

Input = TypeVar("Input")

MOST_RATIO: Final = 2.5
"""Most times the time for twice the input. Linear is 2, quadratic is 4; the rest is for the machine."""
SMALLEST_S: Final = 0.002
"""Shortest time of the shorter input: start-up costs vanish in it."""
LARGEST: Final = 1 << 18
"""Largest shorter input. One that takes no `SMALLEST_S` is not quadratic: at a nanosecond a step it would take a minute."""
_APART: Final = 4
_TRIES: Final = 7


def growth(make: Callable[[int], Input], run: Callable[[Input], object], size: int = 1_000) -> tuple[float, int]:
    """How many times as long twice the input takes, and the size where this was measured: the first, doubled from `size`, that
    takes `SMALLEST_S`. The ratio is 1 if none does."""
    while _once(make(size), run) < SMALLEST_S:
        size *= 2
        if size > LARGEST:
            return 1.0, size
    ratio = _ratio(make, run, size)
    if ratio > MOST_RATIO:
        size *= _APART
        ratio = _ratio(make, run, size)
    return ratio, size


def is_linear(make: Callable[[int], Input], run: Callable[[Input], object], size: int = 1_000) -> None:
    """Nothing, if twice the input takes at most `MOST_RATIO` the time; otherwise a failed assertion with the figures."""
    ratio, at = growth(make, run, size)
    assert ratio <= MOST_RATIO, f"from {at:,} to {_APART * at:,}, twice the input takes {ratio:.1f} times as long"


def _ratio(make: Callable[[int], Input], run: Callable[[Input], object], size: int) -> float:
    few, many = make(size), make(_APART * size)
    few_s = many_s = ratio = float("inf")
    for _ in range(_TRIES):
        few_s, many_s = min(few_s, _once(few, run)), min(many_s, _once(many, run))
        ratio = (many_s / few_s) ** 0.5
        if ratio <= MOST_RATIO or many_s > 1:
            break
    return ratio


def _once(given: Input, run: Callable[[Input], object]) -> float:
    gc.disable()
    try:
        began_s = time.process_time()
        run(given)
        return time.process_time() - began_s
    finally:
        gc.enable()
