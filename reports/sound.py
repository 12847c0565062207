"""The sound files of all sessions, made before their page; a failure is listed, stored, and costs only one player.

The page lists every failure of a step, also of this one, so the drawing comes first and the summary for the page is
made after it. For a run on read-only media failures are reported too, but not stored.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from harness.errors import StorageError
from harness.recording import files as recording_files
from harness.reports import session_audio as drawing
from harness.reports.shown_runs import Part, ShownRuns
from harness.scenarios.context import Context
from harness.store.disk import storage_fault
from harness.store.run_store import RunStore
from harness.store.session import Session
from harness.store.step_failure import StepFailure, attempt
from harness.verdicts.conversations import conversation_of


def sound_file(page_runs: ShownRuns, part: Part, session: Session, page_folder: Path) -> Path:
    """The path of a session's sound beside its page."""
    folder = page_folder / "report-audio"
    if page_runs.several:
        folder /= part.label.replace("/", "__")
    return folder / f"{session.id}.flac"


def draw_sessions(page_runs: ShownRuns, page_folder: Path) -> dict[str, tuple[StepFailure, ...]]:
    """Draw the sessions that are not drawn yet; returns run → the failures, which its store has too.

    Raises:
        OSError: the sound cannot be written.
    """
    contexts = {context.id: context for context in page_runs.contexts}
    found: dict[str, tuple[StepFailure, ...]] = {}
    for part in page_runs.parts:
        tried = [
            attempt(s.id, "drawing", partial(_draw, s, contexts, sound_file(page_runs, part, s, page_folder)))
            for s in part.sessions
        ]
        found[part.label] = tuple(failure for failure in tried if isinstance(failure, StepFailure))
        _keep(part.store, found[part.label])
    return found


def _draw(session: Session, contexts: Mapping[str, Context], file: Path) -> None:
    if drawing.drawn_before(file) is None and (session.folder / "recording.json").exists():
        drawing.draw(recording_files.load(session.folder), file)
    conversation_of(session, contexts[session.key.context_id])


def _keep(store: RunStore, found: Sequence[StepFailure]) -> None:
    earlier = [failure for failure in store.step_failures() if failure.step == "drawing"]
    if set(found) == set(earlier):
        return
    try:
        for failure in earlier:
            store.clear_step_failure(failure.session, "drawing")
        for failure in found:
            store.set_step_failure(failure)
    except (sqlite3.OperationalError, StorageError) as error:
        if storage_fault(error) is None:
            raise
