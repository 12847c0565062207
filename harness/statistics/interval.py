"""An interval, and the number of clusters that it needs.

Turns, votes and verdicts come in clusters (a conversation, a speaker, a rater, a stretch of time), and only whole clusters are
independent. With fewer than eight their spread is itself a guess, so no interval is given.
"""

from typing import Final

Interval = tuple[float, float]
"""(low, high), at a level of 95 % unless another is named."""
FEWEST_CLUSTERS: Final = 8
"""Below this a spread over clusters is itself a guess, and no interval is given."""
