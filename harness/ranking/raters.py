"""Who the voters are: how many raters the votes are worth, and whether one of them leads.

Votes of one rater share that person's taste, so an interval that is to cover other people rests on raters. One of twelve who
casts four fifths of the votes leaves the worth of fewer than two, (Σn)² / Σn². Under eight effective raters their spread is
itself a guess, and the interval is of these raters' own preference, on other conversations; the sentence says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.statistics.arrays import Ints
from harness.statistics.effective import ENOUGH, effective_number
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.wording import counted

ALONE: Final = 0.7
"""Share of the votes beyond which they are worth about two raters or fewer however many others there are (1 / 0.7²): so much is
one rater's preference. Two raters with 10 and 9 votes are two."""

_FROM_FILES: Final = "votes/"
"""Before the names of raters whose votes came from files (`harness.votes.votes_of_run`)."""


@dataclass(frozen=True, slots=True)
class Raters:
    """The raters of some votes."""

    count: int
    effective: float
    """Raters with equally many votes that would say as much."""
    leader: str
    """The one with most votes; of equals, the first by name."""
    share: float
    """Of all votes, the leader's."""

    @property
    def alone(self) -> str | None:
        """The rater whose votes are nearly all there is; None where others have a part."""
        return self.leader if self.share > ALONE else None

    @property
    def is_sample(self) -> bool:
        """True if the votes can speak for other people, too."""
        return self.effective >= ENOUGH

    @property
    def one_leads(self) -> bool:
        """True if the leader has most of the votes, or leaves too few effective raters."""
        return self.count > 1 and (self.share > 0.5 or (self.count >= FEWEST_CLUSTERS and not self.is_sample))

    @property
    def note(self) -> str:
        """Whose preference an interval is of, or who leads, in a sentence; empty where there is nothing to say."""
        whose = f"{counted(self.count, 'person', 'people')}'s".replace("1 person", "one person")
        lead = f", of whom {shown_name(self.leader)} cast {round(100 * self.share)} %" if self.one_leads else ""
        if not self.is_sample:
            return f"All votes are {whose}{lead}: the intervals cover other conversations, not other people."
        return f"The votes are {whose}{lead}." if lead else ""

    @property
    def in_words(self) -> str:
        """Whose votes they are, with the leader and that rater's share."""
        if self.count == 1:
            return f"one rater, {shown_name(self.leader)}"
        lead = f", of whom {shown_name(self.leader)} cast {round(100 * self.share)} % of the votes" if self.one_leads else ""
        return counted(self.count, "rater") + lead


def shown_name(rater: str) -> str:
    """A rater's name without the folder of the file that it came from."""
    return rater.removeprefix(_FROM_FILES)


def raters_of(rater: Ints, names: Sequence[str]) -> Raters:
    """The raters of some votes. `rater` (votes,): index into `names`.

    >>> raters_of(np.array([0, 0, 0, 1]), ("ida", "ole")).in_words
    '2 raters, of whom ida cast 75 % of the votes'
    """
    codes, sizes = np.unique(rater, return_counts=True)
    lead = int(sizes.argmax())
    return Raters(int(codes.size), effective_number(sizes), names[codes[lead]], float(sizes[lead] / sizes.sum()))
