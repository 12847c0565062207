"""What a connection found out of an agent in its calls, for a reader of the run: another wire, and sound that was not meant so.

A bot may turn out not to serve the wire that its profile names, and be reachable by another: its figures are then of that other
wire. It may send two channels as one, which are heard at half speed. A reader must know both; the call itself recorded them.
"""

import contextlib
from typing import Final

from harness.agents.connection import FELL_BACK, ODD_SOUND
from harness.agents.secrets import beginning
from harness.errors import UserError
from harness.recording.files import RECORDING_FILE
from harness.store.selection import Selection
from harness.store.session import Session

MOST_CHARACTERS: Final = 300


def other_wires(selection: Selection) -> dict[str, str]:
    """Agent → why its calls went over another wire. One finished call of each shows it."""
    return _noted(selection, FELL_BACK)


def odd_sound(selection: Selection) -> dict[str, str]:
    """Agent → why its sound cannot be meant as it was sent. One finished call of each shows it."""
    return _noted(selection, ODD_SOUND)


def _noted(selection: Selection, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in selection.manifest.played:
        mine = (s for s in selection.sessions if s.key.agent == entry.name and s.status == "finished")
        if (session := next(mine, None)) is not None and (why := _why(selection, session, name)):
            found[entry.name] = why
    return found


def _why(selection: Selection, session: Session, name: str) -> str:
    with contextlib.suppress(OSError, UserError):
        if name in (session.folder / RECORDING_FILE).read_text(encoding="utf-8"):
            marks = selection.store.recording(session).marks
            why = next((str(mark.detail.get("why", "")) for mark in marks if mark.name == name), "")
            return beginning(why, MOST_CHARACTERS)
    return ""
