"""The rule by which a figure is left out because other programs, the host or a quota had the agent's processors.

Each latency states how much of it others could have caused (`harness.timing.contention` derives that from the kernel's
counters). A figure of which they could have caused too much is dropped; the others of its turn stay.
"""

from typing import Final

MOST_OWED_SHARE: Final = 0.05
MOST_OWED_MS: Final = 25.0
"""A figure is used, with others' possible part beside it, while that part is at most the larger of these; beyond, the
figure is dropped. 5 % is what `benchmarks/contention.py` could not distinguish from nothing (below it, the median TTFA was
within 3 %, docs/performance.md). 25 ms is the counters' own grain: each core's idle time is shown in steps of 10 ms."""


def owes_too_much(owed_ms: float, value_ms: float) -> bool:
    """True if a figure is dropped: others could have caused over 5 % of it, and over 25 ms."""
    return owed_ms > max(MOST_OWED_SHARE * abs(value_ms), MOST_OWED_MS)
