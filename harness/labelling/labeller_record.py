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
    """F1 of a labeller against a program's labels: the mean over strategies that either side marks, and each."""

    macro_f1: float | None
    replies: int
    by_strategy: Mapping[str, float | None]


_ROWS: Final = TypeAdapter(dict[str, MeasuredLabeller])


def measured_labellers() -> dict[str, MeasuredLabeller]:
    """All measured labellers, by name with version."""
    return _ROWS.validate_json(RECORD.read_bytes())


def measured_in_words(labeller: str) -> str | None:
    """The figure of a labeller with its yardstick; None for a labeller that was not measured."""
    found = measured_labellers().get(labeller)
    if found is None or found.macro_f1 is None:
        return None
    return f"macro-F1 {found.macro_f1:.2f} against a program's labels, {found.replies} replies"


def write_measured(labeller: str, figures: MeasuredLabeller) -> None:
    """Store a labeller's figures in place of earlier ones, in a checkout of the project."""
    rows = {**measured_labellers(), labeller: figures}
    RECORD.write_bytes(_ROWS.dump_json(dict(sorted(rows.items())), indent=1) + b"\n")
