"""One timeline in integer nanoseconds, and the position of samples on it.

Values stay integers until the last step because a float of seconds since boot loses nanoseconds after some weeks of uptime, and
because equality of integers can be tested.
"""

from typing import Final

NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000


def samples_to_ns(samples: int, rate_hz: int) -> int:
    """The duration of this many samples, rounded to the nearest nanosecond."""
    return (samples * NS_PER_S + rate_hz // 2) // rate_hz
