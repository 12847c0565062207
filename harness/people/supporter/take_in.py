"""Kept answers of the supporter's seat made sessions of their run, timed and transcribed as agents' replies are."""

from harness.people.records import SeatStore
from harness.people.supporter.conversations import Conversations
from harness.people.supporter.into_run import add_people
from harness.people.supporter.replies import kept_replies
from harness.progress import RunProgress
from harness.store.run_store import RunStore


def take_in(store: RunStore, records: SeatStore, conversations: Conversations, progress: RunProgress) -> int:
    """Add the kept answers that the run does not have; returns their number.

    Raises:
        UserError: another process is writing the run, or transcribing needs what is not installed.
    """
    return len(add_people(store, kept_replies(records, conversations), progress))
