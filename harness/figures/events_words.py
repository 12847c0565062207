"""The events of agents as one table of text, the same in the terminal and on the page.

A cell may have a second line: the 95 % interval of the figure in its first.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from harness.figures.events import EventRow
from harness.wording import UNKNOWN_TEXT, counted, milliseconds, share, share_band, with_band

HEAD: Final = (
    "Agent", "Sound", "At", "Asks for", "Stopped", "Right", "Stop after", "Fell silent", "Restarted", "Went on later",
    "Lost words",
)  # fmt: skip
SOUND_WORDS: Final = {"second-voice": "second voice", "nothing": "no sound (control)"}
Named = tuple[str, Sequence[EventRow]]
Rows = tuple[tuple[str, ...], ...]


def event_rows(agents: Iterable[Named]) -> Rows:
    """One row per agent, sound and instant, under `HEAD`."""
    return tuple(
        (
            name,
            SOUND_WORDS.get(row.sound, row.sound),
            milliseconds(row.at_ms),
            "a stop" if row.asks == "stop" else "nothing",
            with_band(f"{row.stopped}/{row.of} {share(row.share)}" if row.of else UNKNOWN_TEXT, share_band(row.interval)),
            _right(row),
            milliseconds(row.stop_ms),
            str(row.fell_silent),
            str(row.restarted),
            str(row.went_on_later),
            _lost(row),
        )
        for name, rows in agents
        for row in rows
    )


def event_notes(agents: Iterable[Named]) -> tuple[str, ...]:
    """Events that are in no share, one sentence per agent, sound and instant."""
    notes = []
    for name, rows in agents:
        for row in rows:
            parts = [
                (row.no_occasion, "the reply was over, or there was none, before the instant"),
                (row.ended, "the reply came to its end there"),
                (row.not_sounding, "the agent was silent at that moment"),
                (row.left_out, "left out of every heard figure"),
            ]
            if said := "; ".join(f"{counted(n, 'call')}: {words}" for n, words in parts if n):
                notes.append(f"{name}: {row.source}, {row.sound} at {row.at_ms:g} ms: {said}.")
    return tuple(notes)


def _right(row: EventRow) -> str:
    if not row.of:
        return UNKNOWN_TEXT
    return share(row.share) if row.asks == "stop" else share(1 - (row.share or 0.0))


def _lost(row: EventRow) -> str:
    if row.lost_words is None:
        return UNKNOWN_TEXT
    return with_band(f"{row.lost_words[0]}/{row.lost_words[1]}", share_band(row.lost_words_interval))
