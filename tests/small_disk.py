"""A real disk of a few megabytes, which a test fills."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

SIZE = "24m"


@dataclass(frozen=True)
class SmallDisk:
    folder: Path

    def fill(self) -> None:
        """Take all room that is left."""
        handle = os.open(self.folder / "filler", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        try:
            for size in (1 << 20, 4_096, 1):
                with suppress(OSError):
                    while True:
                        os.write(handle, bytes(size))
        finally:
            os.close(handle)

    def make_room(self) -> None:
        (self.folder / "filler").unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """`tmp_path` on a disk of its own."""
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", tmp_path], check=False, capture_output=True)
    if made.returncode:
        pytest.skip(f"a small disk needs the right to mount one: {made.stderr.decode().strip()}")
    yield SmallDisk(tmp_path)
    subprocess.run(["umount", "--lazy", tmp_path], check=True)
