"""One clock for everything that is timed: CLOCK_MONOTONIC, in integer nanoseconds.

On Linux every process of a machine reads the same CLOCK_MONOTONIC, so an agent's marks and the caller's
departures are comparable without any synchronisation.
"""

import time


def now_ns() -> int:
    """Nanoseconds on this machine's monotonic clock."""
    return time.monotonic_ns()
