"""Every program of docs/python.md runs as it stands there, one after the other in one folder, as a reader would run them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import soundfile

from harness import load_run
from harness.recording.playout import HEARD_RATE_HZ, stereo
from tests.harness.conftest import peer

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def programs() -> list[str]:
    """The page's Python blocks, in order."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def program(number: int, folder: Path, *, code: int = 0) -> str:
    """What a program prints, run from a file of its own."""
    path = folder / f"program{number}.py"
    path.write_text(programs()[number], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", path.name],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False, env={**os.environ},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout


def test_the_page_has_four_whole_programs() -> None:
    assert len(programs()) == 4
    for text in programs():
        compile(text, "docs/python.md", "exec")


def test_judging_with_a_judge_of_ones_own_and_rating(tmp_path: Path) -> None:
    told = program(2, tmp_path)
    assert "0 questions without an answer" in told
    rated = re.findall(r"^(\S+) +Elo +(\d+)", told, flags=re.MULTILINE)
    # The judge prefers what is short, and the board must say so: one short reply to everything comes out on top.
    assert rated[0][0] == "mine"
    assert {"ref:good", "ref:plain"} <= {name for name, _ in rated}


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.models
def test_a_run_is_played_timed_again_held_to_limits_and_shown(tmp_path: Path) -> None:
    """One test for three programs, because each goes on with what the one before it left."""
    # Longer than any pause of these callers, so that it answers their ends.
    profile = peer("scripted").read_text(encoding="utf-8").replace("delay_ms = 900", "delay_ms = 2500")
    (tmp_path / "my.toml").write_text(profile, encoding="utf-8")
    told = program(0, tmp_path)
    assert "my: 2 turns, 0 without reply" in told
    assert "failed:" not in told
    with load_run(tmp_path / "first-run") as run:
        session = run.sessions[0]
        assert session.timing is not None
        soundfile.write(tmp_path / "call.wav", stereo(run.recording(session)), HEARD_RATE_HZ)
        known_ms = session.timing.ttfa_ms
    assert known_ms is not None
    seen = re.search(r"turn 1: (\d+) ms from the last word", program(1, tmp_path))
    assert seen is not None
    # A file has no messages and is at another rate: the same onset to within a window of the detector.
    assert float(seen[1]) == pytest.approx(known_ms, abs=10)
    last = program(3, tmp_path)
    assert "verdict: cannot tell" in last
    assert f"page: {Path('first-run') / 'report.html'}" in last
    slowest = re.search(r"measured again: ([\d.]+) ms", last)
    assert slowest is not None
    assert (tmp_path / "first-run" / "report.html").exists()


def test_a_run_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(programs()[3], encoding="utf-8")
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("cannot open the run: ")
    assert "Traceback" not in done.stderr
