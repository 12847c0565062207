"""The size of a folder in which another program works: it may come and go while it is read."""

import subprocess
import sys
import time
from pathlib import Path

from harness.local_programs.environment import bytes_below

BUSY = """
import shutil, sys
from pathlib import Path
below = Path(sys.argv[1])
while True:
    for k in range(20):
        (below / f"unpack-{k}" / "a" / "b").mkdir(parents=True, exist_ok=True)
        (below / f"unpack-{k}" / "a" / "b" / "file").write_bytes(b"x" * 100)
    for k in range(20):
        shutil.rmtree(below / f"unpack-{k}")
"""
WATCHED_S = 3.0


def test_folders_that_go_while_they_are_read_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "whole").write_bytes(b"x" * 1_000)
    with subprocess.Popen([sys.executable, "-c", BUSY, str(tmp_path)]) as busy:
        try:
            until = time.monotonic() + WATCHED_S
            seen = set()
            while time.monotonic() < until:
                seen.add(bytes_below(tmp_path))
        finally:
            busy.kill()
    assert min(seen) >= 1_000
    assert len(seen) > 1, "nothing came or went meanwhile"
