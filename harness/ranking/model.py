"""The rating model: all settings that a rating depends on, in one value.

A run's board, its subsets, its people, the axes, the draws behind P(frontier) and the page must rate alike, or the same
verdicts give one agent two ratings. So no setting that a rating depends on is a separate argument: it is here, and every
rating gets the whole. The ordinal fit is the primary one; the strength-weighted fit is the paper's; Rao and Kupper's is the
classical model with ties.

The length term is off unless lengths are given. Why the quoted rating has none: docs/decisions/ranking-length-term.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from harness.errors import UserError
from harness.ranking.board_rows import weighted
from harness.ranking.columns import CountedBoard, count
from harness.ranking.verdicts import Lengths
from harness.store.judgment_table import JudgmentTable

Method = Literal["ordinal", "strength", "plain", "rao-kupper"]
_TITLES: Mapping[Method, str] = {
    "ordinal": "ordinal Bradley–Terry (cumulative logit)",
    "strength": "Bradley–Terry weighted by strength (the paper's)",
    "plain": "Bradley–Terry, a tie half a win",
    "rao-kupper": "Rao–Kupper (ties)",
}
_TERM_WORDS = {"position": "position of each judge", "length": "length of the replies"}


@dataclass(frozen=True, slots=True)
class RatingModel:
    """The settings of a rating. `axis_weights`: verdicts are made anew from the axis marks. `lengths` (words of each reply):
    the ordinal fit has a length term, and rates replies as if they were of equal length. Raises UserError: no such method.

    >>> RatingModel("plain").title(())
    'Bradley–Terry, a tie half a win'
    """

    method: Method = "ordinal"
    axis_weights: Mapping[str, float] | None = None
    lengths: Lengths | None = None

    def __post_init__(self) -> None:
        if self.method not in _TITLES:
            raise UserError(f"rating method {self.method}: unknown; choose one of {', '.join(_TITLES)}")

    def counted(self, rows: JudgmentTable) -> CountedBoard:
        """Rows in the form that every model of the same axis weights reads.

        Raises UserError: no rows, one that sets a system against itself, or bad axis weights.
        """
        rows = rows if self.axis_weights is None else weighted(rows, self.axis_weights)
        return count(rows, self.lengths if self.method == "ordinal" else None)

    def title(self, terms: Iterable[str]) -> str:
        """The method with the further terms of a fit: it must be shown wherever its Elo is shown."""
        kinds = {name.split(":")[0] for name in terms}
        words = [text for kind, text in _TERM_WORDS.items() if kind in kinds]
        return _TITLES[self.method] + (f" with terms for the {' and the '.join(words)}" if words else "")


PRIMARY = RatingModel()
"""The model of quoted ratings, where no other was asked for."""
