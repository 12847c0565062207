"""Votes that an interval of a wished width takes, and the minutes for them, before anybody has voted.

It is the closed form of the people-only fit: n votes on pairs of k systems over c conversations leave a rating the variance

    (k − 1)² / (2 k n v)  +  (1 − 1/k) s² / c

in log-odds, v the variance of one vote and s the spread of a system over conversations, which no number of votes removes. A
judge can only narrow it. On simulated boards the median is within 10 % of it (docs/evidence/peoples-axis.md).
"""

import math
from typing import Final

import numpy as np
from scipy import stats

from harness.ranking.draw_pairs import REFERENCE_EVERY
from harness.ranking.scale import ELO_PER_LOGIT
from harness.statistics.interval import FEWEST_CLUSTERS

HALF_WIDTH_ELO: Final = 100.0
"""±100 Elo is ±14 points of the share that a system wins against the average: enough to tell a good agent from a poor one. The
paper's board spans 269 Elo."""
VOTE_VARIANCE: Final = 0.2295
"""Mean p (1 − p) over the pairs of systems of the paper's printed board (`paper_table.json`); ¼ at even odds."""
CONVERSATIONS_SD: Final = 0.7
"""Spread s, in log-odds of winning, of one system's worth between conversations. Assumed: that of the simulated boards on which
two people agree on 78 % of pairs, as HEART's do (`benchmarks/ranking_people_coverage.py`)."""
MOST_VOTES: Final = 2_000
"""Votes on one pair of agents beyond which none are promised: people prefer one of them in 53 % of conversations."""
READING_WORDS_PER_S: Final = 238 / 60
"""Silent reading of English prose (Brysbaert 2019, 190 studies)."""
DECIDING_S: Final = 4.0
"""Assumed, not measured: twice the time under which a rater is taken to click through
(`harness.votes.rater_exclusion`)."""


def half_width_elo(systems: int, contexts: int, votes: int) -> float:
    """Half width in Elo that the 95 % interval of a rating is expected to have; infinite where it would have none.

    >>> round(half_width_elo(5, 80, 120))
    87
    """
    # Pairs are drawn so that conversations take turns (`draw_pairs`).
    reached = min(votes, contexts)
    if systems < 2 or reached < FEWEST_CLUSTERS:
        return math.inf
    variance = (systems - 1) ** 2 / (2 * systems * votes * VOTE_VARIANCE) + (1 - 1 / systems) * CONVERSATIONS_SD**2 / contexts
    return float(stats.t.ppf(0.975, reached - 1) * ELO_PER_LOGIT * math.sqrt(variance))


def votes_needed(systems: int, contexts: int, wished_elo: float = HALF_WIDTH_ELO) -> int | None:
    """Fewest votes, each on another pair, with which a rating is known to ± `wished_elo`.

    None: not even a vote on every pair of replies to these conversations gives that.

    >>> votes_needed(5, 80, 100.0), votes_needed(5, 8, 100.0)
    (89, None)
    """
    most = contexts * systems * (systems - 1) // 2
    if half_width_elo(systems, contexts, most) > wished_elo:
        return None
    low, high = 0, most
    while high - low > 1:
        half = (low + high) // 2
        low, high = (half, high) if half_width_elo(systems, contexts, half) > wished_elo else (low, half)
    return high


def votes_to_tell_apart(share: float, *, agents: int = 2, references: bool = True, chance: float = 0.8) -> int | None:
    """Fewest votes after which every two agents are apart (`HeadToHead.is_apart`) with at least this chance, where people
    prefer one in `share` (over a half) of conversations. `references`: one vote in eight has a reference (`draw_pairs`).

    A vote is taken for one on another conversation; None: more than `MOST_VOTES` on a pair.

    >>> votes_to_tell_apart(1.0, references=False), votes_to_tell_apart(0.8, references=False), votes_to_tell_apart(0.8)
    (6, 23, 27)
    """
    pairs = agents * (agents - 1) // 2
    votes = np.arange(1, MOST_VOTES + 1)
    fewest_for = stats.binom.isf(0.05 / pairs / 2, votes, 0.5) + 1
    fails = np.flatnonzero(stats.binom.sf(fewest_for - 1, votes, share) < chance)
    needed = pairs * int(votes[fails[-1]] + 1 if fails.size else 1)
    if needed > pairs * MOST_VOTES:
        return None
    return math.ceil(needed * REFERENCE_EVERY / (REFERENCE_EVERY - 1)) if references else needed


def minutes(votes: int, *, words: float = 0.0, sound_s: float = 0.0) -> int:
    """Whole minutes for these votes. `words` are read and `sound_s` heard for one vote: conversation and both replies.

    >>> minutes(60, words=238)
    64
    """
    return max(1, math.ceil(votes * (words / READING_WORDS_PER_S + sound_s + DECIDING_S) / 60))
