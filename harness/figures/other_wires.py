"""Agents that were called over another wire than their profile says: what a wire found out in a call, for a reader of the run.

A bot may turn out not to serve the wire that its profile names, and be reachable by another. Its figures are then of that other
wire, and a reader must know. The call itself recorded why.
"""

import contextlib
from typing import Final

from harness.agents.connection import FELL_BACK
from harness.agents.secrets import beginning
from harness.errors import UserError
from harness.recording.files import RECORDING_FILE
from harness.store.selection import Selection
from harness.store.session import Session

MOST_CHARACTERS: Final = 300


def other_wires(selection: Selection) -> dict[str, str]:
    """Agent → why its calls went over another wire. One finished call of each shows it."""
    found: dict[str, str] = {}
    for entry in selection.manifest.played:
        mine = (s for s in selection.sessions if s.key.agent == entry.name and s.status == "finished")
        if (session := next(mine, None)) is not None and (why := _why(selection, session)):
            found[entry.name] = why
    return found


def _why(selection: Selection, session: Session) -> str:
    with contextlib.suppress(OSError, UserError):
        if FELL_BACK in (session.folder / RECORDING_FILE).read_text(encoding="utf-8"):
            marks = selection.store.recording(session).marks
            why = next((str(mark.detail.get("why", "")) for mark in marks if mark.name == FELL_BACK), "")
            return beginning(why, MOST_CHARACTERS)
    return ""
