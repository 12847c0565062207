"""A person's withdrawal from a run: their replies, and everything in the run's folder that was made of them.

A reply leaves traces: verdicts and votes about it, reasons that may quote it, its sound beside the page, stimuli of
listening tests. Whoever withdraws withdraws all of it. Rows go first and files last, a session is found by its own sitting
as well as by its row, and of its files the sitting is the last, so that after a kill the same call ends what was begun. What
can be made again (pages, stimuli, a judge's stored answers that no remaining verdict states) is deleted whole rather than
searched.
"""

import json
import shutil
import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.files import write_whole
from harness.people.supporter.made_of_replies import remove_from_sheets, remove_made
from harness.recording.sitting import SITTING_FILE, load_sitting
from harness.reports.listening.answers import tests_of
from harness.reports.listening.people import reference_of
from harness.store.database import SESSIONS
from harness.store.disk import flush
from harness.store.judgment import reference_name
from harness.store.paths import LABELS, SHARDS, VERDICTS, VOTE_FILES, VOTES
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.votes.vote_file import VoteFileKey
from harness.votes.votes_of_run import RATER_PREFIX

Reply = tuple[str, str, int]
"""Context, system, repeat."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Numbers of things that were deleted. `verdicts` are judges' and people's in the run's database."""

    sessions: int
    verdicts: int
    votes: int


def remove_person(store: RunStore, person: str, *, automatic: bool | None = False) -> Removed:
    """Delete the replies of one pseudonym and everything made of them; the run's page has to be written again.

    `automatic`: a program's of that name; None: anybody's.

    Raises:
        UserError: another process is writing the run, or a sitting's file is damaged.
    """
    with store.lock():
        store.drop_partial_folders()  # Whoever is in one and has not withdrawn is added again.
        folders = [
            path.parent
            for path in sorted((store.folder / SESSIONS).glob(f"*/{SITTING_FILE}"))
            if (seat := load_sitting(path.parent)) is not None and seat.person == person and automatic in (None, seat.automatic)
        ]
        names = {folder.name for folder in folders}
        votes = verdicts = 0
        if folders:
            mine = [s for s in Selection(store).of_the_seat if s.id in names]
            replies = {(s.key.context_id, s.key.agent, s.key.repeat) for s in mine}
            votes = _remove_votes(store.folder, replies)
            _remove_from_keys(store.folder, _rated(replies))
            remove_from_sheets(store.folder, _rated(replies), {s.heard_text for s in mine if s.heard_text})
            verdicts = store.remove_replies(replies)
            _forget_reasons(store)
            remove_made(store.folder, names)
            _leave_manifest(store)
        for folder in folders:
            _remove_files(folder)
    return Removed(len(folders), verdicts, votes)


def remove_rater(store: RunStore, rater: str) -> int | None:
    """Delete all that one rater gave in files of votes or in a listening test, with what they said of themselves, and the pages
    and exports that may have it; returns the number of answers and replies, None for nobody of that name.

    `rater`: as the page named them; with several listening tests as `TEST/rater-0001`. Votes on file after that are counted
    again.

    Raises:
        UserError: raters of several tests have the name.
    """
    with store.lock():
        test = _test_of(store.folder, rater)
        gone = sum(_keep_lines(path, lambda row: row.get("rater") != rater) for path in (store.folder / VOTES).glob("*.jsonl"))
        if not gone and test is None:
            return None
        for judge, presentation, condition in {(r.judge, r.presentation, r.condition) for r in store.judgments()}:
            if judge == RATER_PREFIX + rater:
                store.replace_judgments({judge}, [], presentation, condition)
        if test is not None:
            gone += _leave_test(store, test, rater.rpartition("/")[2])
        _forget_reasons(store)
        remove_made(store.folder, ())
    return gone


def _test_of(run: Path, rater: str) -> str | None:
    """The listening test of this rater; None for nobody of that name."""
    test, _, name = rater.rpartition("/")
    having = [answers.folder.name for answers in tests_of(run) if test in ("", answers.folder.name) and answers.has(name)]
    if len(having) > 1:
        named = " or ".join(f"{where}/{name}" for where in having)
        raise UserError(f"{rater}: raters of several listening tests have this name; give {named}")
    return having[0] if having else None


def _leave_test(store: RunStore, test: str, rater: str) -> int:
    """Delete what a rater gave in a listening test, and a contributor's replies with all verdicts on them; returns their
    number."""
    for answers in tests_of(store.folder):
        if answers.folder.name == test:
            given = {(row["context"], reference_of(answers, rater)): row["text"] for row in answers.completions_of(rater)}
            replies = {(context, reference_name(reference), 0) for context, reference in given}
            if replies:
                _remove_votes(store.folder, replies)
                _remove_from_keys(store.folder, _rated(replies))
                remove_from_sheets(store.folder, _rated(replies), set(given.values()))
                store.remove_replies(replies)
                store.remove_people_references({reference for _, reference in given})
            return answers.forget(rater) + len(given)
    return 0


def _remove_from_keys(run: Path, replies: Collection[tuple[str, str]]) -> None:
    """Take the pairs with these replies out of the keys of vote files, whose pages may come back with answers on them."""
    for path in sorted((run / VOTE_FILES).glob("*.json")):
        key = VoteFileKey.model_validate_json(path.read_bytes())
        gone = [name for name, pair in key.pairs.items() if _is_about(pair.model_dump(), replies)]
        if gone:
            left = {name: pair for name, pair in key.pairs.items() if name not in gone}
            changed = key.model_copy(update={"pairs": left, "withdrawn": (*key.withdrawn, *gone)})
            write_whole(path, changed.model_dump_json(by_alias=True, indent=1) + "\n")


def _remove_files(session: Path) -> None:
    for path in sorted(session.iterdir()):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != SITTING_FILE:
            path.unlink()
    flush(session)
    shutil.rmtree(session)


def _leave_manifest(store: RunStore) -> None:
    """Take the seat's agents that have no reply any more out of the manifest."""
    manifest, speaking = store.manifest, {session.key.agent for session in Selection(store).of_the_seat}
    kept = [agent for agent in manifest.agents if not agent.seated or agent.name in speaking]
    if len(kept) < len(manifest.agents):
        store.set_manifest(manifest.model_copy(update={"agents": kept}))


def _remove_votes(run: Path, replies: Collection[Reply]) -> int:
    """Delete votes and labels on file; returns the number of votes."""
    first = _rated(replies)
    gone = sum(_without(path, first) for path in sorted((run / VOTES).glob("*.jsonl")))
    for path in (run / "strategies.jsonl", *sorted((run / LABELS).rglob("*.jsonl"))):
        _without(path, first)
    for answers in tests_of(run):
        gone += sum(answers.void(context, system) for context, system in sorted(first))
    return gone


def _rated(replies: Collection[Reply]) -> set[tuple[str, str]]:
    """(context, system) of the replies that people vote on and label: the first of a system to each context."""
    return {(context, system) for context, system, repeat in replies if repeat == 0}


def _without(path: Path, replies: Collection[tuple[str, str]]) -> int:
    """Delete the lines of a file that are about these replies; returns their number."""
    return _keep_lines(path, lambda row: not _is_about(row, replies)) if replies else 0


def _keep_lines(path: Path, keep: Callable[[dict[str, object]], bool]) -> int:
    """Delete the other lines of a file of JSON objects, if there is one; returns their number."""
    if not path.is_file():
        return 0
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line]
    kept = [line for line in lines if keep(json.loads(line))]
    if len(kept) < len(lines):
        write_whole(path, "".join(line + "\n" for line in kept))
    return len(lines) - len(kept)


def _is_about(row: dict[str, object], replies: Collection[tuple[str, str]]) -> bool:
    return any((row.get("context"), row.get(side)) in replies for side in ("system", "system_a", "system_b"))


def _forget_reasons(store: RunStore) -> None:
    """Keep of the judges' stored answers, and of the coded reasons, those whose reason a remaining verdict states.

    An answer without a reason does not say which reply it is about, so none of these is kept; they are asked again.
    """
    stated = {reason for row in store.stored_judgments() if (reason := row.get("rationale"))}
    for path in sorted((store.folder / LABELS).rglob("reasons.*.jsonl")):
        _keep_lines(path, lambda row: row.get("reason") in stated)
    for path in (store.folder / VERDICTS, *sorted((store.folder / SHARDS).glob(f"*/{VERDICTS}"))):
        if path.exists():
            with closing(sqlite3.connect(path, timeout=10)) as answers:
                rows = answers.execute("SELECT key, json FROM verdicts").fetchall()
                gone = [(key,) for key, text in rows if json.loads(text).get("rationale") not in stated]
                with answers:
                    answers.executemany("DELETE FROM verdicts WHERE key = ?", gone)
                answers.execute("VACUUM")
