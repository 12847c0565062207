"""Conversations of a run for its supporters: what was said before, and the caller as every agent heard them.

The caller's sound is read from a played session and not rendered again, so that people and agents hear the same samples.
"""

from collections.abc import Mapping
from functools import cached_property

from harness.errors import UserError
from harness.people.supporter.into_run import CONDITION, refuse_run
from harness.recording.files import RECORDING_FILE
from harness.recording.from_seat import CallerSound, caller_sound
from harness.scenarios.context import Context
from harness.scenarios.screens import fit_for_people
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.store.session import Session


class Conversations:
    """The conversations of a run that people can answer."""

    def __init__(self, store: RunStore) -> None:
        """Raises UserError if the run has none."""
        refuse_run(store)
        self._store = store
        played = [context for context in store.contexts() if context.id in self._sessions]
        self.contexts: Mapping[str, Context] = {c.id: c for c in fit_for_people(played)}
        if not played:
            raise UserError(f"{store.folder}: has no finished call over a clean line; play the run first")
        if not self.contexts:
            raise UserError(f"{store.folder}: the screens find a crisis in every conversation, so none is played to people")

    @cached_property
    def _sessions(self) -> dict[str, Session]:
        """Context → a finished session whose caller is heard by people."""
        found: dict[str, Session] = {}
        selection = Selection(self._store)
        for session in (s for agent in self._store.manifest.played for s in selection.of(agent.name, CONDITION)):
            if session.status == "finished" and (session.folder / RECORDING_FILE).exists():
                found.setdefault(session.key.context_id, session)
        return found

    def history(self, context: str) -> list[tuple[str, str]]:
        """(role, words) of everything before the spoken turn."""
        return [(turn.role, turn.plain) for turn in self.contexts[context].turns[:-1]]

    def caller(self, context: str) -> CallerSound:
        """The caller's turn of a conversation at 48 kHz.

        Raises:
            UserError: the session's files are missing or damaged.
        """
        return caller_sound(self._store.recording(self._sessions[context]).caller)
