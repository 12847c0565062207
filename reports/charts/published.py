"""The points printed in HEART (arXiv 2601.19922), drawn hollow where a reader wants a sense of place.

They were made under other conditions: text alone, other judges, another pool of systems, and TTFT taken from a public
index of text endpoints, not from the replies that were judged. Ratings of different pools are not comparable; they are
shown on request only and never enter a figure of ours.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """A printed Elo with its printed median TTFT."""

    system: str
    elo: float
    ttft_ms: float


PUBLISHED_TTFT: tuple[PublishedPoint, ...] = (
    PublishedPoint("GPT-5", 1611.8, 700),
    PublishedPoint("Polaris 4.0", 1604.0, 400),
    PublishedPoint("o3", 1587.5, 13_800),
    PublishedPoint("Claude 4.5 Sonnet", 1540.9, 2_100),
    PublishedPoint("Claude 3.7 Sonnet", 1531.8, 600),
    PublishedPoint("Claude 4 Opus", 1504.0, 1_300),
    PublishedPoint("Gemini 2.5 Pro", 1477.7, 14_900),
)
"""HEART, sections 4.6 and 9.7, Table 1. The TTFTs are printed rounded."""

PUBLISHED_BEST_HUMAN_ELO = 1510.0
PUBLISHED_ORIGINAL_ELO = 1343.1
