"""The environment that the harness makes for the programs of the extra `local`, once for each set of requirements.

Its requirements are those of this very installation, read from its own metadata, so that no list can differ from pyproject's.
The harness itself is not installed there: it is always the running code that is run (`harness.local_programs.interpreter`).
pip reads the user's own settings, so no address is written here.
"""

import errno
import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

from packaging.requirements import Requirement

from harness import with_parent
from harness.files import cache_folder, own_folder
from harness.installation import NAME

ABOUT_MB: Final = 1_200
"""Its size on Linux with Python 3.11 in November 2026: 1,140 MB, before anything in it is compiled."""
_WHOLE: Final = "whole"
"""A file in it that is written last: an environment without it was left half made."""
_DOWNLOADS: Final = "downloads"
"""pip's temporary folder in it, so that what has arrived counts as progress."""
_LOOK_S: Final = 0.5
_MB: Final = 1_000_000
_BROKEN_CONNECTION: Final = re.compile(r"connection broken by '?(\w+)")
_SYSTEMS_REASON: Final = re.compile(r"\[Errno -?\d+\] ([^'\")\n]+)")


class NotMade(Exception):
    """The environment could not be made; the message says why in a few words."""


class Shown(Protocol):
    """What shows the progress: `harness.progress.RunProgress`."""

    def phase(self, name: str, total: int | None = None) -> None: ...
    def count(self, done: int, total: int | None, step: str = "", /) -> None: ...


class OnStandardError:
    """Progress for a caller that shows none of its own."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Write one line."""
        del total
        print(name, file=sys.stderr, flush=True)

    def count(self, done: int, total: int | None, step: str = "", /) -> None:
        """Write nothing."""


def made_python() -> Path | None:
    """The Python of the environment for this installation; None if it has not been made."""
    folder = _folder()
    return _python(folder) if (folder / _WHOLE).exists() and _python(folder).exists() else None


def python_with_pip() -> str | None:
    """A Python with pip: this one, or that of the environment for this installation if it has been made."""
    if find_spec("pip") is not None:
        return sys.executable
    with suppress(NotMade):
        return None if (made := made_python()) is None else str(made)
    return None


def make_python(shown: Shown) -> Path:
    """The Python of the environment for this installation, which is made if need be; two processes do not make two.

    Raises:
        NotMade: there is no pip or uv, no network, or no room.
    """
    folder = _folder()
    try:
        own_folder(folder.parent)
        with _locked(folder.with_suffix(".lock")):
            if (found := made_python()) is not None:
                return found
            shutil.rmtree(folder, ignore_errors=True)
            shown.phase(f"Installing the programs of the speech models, about {ABOUT_MB:,} MB, once, into {folder}")
            try:
                _make(folder, shown)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            (folder / _WHOLE).touch()
            return _python(folder)
    except OSError as error:
        raise NotMade(f"{folder}: {error.strerror or error}") from error


def requirements() -> tuple[str, ...]:
    """What the core and the extra `local` of this installation need on this machine, as pip takes it.

    Raises:
        NotMade: this harness runs without being installed, so nothing says what it needs.
    """
    try:
        asked = [Requirement(line) for line in requires(NAME) or ()]
    except PackageNotFoundError as error:
        raise NotMade("this harness runs from a folder without being installed") from error
    wanted = [one for one in asked if one.marker is None or any(one.marker.evaluate({"extra": e}) for e in ("", "local"))]
    for one in wanted:
        one.marker = None
    return tuple(sorted(set(map(str, wanted))))


def _folder() -> Path:
    facts = "\n".join([*requirements(), sys.platform, os.uname().machine, f"{sys.version_info[0]}.{sys.version_info[1]}"])
    return cache_folder() / "local" / hashlib.sha256(facts.encode()).hexdigest()[:16]


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _make(folder: Path, shown: Shown) -> None:
    log = folder.with_suffix(".log")
    install = [*_installer(folder, log), *requirements()]
    (folder / _DOWNLOADS).mkdir()
    _run(install, log, lambda: shown.count(bytes_below(folder) // _MB, ABOUT_MB))
    shutil.rmtree(folder / _DOWNLOADS)


def _installer(folder: Path, log: Path) -> Sequence[str]:
    """The command that installs packages into a new environment: its own pip, or in a Python without ensurepip another's."""
    quiet = ("install", "--disable-pip-version-check", "--no-input", "--progress-bar=off", "--no-compile")
    python = str(_python(folder))
    with suppress(NotMade):
        _run([sys.executable, "-m", "venv", str(folder)], log)
        return (python, "-m", "pip", *quiet)
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], log)
    if find_spec("pip") is not None:
        return (sys.executable, "-m", "pip", "--python", python, *quiet, "pip")
    if (uv := shutil.which("uv")) is not None:
        return (uv, "pip", "install", "--python", python, "pip")
    raise NotMade("this Python has neither ensurepip nor pip, and there is no uv")


def _run(words: Sequence[str], log: Path, look: Callable[[], None] = lambda: None) -> None:
    """Run a command, which cannot outlive this process: another one would remove the folder under it.

    Raises `NotMade` with its last words if it fails.
    """
    # What a variable adds to Python's path would count as installed there.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if (downloads := log.with_suffix("") / _DOWNLOADS).is_dir():
        clean["TMPDIR"] = str(downloads)
    bound = [sys.executable, "-I", with_parent.__file__, str(os.getpid()), str(int(signal.SIGKILL)), *words]
    with log.open("wb") as out:
        process = subprocess.Popen(bound, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=clean)
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_S)
                    break
                look()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode != 0:
        raise NotMade(last_word(log.read_text(encoding="utf-8", errors="replace")))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def bytes_below(folder: Path) -> int:
    """Size of all files below a folder in which pip works: files and folders may go while it is read."""
    total = 0
    # `Path.rglob` raises where a folder goes under its hands; `os.walk` passes over it.
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.stat(os.path.join(place, name)).st_size
    return total


def last_word(output: str) -> str:
    """The reason for which pip failed, from what it printed."""
    if os.strerror(errno.ENOSPC) in output:
        return os.strerror(errno.ENOSPC)
    # If pip cannot reach an index, its last message is that there is no such package.
    if (broken := _BROKEN_CONNECTION.search(output)) is not None:
        why = _SYSTEMS_REASON.search(output, broken.start())
        return f"it cannot be reached ({why[1].strip() if why else broken[1]})"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip said nothing"])[-1].removeprefix("ERROR:").strip()
