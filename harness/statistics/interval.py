"""An interval, and the data that it needs.

Turns, votes and verdicts come in clusters (a conversation, a speaker, a rater, a stretch of time), and only whole clusters are
independent. With fewer than eight their spread is itself a guess, so no interval is given.
"""

from typing import Final

Interval = tuple[float, float]
"""(low, high), at a level of 95 % unless another is named."""
TAIL: Final = 0.025
"""Chance with which a 95 % interval may miss on each side."""
FEWEST_CLUSTERS: Final = 8
"""Below this a spread over clusters is itself a guess, and no interval is given."""
TURNS_FOR_P95: Final = 60
"""A 95th percentile of fewer turns rests on fewer than three of them."""
