"""Figures of labellers that were measured on the strategy set, so that shares of strategies come with their labeller's worth.

The set's labels are a program's, and every sentence made here says so: agreement with them is a reason to doubt a labeller, and
no substitute for two people's sheets. A labeller that is not in the record was never measured; nothing is guessed for it from a
relative's figures.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

RECORD: Final = Path(__file__).parent / "labellers.json"


@dataclass(frozen=True, slots=True)
class MeasuredLabeller:
    """F1 of a labeller against a program's labels: the mean over strategies that either side marks, and each. `everything` is
    that of marking every strategy on every reply, `gain` the interval of the difference to it; intervals are over replies."""

    macro_f1: float | None
    replies: int
    by_strategy: Mapping[str, float | None]
    interval: tuple[float, float] | None = None
    everything: float | None = None
    gain: tuple[float, float] | None = None

    @property
    def is_better_than_everything(self) -> bool:
        """True if the whole interval of the difference is above 0."""
        return self.gain is not None and self.gain[0] > 0


_ROWS: Final = TypeAdapter(dict[str, MeasuredLabeller])


def measured_labellers() -> dict[str, MeasuredLabeller]:
    """All measured labellers, by name with version."""
    return _ROWS.validate_json(RECORD.read_bytes())


def measured_in_words(labeller: str) -> str | None:
    """The figure of a labeller with its yardstick, and a warning if it is no better than a rule without any reading; None for a
    labeller that was not measured."""
    found = measured_labellers().get(labeller)
    if found is None or found.macro_f1 is None:
        return None
    interval = "" if found.interval is None else f" [{found.interval[0]:.2f}, {found.interval[1]:.2f}]"
    words = f"macro-F1 {found.macro_f1:.2f}{interval} against a program's labels, {found.replies} replies"
    if found.everything is None:
        return words
    if found.is_better_than_everything:
        return f"{words} (marking everything: {found.everything:.2f})"
    return f"{words}: not shown to be better than marking everything ({found.everything:.2f}), so these shares say little"


def write_measured(labeller: str, figures: MeasuredLabeller) -> None:
    """Store a labeller's figures in place of earlier ones, in a checkout of the project."""
    rows = {**measured_labellers(), labeller: figures}
    RECORD.write_bytes(_ROWS.dump_json(dict(sorted(rows.items())), indent=1) + b"\n")
