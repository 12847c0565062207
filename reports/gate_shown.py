"""The gate on the page: its verdict and its table come first, and the page's own answers use its limits.

A green gate that links a page in red letters is believed by nobody. So where a gate has a limit on the figure behind an answer,
the answer is against that limit, and it is the gate's: *unclear* where the gate cannot tell. A check that read another state of
the run (more was played, or more people voted) is shown with a word on that, and decides no answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.gate.stored import StoredLimit
from harness.gate.words import SIGNS

Side = Literal["within", "outside", "unclear"]
_SIDES: Final[dict[str, Side]] = {"pass": "within", "fail": "outside"}


@dataclass(frozen=True, slots=True)
class ShownGate:
    """The last check of one run. `label` is the run's; empty on a page of one run. Agents have their names on the page."""

    label: str
    sign: str
    """The verdict with its mark, as on the terminal."""
    checked: str
    """The time of the check, ISO 8601."""
    sentences: tuple[str, ...]
    limits: tuple[StoredLimit, ...]
    is_of_now: bool
    """False if sessions or verdicts came since, or went."""

    def sign_of(self, limit: StoredLimit) -> str:
        """The verdict on one limit with its mark."""
        return SIGNS[limit.verdict]


def limit_of(shown: Sequence[ShownGate], agent: str, figure: str) -> StoredLimit | None:
    """The gate's upper limit on a figure of an agent's whole cell; None if no check of the run as it is now has one."""
    found = (limit for gate in shown if gate.is_of_now for limit in gate.limits)
    named = ("at_most", "all", agent, figure)
    return next((one for one in found if (one.comparison, one.subset, one.agent, one.figure) == named), None)


def side_of(limit: StoredLimit) -> Side | None:
    """The side of its limit on which the gate finds a figure; None where its interval does not say, and the figure passes."""
    return None if limit.by_figure else _SIDES.get(limit.verdict, "unclear")
