"""A run on disk: one folder, one SQLite file, one sub-folder per session.

The rule is *write, fsync, rename, then commit the row*: a session exists when its row does, and its files were safe on
disk before. A killed run therefore never contains half a session that seems complete, and everything after the call (timing,
transcription, judging, ranking, reporting, listening) can run again, alone, on the stored data.

SQLite is used with `synchronous=FULL`, because a session costs a minute to play and a millisecond to flush.
"""

import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from pydantic_core import from_json

from harness.agents.secrets import redact, redact_foreign
from harness.errors import UserError
from harness.files import own_folder, own_tree
from harness.recording import files as recording_files
from harness.recording.machine_track import MachineTrack, load_machine_track
from harness.recording.record import Recording
from harness.recording.sitting import Sitting, load_sitting, same_take
from harness.scenarios.context import Context, Reference
from harness.servers.samples import SERVERS_FILE
from harness.store.database import (
    DAMAGE,
    DATABASE,
    SESSIONS,
    damaged,
    insert_contexts,
    is_locked,
    locked,
    new_run,
    open_database,
    remove_replies,
    sessions_without_files,
)
from harness.store.disk import flush, flush_tree
from harness.store.judgment import JudgeCheck, Judgment
from harness.store.manifest import RunManifest, read_manifest, with_budgets
from harness.store.migrations import JUDGED_ACROSS_CONDITIONS, Note
from harness.store.old_load import is_old_load
from harness.store.session import TIMING, TIMINGS, WORDS, Session, SessionKey, UnrecordedCall, insert_calls, session_of
from harness.store.step_failure import StepFailure
from harness.timing.figures import TurnTiming

TELEMETRY_FILE: Final = "telemetry.jsonl"
_P = ParamSpec("_P")
_T = TypeVar("_T")


def _reads(method: "Callable[Concatenate[RunStore, _P], _T]") -> "Callable[Concatenate[RunStore, _P], _T]":
    """A reading method that reports data which cannot be read back as written as damage."""

    @wraps(method)
    def read(store: "RunStore", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with _naming_damage(store.folder):
            return method(store, *args, **kwargs)

    return read


@contextmanager
def _naming_damage(folder: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        raise damaged(folder, error) from error


class RunStore:
    """The reader and writer of one run's folder. Not thread-safe; one process writes at a time (`lock`)."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._db = connection
        self._other_budgets_ms: tuple[float | None, float | None] | None = None

    @classmethod
    def create(cls, folder: Path, manifest: RunManifest, contexts: Sequence[Context]) -> "RunStore":
        """Start a run in a new or empty folder.

        Raises UserError: the folder is not empty, or cannot be written; StorageError: it cannot be written.
        """
        return cls(folder, new_run(folder, manifest, contexts))

    @classmethod
    def open(cls, folder: Path, *, to_resume: bool = False) -> "RunStore":
        """Open a run that exists, and bring it to today's layout if it is older.

        Args:
            to_resume: sessions whose files are gone count as not played.

        Raises UserError: there is no run in `folder`, it is damaged or of a newer harness, or files of it are gone.
        """
        store = cls(folder, open_database(folder, files_may_be_gone=to_resume))
        if to_resume and store.manifest.load is not None:
            raise UserError(f"{folder}: is a load test, which is not resumed; play it again into another folder")
        if store.manifest.has_people:
            own_tree(folder)
        return store

    def close(self) -> None:
        """Release the database file."""
        self._db.close()

    def discard(self) -> None:
        """Delete the whole run; for a run that was begun but in which nothing was played."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def telemetry_file(self) -> Path:
        """File of the run's samples of the machine, one JSON object per line; absent where nothing was sampled."""
        return self.folder / TELEMETRY_FILE

    @property
    def servers_file(self) -> Path:
        """File of the run's samples of model servers, one JSON object per row; absent where none was read."""
        return self.folder / SERVERS_FILE

    @property
    @_reads
    def manifest(self) -> RunManifest:
        """The manifest: plan, seeds, versions, machine."""
        (text,) = self._db.execute("SELECT json FROM manifest").fetchone()
        manifest = read_manifest(text, self.folder)
        return manifest if self._other_budgets_ms is None else with_budgets(manifest, *self._other_budgets_ms)

    def read_under(self, ttfa_ms: float | None, ttft_ms: float | None) -> None:
        """Count turns against other budgets (None: the run's own) while this run is open; on the disk it keeps its own.

        Raises:
            UserError: a budget under 1 ms.
        """
        with_budgets(self.manifest, ttfa_ms, ttft_ms)
        self._other_budgets_ms = ttfa_ms, ttft_ms

    def set_manifest(self, manifest: RunManifest) -> None:
        """Replace the manifest (after calls: pacing, validity, idle load)."""
        self._write("UPDATE manifest SET json = ?", redact(manifest.model_dump_json()))

    def _write(self, statement: str, *values: object) -> None:
        with self._db:
            self._db.execute(statement, values)

    def add_contexts(self, contexts: Sequence[Context]) -> None:
        """Add conversations to the run: they come after those that it has, in its manifest too."""
        manifest = self.manifest
        have = len(manifest.context_ids)
        grown = manifest.model_copy(update={"context_ids": [*manifest.context_ids, *(c.id for c in contexts)]})
        with self._db:
            insert_contexts(self._db, enumerate(contexts, start=have))
            self._db.execute("UPDATE manifest SET json = ?", (redact(grown.model_dump_json()),))

    @_reads
    def contexts(self) -> tuple[Context, ...]:
        """The contexts of the run, in the order played, with people's replies that were collected for it since."""
        added: dict[str, tuple[Reference, ...]] = {}
        for context, text in self._db.execute("SELECT context, json FROM people_references ORDER BY context, id"):
            added[context] = (*added.get(context, ()), Reference.model_validate_json(text))
        return tuple(
            c.model_copy(update={"references": (*c.references, *added[c.id])}) if c.id in added else c
            for c in self.contexts_as_played()
        )

    def add_people_references(self, references: Iterable[tuple[str, Reference]]) -> None:
        """Store people's replies, by context; one with the same id replaces the earlier."""
        with self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO people_references VALUES (?, ?, ?)",
                [(context, r.id, r.model_dump_json(exclude_defaults=True)) for context, r in references],
            )

    def remove_people_references(self, ids: Collection[str]) -> None:
        """Delete the replies of people who withdrew."""
        with self._db:
            self._db.executemany("DELETE FROM people_references WHERE id = ?", [(reference,) for reference in ids])

    @_reads
    def contexts_as_played(self) -> tuple[Context, ...]:
        """The contexts as the pack had them, with which a resumed run must still agree."""
        rows = self._db.execute("SELECT json FROM contexts ORDER BY position").fetchall()
        return tuple(Context.model_validate_json(text) for (text,) in rows)

    def partial_folder(self, key: SessionKey) -> Path:
        """An empty folder in which a session's files are gathered before it counts."""
        folder = self.folder / SESSIONS / f".partial-{key.session_id}"
        if folder.exists():
            shutil.rmtree(folder)
        return own_folder(folder)

    def drop_partial_folders(self) -> None:
        """Delete the files of sessions that were not finished."""
        for folder in (self.folder / SESSIONS).glob(".partial-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def commit_session(
        self,
        key: SessionKey,
        *,
        partial: Path,
        failure_kind: str | None = None,
        failure_detail: str = "",
        written_text: str | None = None,
        understood_text: str | None = None,
        started_ns: int | None = None,
        timing: TurnTiming | None = None,
        ended: str | None = None,
        planned_turns: int | None = None,
        spoken_turns: int | None = None,
    ) -> Session:
        """Commit a session: flush its files, move them into place, then write its row in one transaction."""
        self._put_in_place(key.session_id, partial)
        with self._db:
            self._put_session(
                {
                    "id": key.session_id,
                    **asdict(key),
                    "status": "failed" if failure_kind else "finished",
                    "failure_kind": failure_kind,
                    "failure_detail": redact_foreign(failure_detail),
                    "written_text": written_text and redact_foreign(written_text),
                    "understood_text": understood_text and redact_foreign(understood_text),
                    "started_ns": started_ns,
                    "ended": ended,
                    "planned_turns": planned_turns,
                    "spoken_turns": spoken_turns,
                    "timing": TIMING.dump_json(timing).decode() if timing else None,
                    "turn_timings": TIMINGS.dump_json((timing,) if timing else ()).decode(),
                }
            )
            self._db.execute("DELETE FROM step_failures WHERE session = ?", (key.session_id,))
        return self.session(key.session_id)

    def _put_in_place(self, session_id: str, partial: Path) -> None:
        """Move a session's files to their place, over those of an earlier try.

        The earlier try is deleted from the database before its files: a kill in between leaves a session to play again, and
        never a row whose files are gone.
        """
        final = self.folder / SESSIONS / session_id
        own_tree(partial)
        flush_tree(partial)
        if final.exists():
            with self._db:
                self._db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
            shutil.rmtree(final)
        partial.rename(final)
        flush(final.parent)

    def adopt(self, other: "RunStore", session: Session, machine: str) -> None:
        """Copy a session of another run, its files first, with the results of later steps.

        One that is here already keeps its files, and its results of those steps are updated. Another take under the same id is
        another session: in the supporter's seat a place becomes free when somebody withdraws.
        """
        final = self.folder / SESSIONS / session.id
        place = "SELECT machine, started_ns FROM sessions WHERE id = ?"
        here = self._db.execute(place, (session.id,)).fetchone()
        known = final.is_dir() and here is not None and tuple(here) == (machine, session.started_ns)
        if not (known and same_take(final, session.folder)):
            partial = self.partial_folder(session.key)
            shutil.copytree(session.folder, partial, dirs_exist_ok=True)
            self._put_in_place(session.id, partial)
        row = {**other._db.execute("SELECT * FROM sessions WHERE id = ?", (session.id,)).fetchone()} | {"machine": machine}
        with self._db:
            self._put_session(row)
            self._db.execute("DELETE FROM step_failures WHERE session = ? AND step != 'judging'", (session.id,))
            failures = other._db.execute(
                "SELECT session, step, kind, detail FROM step_failures WHERE session = ? AND step != 'judging'", (session.id,)
            )
            self._db.executemany("INSERT OR REPLACE INTO step_failures VALUES (?, ?, ?, ?)", failures.fetchall())

    def add_calls(self, calls: Iterable[UnrecordedCall]) -> None:
        """Store the calls of a finished step of a load test, all or none."""
        with self._db:
            insert_calls(self._db, calls)

    def calls_of(self, step: str) -> Iterator[Session]:
        """The calls of one step, one at a time in the order played: a million turns as objects are gigabytes."""
        with _naming_damage(self.folder):
            for row in self._db.execute("SELECT * FROM sessions WHERE step = ? ORDER BY rowid", (step,)):
                yield session_of(row, self.folder)

    def _put_session(self, row: Mapping[str, Any]) -> None:
        columns, places = ", ".join(row), ", ".join("?" * len(row))
        self._db.execute(f"INSERT OR REPLACE INTO sessions ({columns}) VALUES ({places})", tuple(row.values()))

    def set_contexts(self, placed: Iterable[tuple[int, Context]]) -> None:
        """Store these contexts at these positions, for a run that is merged out of order; existing ones stay."""
        with self._db:
            insert_contexts(self._db, placed, or_else="OR IGNORE")

    @_reads
    def sessions(self) -> list[Session]:
        """Every played session, finished or failed, in the order of contexts, then agents."""
        rows = self._db.execute(
            "SELECT s.* FROM sessions s LEFT JOIN contexts c ON c.id = s.context_id"
            " ORDER BY c.position, s.agent, s.mode, s.condition, s.step, s.repeat"
        ).fetchall()
        return [session_of(row, self.folder) for row in rows]

    def session(self, session_id: str) -> Session:
        """One session by id; KeyError if it was not played."""
        row = self._db.execute("SELECT * FROM sessions WHERE id = ?", (session_id,)).fetchone()
        if row is None:
            raise KeyError(session_id)
        return session_of(row, self.folder)

    @_reads
    def finished_ids(self) -> frozenset[str]:
        """Ids of sessions that must never be played again: finished, and their files are there."""
        rows = self._db.execute("SELECT id FROM sessions WHERE status = 'finished'").fetchall()
        return frozenset(row[0] for row in rows) - sessions_without_files(self._db, self.folder)

    def recording(self, session: Session) -> Recording:
        """The raw facts of a session. Raises UserError: its files are missing or damaged."""
        return recording_files.load(session.folder)

    def machine_track(self, session: Session) -> MachineTrack | None:
        """The machine's counters during a session; None where none were stored. Raises UserError: the file is damaged."""
        return load_machine_track(session.folder)

    def sitting(self, session: Session) -> Sitting | None:
        """The sitting in which a session was recorded in the supporter's seat; None for an agent's.

        Raises UserError: the file is damaged.
        """
        return load_sitting(session.folder)

    def remove_replies(self, replies: Collection[tuple[str, str, int]]) -> int:
        """Delete these replies (context, system, repeat), but not their files, and all verdicts on them, and count those."""
        return remove_replies(self._db, replies)

    def set_timing(self, session_id: str, timings: Sequence[TurnTiming]) -> None:
        """Store the figures of a session's turns; the last is that of the judged reply."""
        last, all_of_them = TIMING.dump_json(timings[-1]).decode(), TIMINGS.dump_json(tuple(timings)).decode()
        self._write("UPDATE sessions SET timing = ?, turn_timings = ? WHERE id = ?", last, all_of_them, session_id)

    def set_heard(self, session_id: str, text: str, words: Sequence[tuple[str, float, float]]) -> None:
        """Store the transcript of the agent's audio."""
        spans = WORDS.dump_json(tuple(words)).decode()
        self._write("UPDATE sessions SET heard_text = ?, heard_words = ? WHERE id = ?", text, spans, session_id)

    def set_step_failure(self, failure: StepFailure) -> None:
        """Store that a step after the call failed for a session; a later failure of the same step replaces it."""
        row = (failure.session, failure.step, failure.kind, failure.detail)
        self._write("INSERT OR REPLACE INTO step_failures VALUES (?, ?, ?, ?)", *row)

    def clear_step_failure(self, session_id: str, step: str) -> None:
        """Delete the failure of a step that has succeeded for the session since."""
        self._write("DELETE FROM step_failures WHERE session = ? AND step = ?", session_id, step)

    @_reads
    def step_failures(self) -> list[StepFailure]:
        """Failed steps of sessions, which are no fault of their agents."""
        rows = self._db.execute("SELECT session, step, kind, detail FROM step_failures ORDER BY session, step").fetchall()
        return [StepFailure(*row) for row in rows]

    def replace_judgments(self, judges: Collection[str], rows: Iterable[Judgment], presentation: str, condition: str) -> None:
        """Store verdicts of one board by these judges in one transaction, in place of their earlier ones. Others' stay."""
        with self._db:
            self._db.executemany(
                "DELETE FROM judgments WHERE judge = ? AND json_extract(json, '$.presentation') = ?"
                " AND json_extract(json, '$.condition') = ?",
                [(judge, presentation, condition) for judge in sorted(judges)],
            )
            added = [(row.source, row.judge, row.context, redact(row.model_dump_json())) for row in rows]
            self._db.executemany("INSERT INTO judgments (judge, context, json) VALUES (?, ?, ?)", [row[1:] for row in added])
            if any(source == "judge" for source, *_ in added):
                self._db.execute("DELETE FROM notes WHERE code = ?", (JUDGED_ACROSS_CONDITIONS,))

    @_reads
    def judgments(self) -> list[Judgment]:
        """Every verdict of every judge and rater, in the order given."""
        return [Judgment.model_validate(row) for row in self.stored_judgments()]

    def stored_judgments(self) -> Iterator[dict[str, Any]]:
        """The same verdicts one at a time, as plain objects: of a hundred thousand rows few need to be in memory at once."""
        with _naming_damage(self.folder):
            for (text,) in self._db.execute("SELECT json FROM judgments ORDER BY id"):
                yield from_json(text)

    @_reads
    def judged_contexts(self) -> dict[str, int]:
        """Context → its verdicts that answer the main question, of every judge."""
        main = "SELECT context, COUNT(*) FROM judgments WHERE json_extract(json, '$.purpose') = 'main' GROUP BY context"
        return dict(self._db.execute(main).fetchall())

    def add_judge_check(self, check: JudgeCheck) -> None:
        """Store a judge's check on pairs with known answers; a later check of the same judge replaces it."""
        self._write("INSERT OR REPLACE INTO judge_checks VALUES (?, ?)", check.judge, redact(check.model_dump_json()))

    @_reads
    def judge_checks(self) -> list[JudgeCheck]:
        """One check per judge that has judged this run."""
        rows = self._db.execute("SELECT json FROM judge_checks ORDER BY judge").fetchall()
        return [JudgeCheck.model_validate_json(text) for (text,) in rows]

    def notes(self) -> tuple[Note, ...]:
        """Notes for the user about the run as a whole."""
        return tuple(Note(*row) for row in self._db.execute("SELECT code, text FROM notes ORDER BY rowid"))

    @property
    def being_written(self) -> bool:
        """True while another process plays, judges or otherwise writes this run."""
        return is_locked(self.folder)

    @property
    def changes(self) -> int:
        """A number that is another one after each change by another process."""
        (number,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(number)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the run for writing. Raises UserError: another process has locked it, or it cannot be written."""
        (read_only,) = self._db.execute("PRAGMA query_only").fetchone()
        with locked(self.folder):
            if read_only:
                raise UserError(f"{self.folder}: another process was writing this run when it was opened; try again")
            yield


def is_folder_of_runs(folder: Path) -> bool:
    """True if this is no run, and has one below it."""
    if (folder / DATABASE).exists() or is_old_load(folder):
        return False
    return next(folder.rglob(DATABASE), None) is not None


def is_load(folder: Path) -> bool:
    """True if this is the folder of a load test."""
    if not (folder / DATABASE).exists():
        return is_old_load(folder)
    with closing(RunStore.open(folder)) as store:
        return store.manifest.load is not None
