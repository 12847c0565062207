"""One process at a time where recordings leave their folder: into a pack, into a run, or out of both.

An export reads the recordings first and writes last. Whoever withdraws in between would be written back.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

LOCK: Final = "seats.lock"


@contextmanager
def alone(folder: Path, *, wait: bool) -> Iterator[bool]:
    """True while nobody else exports from, or removes from what was exported from, this folder. Without `wait`, False if
    somebody does.
    """
    handle = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(handle)
