"""Withdrawal: everything of one person goes, wherever this project has stored it.

A voice can give away its speaker, and so can a pseudonym beside a score. So nothing is masked: recordings, the place in the
run or pack, and all verdicts and votes on them are removed. Copies that were made of a folder, and pages that were written
and sent before, are out of reach; the sentence at the end says so.
"""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.people.records import DATABASE, SeatStore
from harness.people.supporter.out_of_run import remove_person
from harness.store.database import DATABASE as RUN
from harness.store.run_store import RunStore

FOLDER: Final = "people"
"""The folder of a run with its supporters' recordings."""
Withdraw = Callable[[str], object]
"""Removes everything of the person with this pseudonym."""


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
        if person not in {known.id for known in records.people()}:
            if within != folder:
                return _from_sessions(folder, person)
            raise UserError(f"{person}: nobody of that name has been recorded in {folder}; harness people list {folder}")
        count = withdraw_supporter(folder, records, person) if within != folder else withdraw_caller(folder, records, person)
    return _removed(person, count)


def _from_sessions(run: Path, person: str) -> str:
    """Remove somebody whom a run's records do not know: a merged or copied run has sessions of people, and their sittings name
    them. Returns what was removed, in a sentence."""
    with closing(RunStore.open(run)) as store:
        count = remove_person(store, person, automatic=None).sessions
    if not count:
        raise UserError(f"{person}: nobody of that name has been recorded in {run}")
    return _removed(person, count)


def _removed(person: str, count: int) -> str:
    return (
        f"{person} is removed, with {count} {'recording' if count == 1 else 'recordings'}. Copies of this folder, and pages "
        "and exports that were made of it before, are to be deleted by whoever has them; write the report again."
    )


def withdraw_supporter(run: Path, records: SeatStore, person: str) -> int:
    """Remove a supporter from a run; returns the number of recordings."""
    with closing(RunStore.open(run)) as store:
        for automatic in (False, True):
            remove_person(store, person, automatic=automatic)
    return records.withdraw(person)


def withdraw_caller(out: Path, records: SeatStore, person: str) -> int:
    """Remove a caller, and the packs that contain them; the packs are made anew."""
    from harness.people.caller.take_in import PACKS, write_packs

    count = records.withdraw(person)
    for name in PACKS.values():
        shutil.rmtree(out / name, ignore_errors=True)
    write_packs(records, out)
    return count
