"""Kept answers of the supporter's seat made sessions of their run, timed and transcribed as agents' replies are."""

from harness.people.alone import alone
from harness.people.records import SeatStore
from harness.people.supporter.conversations import Conversations
from harness.people.supporter.into_run import add_people
from harness.people.supporter.out_of_run import remove_person
from harness.people.supporter.replies import kept_replies
from harness.progress import RunProgress
from harness.store.run_store import RunStore


def take_in(store: RunStore, records: SeatStore, conversations: Conversations, progress: RunProgress) -> int:
    """Add the kept answers that the run does not have, and remove whoever withdrew; returns the number added.

    Raises:
        UserError: another process is writing the run, or transcribing needs what is not installed.
    """
    with alone(records.folder, wait=True):
        remove_leaving(store, records)
        added = len(add_people(store, kept_replies(records, conversations), progress))
        remove_leaving(store, records)  # Whoever withdrew while the replies were added.
    return added


def remove_leaving(store: RunStore, records: SeatStore) -> bool:
    """Remove everybody who withdrew from the run, while nobody else adds people to it; False if the database's journal still
    has their names.

    Raises:
        UserError: another process is writing the run.
    """
    gone = records.leaving()
    for person in gone:
        remove_person(store, person, automatic=None)
    return records.left(gone)
