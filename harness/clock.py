"""One clock for everything that is timed: CLOCK_MONOTONIC, in integer nanoseconds.

On Linux every process of a machine reads the same CLOCK_MONOTONIC, which is what makes an agent's marks and the caller's
departures comparable without any synchronisation. Integers are kept until the last step because a float of seconds
since boot loses nanoseconds after some weeks of uptime, and because equality of integers can be tested.
"""

import time
from typing import Final

NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000


def now_ns() -> int:
    """Nanoseconds on this machine's monotonic clock."""
    return time.monotonic_ns()


def ms_between(start_ns: int, end_ns: int) -> float:
    """Milliseconds from start to end; negative when the end came first."""
    return (end_ns - start_ns) / NS_PER_MS


def samples_to_ns(samples: int, rate_hz: int) -> int:
    """How long so many samples last, rounded to the nearest nanosecond."""
    return (samples * NS_PER_S + rate_hz // 2) // rate_hz
