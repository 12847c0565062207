"""Conversations of a run for its supporters: what was said before, and the caller as every agent heard them.

The caller's sound is read from a played session and not rendered again, so that people and agents hear the same samples. Only runs in
seeded mode can be answered: in a replay every agent has had another conversation by the last turn.
"""

from collections.abc import Mapping
from functools import cached_property

from harness.audio.conditions import CLEAN
from harness.errors import UserError
from harness.recording.from_seat import CallerSound, caller_sound
from harness.scenarios.context import Context
from harness.store.run_store import RunStore
from harness.store.session import Session


class Conversations:
    """The conversations of a run that people can answer."""

    def __init__(self, store: RunStore) -> None:
        """Raises UserError if the run has none."""
        manifest = store.manifest
        if manifest.mode == "replay":
            raise UserError(
                f"{store.folder}: is a replay, in which every agent has a different conversation; people answer runs in seeded mode"
            )
        if CLEAN not in manifest.conditions:
            raise UserError(
                f"{store.folder}: was played over {', '.join(manifest.conditions)} alone; people hear callers over a clean line, "
                "so play the run with --condition clean too"
            )
        self._store = store
        self.contexts: Mapping[str, Context] = {c.id: c for c in store.contexts() if c.id in self._sessions}
        if not self.contexts:
            raise UserError(f"{store.folder}: has no finished call over a clean line; play the run first")

    @cached_property
    def _sessions(self) -> dict[str, Session]:
        """Context → a finished session whose caller is heard by people."""
        played = [
            s for s in self._store.sessions()
            if s.status == "finished" and s.key.condition == CLEAN and s.key.mode == "seeded"
            and (s.folder / "caller_played.flac").exists()
        ]  # fmt: skip
        return {s.key.context_id: s for s in reversed(played)}

    def history(self, context: str) -> list[tuple[str, str]]:
        """(role, words) of everything before the spoken turn."""
        return [(turn.role, turn.plain) for turn in self.contexts[context].turns[:-1]]

    def caller(self, context: str) -> CallerSound:
        """The caller's turn of a conversation at 48 kHz.

        Raises:
            UserError: the session's files are missing or damaged.
        """
        return caller_sound(self._store.recording(self._sessions[context]).caller)
