"""The waits for model servers under each load of a test: which part of a wait grows as more people call.

A part is a mean over the turns that count, because only means of parts sum to the mean of the whole.
"""

from collections.abc import Sequence
from typing import Final

from harness.figures.server_waits import ServerWaits
from harness.figures.server_waits_words import WAITS, mean_ms, waits_notes
from harness.load.result import LoadStep
from harness.wording import UNKNOWN_TEXT

TITLE: Final = "Waits for model servers"
HEAD: Final = (
    "Wait", "Server", "Turns", "Whole", "Queue", "Prefill", "First decode", "Computing", "Idle", "Unexplained",
)  # fmt: skip
"""After the offered load."""
MEANING: Final = (
    "Means over the turns that count, which sum to the whole: queue, computing (prefill and first decode, where the server "
    "tells them apart), idle time that was measured, and what nothing explains. Turns: split, of all that waited."
)
STRETCHES: Final = "stretches of time"


def servers_rows(steps: Sequence[LoadStep]) -> list[tuple[str, ...]]:
    """One row per step and stage under the offered load and `HEAD`; none where no server says anything."""
    return [
        (
            offered,
            WAITS.get(row.stage, row.stage),
            row.server or UNKNOWN_TEXT,
            f"{row.split}/{row.turns}",
            *(
                mean_ms(part)
                for part in (
                    row.wait_ms, row.queue_ms, row.prefill_ms, row.first_decode_ms, row.compute_ms, row.idle_ms,
                    row.unexplained_ms,
                )
            ),
        )
        for offered, rows in _served(steps, "", "")
        for row in rows
    ]  # fmt: skip


def servers_notes(steps: Sequence[LoadStep]) -> tuple[str, ...]:
    """One sentence per step and stage on sources, the server's state, and turns without parts."""
    return waits_notes(_served(steps, " calls/s", " at once"), STRETCHES)


def _served(steps: Sequence[LoadStep], a_second: str, at_once: str) -> list[tuple[str, Sequence[ServerWaits]]]:
    """The offered load, with its unit, and the waits of each step that has some."""
    return [
        (f"{step.offered:g}{at_once if step.rate is None else a_second}", step.figures.servers)
        for step in steps
        if step.says_of_agent and step.figures is not None and step.figures.servers
    ]
