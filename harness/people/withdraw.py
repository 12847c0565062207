"""Withdrawal: everything of one person goes, wherever this project has stored it.

A voice can give away its speaker, and so can a pseudonym beside a score. So nothing is masked: recordings, the place in the
run or pack, and all verdicts and votes on them are removed. What left the folder before is out of reach: copies, exports,
pages and label sheets that were sent, runs that were played on a pack. The sentence at the end names them.
"""

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.people.alone import alone
from harness.people.records import DATABASE, SeatStore
from harness.people.supporter.out_of_run import remove_person, remove_rater
from harness.store.database import DATABASE as RUN
from harness.store.disk import storage_fault
from harness.store.run_store import RunStore
from harness.wording import counted

FOLDER: Final = "people"
"""The folder of a run with its supporters' recordings."""
COPIES: Final = (
    "Out of its reach, and to be deleted by whoever has them: copies of this folder; pages, exports and label sheets that were "
    "copied or sent elsewhere; and every run that was played on a pack of these voices, for it has the callers' sound. Write "
    "the report again."
)
JOURNAL: Final = (
    "The name itself can still be read in the journal of the database, because another process reads it: end that process, "
    "and open the folder once more with: harness people list"
)
Withdraw = Callable[[str], bool]
"""Removes everything of the person with this pseudonym; False if what was made of their recordings goes later."""


def records_folder(folder: Path) -> Path:
    """The folder of the records: that of a run is inside it."""
    return folder / FOLDER if (folder / RUN).exists() else folder


def withdraw_everywhere(folder: Path, person: str) -> str:
    """Remove everything of a person from a run's folder or from callers' recordings; returns what was removed, in a sentence.

    Raises:
        UserError: there is nobody of that name.
    """
    within = records_folder(folder)
    if not (within / DATABASE).exists():
        if within == folder:
            raise UserError(f"{folder}: nobody has been recorded here")
        return _from_sessions(folder, person)
    with closing(SeatStore(within)) as records:
        if person not in {known.id for known in records.people()} | set(records.leaving()):
            if within != folder:
                return _from_sessions(folder, person)
            raise UserError(f"{person}: nobody of that name has been recorded in {folder}; harness people list {folder}")
        count = records.leave(person)
        try:
            end_withdrawals(folder, records, wait=True)
        except (UserError, OSError, sqlite3.Error) as fault:
            if not isinstance(fault, UserError) and storage_fault(fault) is None:
                raise
            raise UserError(
                f"{person}: the recordings are removed, but not yet everything that was made of them ({fault}); then give the "
                "same command again"
            ) from None
        journal = records.empty_journal()
    return _removed(person, count) + ("" if journal else f" {JOURNAL}")


def _from_sessions(run: Path, person: str) -> str:
    """Remove somebody whom a run's records do not know: a merged or copied run has sessions of people, and their sittings name
    them; and a rater whose votes came in a file has sat nowhere. Returns what was removed, in a sentence."""
    with closing(RunStore.open(run)) as store:
        count = remove_person(store, person, automatic=None).sessions
        votes = remove_rater(store, person)
    if not count and votes is None:
        raise UserError(f"{person}: nobody of that name has been recorded in {run}, or has voted there")
    return _removed(person, count, votes)


def _removed(person: str, recordings: int, votes: int | None = None) -> str:
    what = [counted(recordings, "recording")] if recordings or votes is None else []
    what += [counted(votes, "answer")] if votes is not None else []
    return f"{person} is removed, with {' and '.join(what)}. {COPIES}"


def withdraw_on_page(folder: Path, records: SeatStore, person: str) -> bool:
    """Remove somebody who presses the button; False if what was made of their recordings goes later.

    The recordings go at once. A pack that is being written, or a run that is being judged, is not waited for: the name stays
    among those who are leaving, and the process that is busy, or the next command on this folder, removes the rest.
    """
    try:
        records.leave(person)
        return end_withdrawals(folder, records, wait=False)
    except (UserError, OSError, sqlite3.Error) as fault:
        if not isinstance(fault, UserError) and storage_fault(fault) is None:
            raise
        logging.getLogger(__name__).error("%s", fault)
        return False


def end_withdrawals(folder: Path, records: SeatStore, *, wait: bool) -> bool:
    """Remove everybody who withdrew from the run or the packs in a folder; False if something is left. With `wait`, packs are
    made anew.

    Raises:
        UserError: something cannot be removed now.
    """
    from harness.people.caller.take_in import without_leaving
    from harness.people.supporter.take_in import remove_leaving

    if not records.leaving():
        return True
    if records_folder(folder) != folder:
        with alone(records.folder, wait=wait) as mine:
            if not mine:
                return False
            with closing(RunStore.open(folder)) as store:
                return remove_leaving(store, records)
    return without_leaving(records, folder, anew=wait)
