"""The gate on the page: its verdict and its table come first, and the page's own answers use its limits.

A green gate that links a page in red letters is believed by nobody. So where a gate has a limit on the figure behind an answer,
the answer is against that limit, and it is the gate's: *unclear* where the gate cannot tell. A check that read another state of
the run (more was played, or more people voted) is shown with a word on that, and decides no answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.gate.decide import Verdict
from harness.gate.stored import StoredLimit

Side = Literal["within", "outside", "unclear"]
_ORDER: Final = {"fail": 0, "cannot tell": 1}
_SIDES: Final[dict[str, Side]] = {"pass": "within", "fail": "outside"}


@dataclass(frozen=True, slots=True)
class ShownGate:
    """The last check of one run. `label` is the run's; empty on a page of one run. Agents have their names on the page."""

    label: str
    verdict: Verdict
    checked: str
    """The time of the check, ISO 8601."""
    sentences: tuple[str, ...]
    limits: tuple[StoredLimit, ...]
    is_of_now: bool
    """False if sessions or verdicts came since, or went."""

    @property
    def gravest_first(self) -> tuple[StoredLimit, ...]:
        """The limits: those that fail, those that are open, and the others, each in the order of the file."""
        return tuple(sorted(self.limits, key=lambda limit: _ORDER.get(limit.verdict, len(_ORDER))))


def limit_of(shown: Sequence[ShownGate], agent: str, figure: str) -> StoredLimit | None:
    """The gate's upper limit on a figure of an agent's whole cell; None if no check of the run as it is now has one."""
    found = (limit for gate in shown if gate.is_of_now for limit in gate.limits)
    named = ("at_most", "all", agent, figure)
    return next((one for one in found if (one.comparison, one.subset, one.agent, one.figure) == named), None)


def side_of(limit: StoredLimit) -> Side | None:
    """The side of its limit on which the gate finds a figure; None where its interval does not say, and the figure passes."""
    return None if limit.by_figure else _SIDES.get(limit.verdict, "unclear")
