"""Faults of the disk, and the words for people whose request met one.

A full disk is no fault of whoever asks, and asking again at once does not mend it. So such an answer has a status of its own
(507), which a page takes for an end and not for a lost connection.
"""

from typing import Final

from harness.store.disk import storage_fault

STATUS: Final = 507
WORDS: Final = (
    "The server's disk has no room, so this could not be saved. All that was saved before is there. Please tell whoever "
    "invited you; when there is room again, reload this page, and go on where you were."
)


def is_fault_of_disk(error: BaseException) -> bool:
    """True if nothing can be written now, whatever is asked."""
    return storage_fault(error) is not None
