"""From log odds to the strength that a judge states: one scale for all judges that know their odds."""

from typing import Final, Literal

STRENGTH_STEPS: Final = (0.8, 1.7, 2.6, 4.0)
"""Log odds at which the strength rises from 1 to 5: even odds or little more, 69 %, 85 %, 93 % and 98 %."""
AXIS_IS_CLEAR_FROM: Final = 1.7
"""Log odds from which an axis has a winner: 85 %, were the odds calibrated."""


def strength_of(difference: float) -> Literal[1, 2, 3, 4, 5]:
    """The strength of a difference in log odds, of either sign."""
    return 1 + sum(abs(difference) >= step for step in STRENGTH_STEPS)  # type: ignore[return-value]
