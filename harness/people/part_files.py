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
_PART_NAME = re.compile(r"part-(\d{5})-(\d{1,15})\.pcm")


class PartFiles:
    """The parts of all recordings in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / TAKES

    def add(self, take: str, number: int, first: int, pcm: bytes) -> None:
        """Store a part, flushed to the disk; the same one again changes nothing."""
        folder = self._folder / take
        own_folder(self._folder)
        own_folder(folder)
        path = folder / f"part-{number:05d}-{first}.pcm"
        if path.exists():
            return
        writing = path.with_suffix(f".{secrets.token_hex(4)}")
        with own_file(writing).open("wb") as out:
            out.write(pcm)
            out.flush()
            os.fsync(out.fileno())
        writing.rename(path)
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def of(self, take: str) -> list[Part]:
        """The parts that have arrived, in order; none of a recording that was removed."""
        found = {}
        for number, (first, path) in self._named(take).items():
            try:
                samples: NDArray[np.int16] = np.frombuffer(path.read_bytes(), dtype="<i2").astype(np.int16)
            except FileNotFoundError:
                return []
            found[number] = Part(first, samples)
        return [found[number] for number in sorted(found)]

    def numbers(self, take: str) -> frozenset[int]:
        """The numbers of the parts that have arrived."""
        return frozenset(self._named(take))

    def _named(self, take: str) -> dict[int, tuple[int, Path]]:
        names = ((_PART_NAME.fullmatch(path.name), path) for path in (self._folder / take).glob("part-*.pcm"))
        return {int(name[1]): (int(name[2]), path) for name, path in names if name is not None}

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
            if path.name not in staying and not path.name.startswith(_GOING):
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
