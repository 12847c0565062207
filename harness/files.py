"""Files that the harness writes: whole or not at all, and readable by their owner alone.

Runs, seats, listening tests and packs have people's voices in them, and a machine has other users. Which files have some
changes later (a run gets a seat, a page gets its sound), so the rule does not ask: everything is its owner's alone, whatever
the umask, but what is written for others to use (`for_others`): profiles, plans, weights, workflows, packs of text.

A file is written beside its place and then renamed: on a full disk, or after a kill, there is the old one or none, and never a
half that looks finished.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

OWN_FOLDER: Final = 0o700
OWN_FILE: Final = 0o600
_USERS_UMASK: Final = "HEART_HARNESS_UMASK"
"""Environment variable with the umask of whoever started the harness, in octal digits."""
CACHE_VARIABLE: Final = "HEART_HARNESS_CACHE"
OFFLINE_VARIABLE: Final = "HEART_HARNESS_OFFLINE"


def cache_folder() -> Path:
    """Folder of this user's files: `$HEART_HARNESS_CACHE`, else `heart-voice-harness` in `$XDG_CACHE_HOME` or `~/.cache`.

    A relative `$XDG_CACHE_HOME` is ignored, as the XDG Base Directory Specification (0.8) asks.
    """
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given).expanduser()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "heart-voice-harness"


def is_offline() -> bool:
    """True if the user forbids downloads."""
    return os.environ.get(OFFLINE_VARIABLE, "") not in ("", "0")


def private_by_default() -> None:
    """From here on this process and what it starts write for their owner alone."""
    earlier = os.umask(0o077)
    if earlier != 0o077 or _USERS_UMASK not in os.environ:  # else a command that the harness itself has started
        os.environ[_USERS_UMASK] = f"{earlier:o}"


def users_umask() -> int:
    """The umask of whoever started the harness."""
    if _USERS_UMASK in os.environ:
        return int(os.environ[_USERS_UMASK], 8)
    now = os.umask(0o077)
    os.umask(now)
    return now


def own_folder(folder: Path) -> Path:
    """A folder of the harness, made with those above it if it is missing, and narrowed to its owner."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in (*made, folder):
        _narrow(place)
    return folder


def own_file(path: Path) -> Path:
    """A file that its owner alone may read, made empty if it is missing: for libraries that open by name."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWN_FILE))
    _narrow(path)
    return path


def own_tree(folder: Path) -> None:
    """Narrow a folder of the harness and everything in it to its owner."""
    _narrow(folder)
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            _narrow(Path(place, name))


def for_others(path: Path) -> None:
    """Give a file or folder that was made for others to use the mode that its user's umask gives."""
    path.chmod((0o777 if path.is_dir() else 0o666) & ~users_umask())


def folder_for_others(folder: Path) -> Path:
    """A folder for others to use, made with those above it if it is missing."""
    for place in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
        place.mkdir(exist_ok=True)
        for_others(place)
    return folder


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file of its owner's, flushed to the disk, in the place of an earlier one; or leave everything as it was.

    A link stays one, and its file is written; a pipe or a device (`/dev/stdout`) is written to, and never replaced.

    Raises:
        OSError: it cannot be written; `filename` is the file's.
    """
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    part = ""
    try:
        path = Path(os.path.realpath(path))
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        handle, part = tempfile.mkstemp(prefix=f".{path.name[:80]}-", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(part, path)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error
    finally:
        if part:
            with suppress(OSError):
                os.unlink(part)


def _narrow(path: Path) -> None:
    # What somebody else owns, or a disk without modes or that is read-only, is as narrow as they made it.
    with suppress(OSError):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & 0o077:
            path.chmod(stat.S_IMODE(mode) & 0o700)
