"""A played session as the store gives it: its key, how it ended, and the results of later steps; and calls of a load test,
rows without files, because their sound is removed once it is measured.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter

from harness.agents.secrets import redact_foreign
from harness.store.paths import plain_name
from harness.timing.figures import TurnTiming

TIMING = TypeAdapter(TurnTiming)
TIMINGS = TypeAdapter(tuple[TurnTiming, ...])
WORDS = TypeAdapter(tuple[tuple[str, float, float], ...])
"""Readers and writers of figures and words in a session's row."""
_AS_STORED: Final = (
    "id", "status", "failure_kind", "failure_detail", "written_text", "understood_text", "heard_text", "started_ns",
    "ended", "planned_turns", "spoken_turns", "due_ns", "begun_ns",
)  # fmt: skip
"""Fields of a session that are columns of its row."""


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The identity of a session; `--resume` refuses when a hash changed."""

    context_id: str
    context_hash: str
    agent: str
    profile_hash: str
    mode: str
    condition: str
    repeat: int
    step: str = ""
    """The step of a load test; empty in every other run."""

    @property
    def session_id(self) -> str:
        """A name that can be a folder's, unique within a run."""
        step = (plain_name(self.step),) if self.step else ()
        return "__".join((self.context_id, self.agent, self.mode, plain_name(self.condition), *step, f"r{self.repeat}"))


@dataclass(frozen=True, slots=True)
class Session:
    """One played session, with what later steps have added to it (None where they have not run)."""

    id: str
    key: SessionKey
    status: Literal["finished", "failed"]
    failure_kind: str | None
    failure_detail: str
    written_text: str | None
    """The reply as the agent's language model wrote it, where the agent reports it."""
    understood_text: str | None
    """The seeker's turn as the agent's recogniser understood it, where reported."""
    heard_text: str | None
    """The reply as transcribed from the audio."""
    heard_words: tuple[tuple[str, float, float], ...] | None
    """(word, start_s, end_s) on the recording's timeline."""
    timing: TurnTiming | None
    """Figures of the judged reply, the last one."""
    turn_timings: tuple[TurnTiming, ...]
    """Figures of every caller turn, in order; one in seeded mode."""
    started_ns: int | None
    """Start on the machine's monotonic clock, as in recordings and telemetry."""
    folder: Path
    ended: str | None = None
    """Reason why the call ended (`Recording.ended`)."""
    planned_turns: int | None = None
    """Number of turns that the caller meant to speak; None where nobody planned, and in a run that did not store it."""
    spoken_turns: int | None = None
    """Number of those that it began."""
    due_ns: int | None = None
    """When the schedule of a load test wanted the call to begin; None elsewhere, and in a closed loop."""
    begun_ns: int | None = None
    """When its caller began to dial; None where that was not stored."""
    machine: str = ""
    """In a merged run, the id of the machine that played it; empty: the one that the manifest describes."""


def session_of(row: sqlite3.Row, run: Path) -> Session:
    """The session in a row of the run in this folder.

    Raises the errors of a damaged row (`harness.store.database.DAMAGE`).
    """
    return Session(
        key=SessionKey(**{each.name: row[each.name] for each in fields(SessionKey)}),
        **{name: row[name] for name in _AS_STORED},
        heard_words=WORDS.validate_json(row["heard_words"]) if row["heard_words"] else None,
        timing=TIMING.validate_json(row["timing"]) if row["timing"] else None,
        turn_timings=TIMINGS.validate_json(row["turn_timings"]) if row["turn_timings"] else (),
        folder=run / "sessions" / row["id"],
        machine=row["machine"] or "",
    )


@dataclass(frozen=True, slots=True)
class UnrecordedCall:
    """One call with its turns; one that failed has a turn if it counts against the agent. Instants are monotonic."""

    key: SessionKey
    started_ns: int
    """The caller's first sample; of a failed call, when it began."""
    turn_timings: tuple[TurnTiming, ...]
    failure_kind: str | None = None
    failure_detail: str = ""
    due_ns: int | None = None
    begun_ns: int | None = None
    ended: str | None = None
    planned_turns: int | None = None
    spoken_turns: int | None = None


def insert_calls(database: sqlite3.Connection, calls: Iterable[UnrecordedCall]) -> None:
    """Store these calls; figures that a turn does not have take no room."""
    columns = (
        *(each.name for each in fields(SessionKey)), "id", "status", "failure_kind", "failure_detail", "started_ns", "due_ns",
        "begun_ns", "ended", "planned_turns", "spoken_turns", "turn_timings",
    )  # fmt: skip
    rows = (
        (
            *asdict(c.key).values(), c.key.session_id, "failed" if c.failure_kind else "finished", c.failure_kind,
            redact_foreign(c.failure_detail), c.started_ns, c.due_ns, c.begun_ns, c.ended, c.planned_turns, c.spoken_turns,
            TIMINGS.dump_json(c.turn_timings, exclude_defaults=True).decode(),
        )
        for c in calls
    )  # fmt: skip
    places = ", ".join("?" * len(columns))
    database.executemany(f"INSERT OR REPLACE INTO sessions ({', '.join(columns)}) VALUES ({places})", rows)
