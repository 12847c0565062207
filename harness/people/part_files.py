"""The sound of recordings on the disk: one folder for each, one file for each part.

A folder is renamed before it is emptied. A part on its way then finds no folder and fails, where it would otherwise appear
behind the deletion's back and stay. A deletion that fails says so: a voice that its speaker removed must not stay in silence.
"""

import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError
from harness.files import own_file, own_folder
from harness.people.track import Part

TAKES: Final = "takes"
_GOING: Final = ".going-"
"""Beginning of the name of a folder that is being deleted."""
_LEFT: Final = ".left-"
"""Beginning of the name of an empty folder: its person withdrew, and the disk had no room to write that down."""
_PART_NAME = re.compile(r"part-(\d{5})-(\d{1,15})\.pcm")


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part on the disk: the frame of its first sample, and the number of its samples."""

    first: int
    samples: int
    path: Path

    @property
    def end(self) -> int:
        """One past the last frame."""
        return self.first + self.samples


def samples_of(part: StoredPart) -> NDArray[np.int16]:
    """The sound of a part.

    Raises:
        FileNotFoundError: its recording was removed.
    """
    read: NDArray[np.int16] = np.fromfile(part.path, dtype="<i2")
    return read


class PartFiles:
    """The parts of all recordings in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / TAKES

    def add(self, take: str, number: int, first: int, pcm: bytes) -> None:
        """Store a part, flushed to the disk."""
        folder = self._folder / take
        own_folder(self._folder)
        own_folder(folder)
        path = folder / f"part-{number:05d}-{first}.pcm"
        writing = path.with_suffix(f".{secrets.token_hex(4)}")
        try:
            with own_file(writing).open("wb") as out:
                out.write(pcm)
                out.flush()
                os.fsync(out.fileno())
            writing.rename(path)
        except OSError:
            writing.unlink(missing_ok=True)
            raise
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def of(self, take: str) -> list[Part]:
        """The parts that have arrived, in order; none of a recording that was removed."""
        try:
            return [Part(stored.first, samples_of(stored)) for _, stored in sorted(self.stored(take).items())]
        except FileNotFoundError:
            return []

    def stored(self, take: str) -> dict[int, StoredPart]:
        """The parts that have arrived, by number and unread; none of a recording that was removed."""
        names = ((_PART_NAME.fullmatch(path.name), path) for path in (self._folder / take).glob("part-*.pcm"))
        try:
            return {int(n[1]): StoredPart(int(n[2]), path.stat().st_size // 2, path) for n, path in names if n is not None}
        except FileNotFoundError:
            return {}

    def remove(self, take: str) -> None:
        """Delete a recording's sound.

        Raises:
            UserError: it cannot be deleted.
        """
        going = self._folder / f"{_GOING}{secrets.token_hex(8)}"
        try:
            (self._folder / take).rename(going)
        except FileNotFoundError:
            return
        delete(going)

    def leave(self, person: str, takes: Collection[str]) -> None:
        """Delete the sound of somebody who withdraws, and mark that they did, on a disk that takes nothing any more.

        A folder of theirs is the mark: to rename and to empty one needs no room, which a new one might.

        Raises:
            UserError: it cannot be deleted.
        """
        mark = self._folder / f"{_LEFT}{person}"
        for take in takes:
            with suppress(OSError):
                (self._folder / take).rename(mark)
                break
        else:
            with suppress(OSError):
                mark.mkdir(parents=True, exist_ok=True)
        for take in takes:
            self.remove(take)
        for path in mark.glob("*"):
            path.unlink(missing_ok=True)

    def left(self) -> set[str]:
        """The people whose withdrawal is marked."""
        return {path.name.removeprefix(_LEFT) for path in self._folder.glob(f"{_LEFT}*")}

    def unmark(self, person: str) -> None:
        """Remove the mark of a withdrawal, which is written down."""
        delete(self._folder / f"{_LEFT}{person}")

    def sweep(self, stay: Callable[[], Collection[str]]) -> None:
        """Delete the sound of every recording but those of `stay`: what a kill left.

        `stay` is asked after the folders are listed: a recording has its row before its folder, so a new one is among them.

        Raises:
            UserError: some of it cannot be deleted.
        """
        listed = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        for path in listed:
            if path.name.startswith(_GOING):
                delete(path)
        staying = stay() if listed else ()
        for path in listed:
            if path.name not in staying and not path.name.startswith((_GOING, _LEFT)):
                self.remove(path.name)


def delete(path: Path) -> None:
    """Delete a folder, or nothing if there is none; another process may be deleting the same.

    Raises:
        UserError: it cannot be deleted.
    """

    def failed(_: object, __: str, ___: object) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, FileNotFoundError):
            assert error is not None
            raise error

    try:
        shutil.rmtree(path, onerror=failed)
    except OSError as error:
        raise UserError(f"{path}: cannot be deleted ({error.strerror}), and its speaker does not want it stored") from None
