"""A person's withdrawal from a run: their replies, and everything in the run's folder that was made of them.

A reply leaves traces: verdicts and votes about it, reasons that may quote it, its sound beside the page, stimuli of
listening tests. Whoever withdraws withdraws all of it. Rows go first and files last, and a session is found by its own
sitting as well as by its row, so that after a kill the same call ends what was begun. What can be made again (the page,
stimuli, a judge's stored answers that no remaining verdict states) is deleted whole rather than searched.
"""

import json
import shutil
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from harness.labelling.label_replies import FOLDER as LABELS
from harness.recording.sitting import SITTING_FILE, load_sitting
from harness.reports.listening.answers import VoteStore
from harness.reports.listening.material import FOLDER as LISTENING
from harness.reports.listening.serve import vote_folders
from harness.shards.judge_shards import SHARDS
from harness.store.database import SESSIONS
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.verdicts.judge import VERDICTS
from harness.votes.votes_of_run import FOLDER as VOTES

Reply = tuple[str, str, int]
"""Context, system, repeat."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Numbers of things that were deleted. `verdicts` are judges' and people's in the run's database."""

    sessions: int
    verdicts: int
    votes: int


def remove_person(store: RunStore, person: str, *, automatic: bool = False) -> Removed:
    """Delete the replies of one pseudonym and everything made of them; the run's page has to be written again.

    `automatic`: a program's of that name.

    Raises:
        UserError: another process is writing the run, or a sitting's file is damaged.
    """
    with store.lock():
        folders = [
            path.parent
            for path in sorted((store.folder / SESSIONS).glob(f"*/{SITTING_FILE}"))
            if (seat := load_sitting(path.parent)) is not None and (seat.person, seat.automatic) == (person, automatic)
        ]
        names = {folder.name for folder in folders}
        seated = Selection(store).of_the_seat
        replies = {(s.key.context_id, s.key.agent, s.key.repeat) for s in seated if s.id in names}
        if not folders:
            return Removed(0, 0, 0)
        votes = _remove_votes(store.folder, replies)
        verdicts = store.remove_replies(replies)
        _forget_answers(store)
        _remove_made(store.folder, names)
        _leave_manifest(store)
        for folder in folders:
            shutil.rmtree(folder)
    return Removed(len(folders), verdicts, votes)


def _leave_manifest(store: RunStore) -> None:
    """Take the seat's agents that have no reply any more out of the manifest."""
    manifest, speaking = store.manifest, {session.key.agent for session in Selection(store).of_the_seat}
    kept = [agent for agent in manifest.agents if not agent.seated or agent.name in speaking]
    if len(kept) < len(manifest.agents):
        store.set_manifest(manifest.model_copy(update={"agents": kept}))


def _remove_votes(run: Path, replies: Collection[Reply]) -> int:
    """Votes and labels on file. People vote on, and labels are of, the first reply of a system to each context."""
    first = {(context, system) for context, system, repeat in replies if repeat == 0}
    gone = sum(_without(path, first) for path in sorted((run / VOTES).glob("*.jsonl")))
    for path in (run / "strategies.jsonl", *sorted((run / LABELS).rglob("*.jsonl"))):
        _without(path, first)
    for folder in vote_folders(run):
        with closing(VoteStore(folder)) as answers:
            gone += sum(answers.void(context, system) for context, system in sorted(first))
    return gone


def _without(path: Path, replies: Collection[tuple[str, str]]) -> int:
    """Delete the lines of a file that are about these replies; returns their number."""
    if not replies or not path.is_file():
        return 0
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line]
    kept = [line for line in lines if not _is_about(json.loads(line), replies)]
    if len(kept) < len(lines):
        part = path.with_name(f".{path.name}.part")
        part.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
        part.replace(path)
    return len(lines) - len(kept)


def _is_about(row: dict[str, object], replies: Collection[tuple[str, str]]) -> bool:
    return any((row.get("context"), row.get(side)) in replies for side in ("system", "system_a", "system_b"))


def _forget_answers(store: RunStore) -> None:
    """Keep of the judges' stored answers those whose reason a remaining verdict states, or that have none."""
    stated = {row.get("rationale", "") for row in store.stored_judgments()} | {""}
    for path in (store.folder / VERDICTS, *sorted((store.folder / SHARDS).glob(f"*/{VERDICTS}"))):
        if path.exists():
            with closing(sqlite3.connect(path, timeout=10)) as answers:
                rows = answers.execute("SELECT key, json FROM verdicts").fetchall()
                gone = [(key,) for key, text in rows if json.loads(text).get("rationale", "") not in stated]
                with answers:
                    answers.executemany("DELETE FROM verdicts WHERE key = ?", gone)
                answers.execute("VACUUM")


def _remove_made(run: Path, sessions: Collection[str]) -> None:
    """Delete the page, its sounds of these sessions, and stimuli of listening tests."""
    (run / "report.html").unlink(missing_ok=True)
    shutil.rmtree(run / LISTENING / "stimuli", ignore_errors=True)
    for path in _sounds(run, sessions):
        path.unlink(missing_ok=True)


def _sounds(run: Path, sessions: Collection[str]) -> Iterator[Path]:
    for path in (run / "report-audio").rglob("*"):
        if any(path.name.startswith(f"{name}.") for name in sessions):
            yield path
