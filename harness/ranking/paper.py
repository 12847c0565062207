"""The figures that the HEART paper prints for its systems, for comparison with one's own.

They are typed from the paper's figure 4, its table 1 and its text; the source is stated in the file. Latencies there are from a
public index of text interfaces, so they are TTFT of replies that were not judged: never mix them into a joint figure.
"""

import json
from dataclasses import dataclass
from importlib import resources

from harness.store.judgment import AXES


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """One system. Shares in percent, as printed; None where the paper prints nothing."""

    system: str
    axes: dict[str, float]
    win_rate: float
    elo: float
    aa_index: float | None
    ttft_ms: float | None


def printed_table() -> tuple[PrintedRow, ...]:
    """The 18 rows, best first."""
    text = resources.files("harness.ranking").joinpath("paper_table.json").read_text(encoding="utf-8")
    table = json.loads(text)
    found = []
    for cells in table["rows"]:
        row = dict(zip(table["columns"], cells, strict=True))
        axes = {axis: float(row[axis]) for axis in AXES}
        found.append(PrintedRow(row["system"], axes, row["win_rate"], row["elo"], row["aa_index"], row["ttft_ms"]))
    return tuple(found)
