"""Faults of the disk, and the words for people whose request met one.

A full disk is no fault of whoever asks, and asking again at once does not mend it. So such an answer has a status of its own
(507), which a page takes for an end and not for a lost connection.
"""

import errno
import sqlite3
from typing import Final

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOT_WRITABLE: Final = frozenset({errno.EROFS, errno.EIO})
_SQLITE: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN})
STATUS: Final = 507
WORDS: Final = (
    "The server's disk has no room, so this could not be saved. All that was saved before is there. Please tell whoever "
    "invited you; when there is room again, reload this page, and go on where you were."
)


def is_fault_of_disk(error: BaseException) -> bool:
    """True if nothing can be written now, whatever is asked."""
    if isinstance(error, sqlite3.Error):
        # The low byte is the kind; the others say which step of it failed.
        return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF in _SQLITE
    return isinstance(error, OSError) and error.errno in _NO_SPACE | _NOT_WRITABLE
