"""Children of a killed process: none of them lives on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.marked import Mark

PROGRAM = """
import subprocess, sys, time
from harness.with_parent import command
subprocess.Popen(command(["sleep", "600"]), start_new_session=True)
time.sleep(600)
"""
VOICES = """
import sys
from pathlib import Path
from harness.audio.prosody import Speaker
from harness.voices.rendering import Hibari, RenderJob, render_missing

if __name__ == "__main__":
    jobs = [RenderJob(f"This is turn {n}, and it goes on for a while.", None, Hibari(), Speaker()) for n in range(200)]
    render_missing(jobs, Path(sys.argv[1]), workers=2)
"""
"""Twice as many turns as are rendered in the time that the test takes."""
START_S = 60.0


@pytest.mark.parametrize(("program", "processes"), [(PROGRAM, 2), pytest.param(VOICES, 4, marks=pytest.mark.models)])
def test_no_child_lives_on_when_its_parent_is_killed(program: str, processes: int, tmp_path: Path) -> None:
    mark, file = Mark(), tmp_path / "program.py"
    file.write_text(program)
    cache = tmp_path / "cache"
    with subprocess.Popen([sys.executable, file, cache], env={**os.environ, **mark.environment}) as parent:
        deadline = time.monotonic() + START_S
        while len(mark.alive()) < processes or (program is VOICES and not any(cache.rglob("*.flac"))):
            assert time.monotonic() < deadline, mark.alive()
            assert parent.poll() is None
            time.sleep(0.05)
        parent.kill()
    assert not mark.left_after(5)


def test_a_child_whose_parent_is_gone_before_it_begins_does_not_begin(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    words = [sys.executable, "-m", "harness.with_parent", "1", str(int(signal.SIGKILL)), "touch", str(begun)]
    assert subprocess.run(words, check=False).returncode == 1
    assert not begun.exists()
