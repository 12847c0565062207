"""Stretches of time, the clusters of a load test.

Calls that overlap share one queue, so their waits rise and fall together: to draw them one by one would promise too narrow an
interval, and most of all near the knee, where the figure decides. So stretches of time are drawn, all turns of a stretch
together, as batch means do for simulated queues (Law and Kelton, "Simulation Modeling and Analysis"). A stretch is about as
long as a call. Under eight stretches there is no interval.
"""

from typing import Final

import numpy as np

from harness.statistics.arrays import Ints
from harness.timeline import NS_PER_S

STRETCH_S: Final = 15.0
"""Least length of a stretch: about a call of one turn."""


def stretches_of(at_ns: Ints) -> Ints:
    """(turns,): the number of the stretch of each instant; all stretches are equally long.

    >>> stretches_of(np.array([0, 14, 16, 31]) * NS_PER_S).tolist()
    [0, 0, 1, 1]
    """
    if not at_ns.size:
        return np.zeros(0, np.int64)
    since_ns = at_ns - at_ns.min()
    lasts_ns = int(since_ns.max())
    number = max(1, int(lasts_ns / (STRETCH_S * NS_PER_S)))
    found: Ints = np.minimum(number - 1, since_ns * number // max(lasts_ns, 1))
    return found
