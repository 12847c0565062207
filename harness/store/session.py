"""A played session as the store gives it: what makes it this one, how it ended, and what later steps have said of it.

Apart from the store, because everything after the call reads sessions and few things write them.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from harness.store.paths import plain_name
from harness.timing.figures import TurnTiming

TIMING = TypeAdapter(TurnTiming)
TIMINGS = TypeAdapter(tuple[TurnTiming, ...])
WORDS = TypeAdapter(tuple[tuple[str, float, float], ...])
"""How figures and words stand in a session's row."""


@dataclass(frozen=True, slots=True)
class SessionKey:
    """What makes a session this one and no other; `--resume` refuses when a hash changed."""

    context_id: str
    context_hash: str
    agent: str
    profile_hash: str
    mode: str
    condition: str
    repeat: int

    @property
    def session_id(self) -> str:
        """A name fit for a folder, unique within a run."""
        return "__".join((self.context_id, self.agent, self.mode, plain_name(self.condition), f"r{self.repeat}"))


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
    """Of the reply that is judged: the last."""
    turn_timings: tuple[TurnTiming, ...]
    """Of every caller turn, in order; one in seeded mode."""
    started_ns: int | None
    """On the machine's monotonic clock, as recordings and telemetry are."""
    folder: Path
    machine: str = ""
    """Of a merged run, the id of the machine that played it; empty: the one that the manifest describes."""


def session_of(row: sqlite3.Row, run: Path) -> Session:
    """The session that a row of the run in this folder holds.

    Raises what a damaged row raises (`harness.store.database.DAMAGE`).
    """
    key = SessionKey(
        row["context_id"],
        row["context_hash"],
        row["agent"],
        row["profile_hash"],
        row["mode"],
        row["condition"],
        row["repeat"],
    )
    return Session(
        id=row["id"],
        key=key,
        status=row["status"],
        failure_kind=row["failure_kind"],
        failure_detail=row["failure_detail"],
        written_text=row["written_text"],
        understood_text=row["understood_text"],
        heard_text=row["heard_text"],
        heard_words=WORDS.validate_json(row["heard_words"]) if row["heard_words"] else None,
        timing=TIMING.validate_json(row["timing"]) if row["timing"] else None,
        turn_timings=TIMINGS.validate_json(row["turn_timings"]) if row["turn_timings"] else (),
        started_ns=row["started_ns"],
        folder=run / "sessions" / row["id"],
        machine=row["machine"] or "",
    )
