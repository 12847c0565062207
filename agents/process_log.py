"""The file of an agent's output: its last lines, safe to print, and lines as they are appended.

The file is read and never a pipe, so that an agent that writes much waits for nobody.
"""

import os
from pathlib import Path

from harness.agents.secrets import beginning


def last_lines(log_path: Path, start: int, count: int) -> tuple[str, ...]:
    """The last lines of a log after a place in it."""
    try:
        with log_path.open("rb") as log:
            log.seek(max(start, log.seek(0, os.SEEK_END) - 65_536))
            tail = log.read().decode("utf-8", "replace")
    except OSError:
        return ()
    lines = [line.rstrip() for line in tail.splitlines() if line.strip()]
    return tuple(beginning(line, 400) for line in lines[-count:])


class NewLines:
    """The whole lines that are appended to a file, as they come."""

    def __init__(self, path: Path, offset: int) -> None:
        self._path = path
        self._offset = offset
        self._rest = b""

    def read(self) -> list[str]:
        with self._path.open("rb") as log:
            log.seek(self._offset)
            piece = log.read()
        self._offset += len(piece)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]
