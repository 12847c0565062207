"""Store of answers already paid for, by a key of everything that could change them, and the one way to ask a judge.

The key is a hash of the judge's fingerprint (identity, version, prompt, rubric, parameters), the conversation, both
replies *in the order shown* (and their sounds, for a judge that hears), the draw (so that a repeat is really asked again), and
the purpose of the question: a check and a canary are separate questions. Failures are not stored, so that a later run may
succeed.

Checks, canaries and the pairs themselves all pass through `ask`: it never asks a question whose answer is stored, stores each
answer as it arrives, and names each failure. So a run killed at any moment of its judging asks again only the questions still
open: an answer costs money, and one that was received is never paid for twice.
"""

import asyncio
import hashlib
import json
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import closing
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.files import own_file
from harness.judging.judge import Judge, JudgeFailure, Question, Verdict
from harness.store.step_failure import one_line

_VERDICT = TypeAdapter(Verdict)
_P = ParamSpec("_P")
_T = TypeVar("_T")
_A = TypeVar("_A")


class VerdictCache:
    """A SQLite file of verdicts, or memory when no path is given. Used from one thread."""

    def __init__(self, path: Path | None = None) -> None:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            own_file(path)
        self._db = sqlite3.connect(path if path is not None else ":memory:", timeout=10)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, json BLOB NOT NULL)")
        self._db.commit()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def get(self, key: str) -> Verdict | None:
        """The stored verdict, or None; an entry that cannot be read any more counts as none."""
        row = self._db.execute("SELECT json FROM verdicts WHERE key = ?", (key,)).fetchone()
        try:
            return _VERDICT.validate_json(row[0]) if row else None
        except ValidationError:
            return None

    def keys(self) -> frozenset[str]:
        """The keys of all stored verdicts."""
        return frozenset(key for (key,) in self._db.execute("SELECT key FROM verdicts"))

    def take_in(self, other: Path) -> int:
        """Add the verdicts of another file; those already here stay. Returns how many were added.

        Raises sqlite3.DatabaseError: the file is damaged.
        """
        with closing(sqlite3.connect(f"{other.resolve().as_uri()}?mode=ro", uri=True)) as there:
            return self.add_rows(there.execute("SELECT key, json FROM verdicts").fetchall())

    def rows(self, without: Collection[str] = ()) -> list[tuple[str, bytes]]:
        """Stored verdicts as (key, JSON), without those that have these keys."""
        return [row for row in self._db.execute("SELECT key, json FROM verdicts ORDER BY key") if row[0] not in without]

    def add_rows(self, rows: Sequence[tuple[str, bytes]]) -> int:
        """Add such rows; those already here stay. Returns how many were added."""
        before = self._db.total_changes
        with self._db:
            self._db.executemany("INSERT OR IGNORE INTO verdicts VALUES (?, ?)", rows)
        return self._db.total_changes - before

    def put(self, key: str, verdict: Verdict) -> None:
        """Store one verdict, at once."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?)", (key, _VERDICT.dump_json(verdict)))


def keys_of(path: Path | None) -> frozenset[str]:
    """The keys of all verdicts in a file, which is not changed, even by SQLite itself; none where there is no file."""
    if path is None or not path.exists():
        return frozenset()
    how = "mode=ro" if Path(f"{path}-wal").exists() else "immutable=1"
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True)) as stored:
        return frozenset(key for (key,) in stored.execute("SELECT key FROM verdicts"))


def cache_key(fingerprint: str, question: Question, draw: int = 0, purpose: str = "") -> str:
    """The hash under which an answer is stored. `purpose` separates questions that watch the judge from those that it
    judges."""
    turns = [[turn.role, turn.text] for turn in question.turns]
    facts = [fingerprint, turns, question.first, question.second, draw]
    if question.second_turns is not None:
        facts.append([[turn.role, turn.text] for turn in question.second_turns])
    if question.sounds is not None:
        facts.append({"sounds": [clip.sha256 for clip in question.sounds]})
    if purpose:
        facts.append(purpose)
    whole = json.dumps(facts, ensure_ascii=False)
    return hashlib.sha256(whole.encode()).hexdigest()


def blocking(asking: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, _T]:
    """The same function, which blocks until all is asked."""

    @wraps(asking)
    def until_done(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return asyncio.run(asking(*args, **kwargs))

    until_done.__name__ = asking.__name__.removesuffix("_async")
    return until_done


async def ask(judge: Judge, question: Question, cache: VerdictCache, key: str) -> tuple[Verdict, bool]:
    """The judge's verdict, and True if it was already stored under `key`.

    Raises:
        JudgeFailure: no usable answer; of kind `defect` where the judge itself broke on the question.
        OSError: the answer could not be written.
    """
    kept = cache.get(key)
    if kept is not None:
        return kept, True
    began_s = time.perf_counter()
    try:
        verdict = await judge.compare(question)
    except (JudgeFailure, OSError):
        raise
    except Exception as error:
        raise JudgeFailure("defect", one_line(error)) from error
    verdict = replace(verdict, seconds=round(time.perf_counter() - began_s, 3))
    cache.put(key, verdict)
    return verdict, False


async def ask_both(judge: Judge, question: Question, cache: VerdictCache) -> list[tuple[Verdict, bool]]:
    """The answers of a check to a question in the order given and in the other, each as `ask` returns it.

    Raises:
        JudgeFailure, OSError: as `ask`.
    """
    return [await ask(judge, shown, cache, key) for shown, key in both_orders(judge.fingerprint, question)]


def both_orders(fingerprint: str, question: Question) -> list[tuple[Question, str]]:
    """The questions of a check to one pair, in the order given and in the other, each with the key of its answer."""
    whole = replace(question, whole_alone=True)
    return [(shown, cache_key(fingerprint, shown, purpose="check")) for shown in (whole, whole.swapped())]


async def ask_all(
    judge: Judge,
    items: Sequence[_T],
    one: Callable[[_T], Awaitable[_A]],
    name: Callable[[_T], str],
    progress: Callable[[int, int, str], None] | None,
) -> list[_A]:
    """The answers of `one` for each item, in their order, from a judge that is entered here: as many at once as it takes."""
    gate, done = asyncio.Semaphore(judge.concurrency), 0

    async def in_turn(item: _T) -> _A:
        nonlocal done
        async with gate:
            answer = await one(item)
        done += 1
        if progress is not None:
            progress(done, len(items), name(item))
        return answer

    async with judge:
        return list(await asyncio.gather(*(in_turn(item) for item in items)))
