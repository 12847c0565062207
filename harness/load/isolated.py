"""The load at which a cascade's stages are played alone and together, and what that showed.

Interference is a matter of load: of one caller no two stages work at once, unless the agent speculates, and beyond the limit
everything waits for everything. So it is measured where an operator would run the agent: at the knee, or the most that it
serves within all bounds.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from harness.figures.interference import ORDER, Configuration, Interference

if TYPE_CHECKING:
    from harness.load.ceiling import LoadResult

ONLY: Final = "the only step"
KNEE: Final = "the knee"
HIGHEST: Final = "the highest load within every bound"
LOWEST: Final = "the lowest load, because no step was within every bound"


@dataclass(frozen=True, slots=True)
class Play:
    """One play of a configuration. `left_out`: why it says nothing about the agent; empty where it does."""

    computing: Configuration
    calls: int
    failed: int
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Isolated:
    """Who slows whom at one load: callers at once, or calls a second in an open loop."""

    offered: float
    why: str
    """The reason for this load, in words."""
    plays: tuple[Play, ...]
    matrix: Interference

    @property
    def missing(self) -> int:
        """Plays that an interrupted test did not come to."""
        return len(ORDER) - len(self.plays)

    def to_json(self) -> dict[str, Any]:
        """The object `isolated` of `load.json`."""
        return {
            "offered": self.offered,
            "why": self.why,
            "plays": [asdict(play) for play in self.plays],
            "missing": self.missing,
            **self.matrix.to_json(),
        }


def load_to_isolate(result: "LoadResult") -> tuple[float, str]:
    """The offered load at which stages are isolated, and the reason for it."""
    offered: Sequence[float] = [step.offered for step in result.steps]
    if len(offered) == 1:
        return offered[0], ONLY
    bend = result.knee
    if bend is not None and 0 < bend.rate < np.inf:
        return bend.rate, KNEE
    if result.ceiling is not None:
        return result.ceiling, HIGHEST
    return min(offered), LOWEST
