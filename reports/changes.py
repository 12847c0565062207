"""The changes of a run since an earlier one, as the page shows them.

Their words are made where they are computed (`harness.reports.baseline`), since an interval and its verdict belong together.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of one agent against an earlier run, paired by conversation.

    `verdict`: `worse` or `better` if the interval of the difference excludes zero, `unclear` if it contains it or there are
    too few conversations for one.
    """

    agent: str
    figure: str
    before: str
    after: str
    difference: str
    interval: str
    conversations: int
    verdict: Literal["worse", "better", "unclear"]


@dataclass(frozen=True, slots=True)
class BaselineView:
    """The changes since another run.

    `versions`: each agent on both axes, in a sentence. `missing`: reasons why an agent or conversation could not be compared.
    """

    run: str
    changes: tuple[Change, ...]
    missing: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
