"""A run of an agent that writes: nothing is rendered, called or estimated as sound, and the one question is asked first."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agents.test_text import Endpoint
from tests.harness.conftest import Finished
from tests.http_serving import serving

BUSY_S = 60.0


@pytest.fixture
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(Endpoint, "pieces", [(0.05, {"content": "That sounds "}), (0.01, {"content": "hard."})])
    monkeypatch.setattr(Endpoint, "failures", [])
    profile = tmp_path / "writer.toml"
    with serving(Endpoint) as url:
        profile.write_text(f'kind = "text"\nmodel = "m"\nbase_url = "{url}/v1"\n')
        yield profile


def test_no_word_of_sound_is_said(harness_here: Callable[..., Finished], writer: Path, tmp_path: Path) -> None:
    done = harness_here("run", "--agent", writer, "--pack", "heart-mini", "--limit", "2", "--out", tmp_path / "r", "--verbose")
    assert done.code == 0, done.err
    said = done.out + done.err
    assert "2 written replies" in said
    assert "Half of the written answers of writer begin within" in said
    of_sound = r"Rendering|voice|\bcalls?\b|transcribed|TTFA|first word of substance|Calibrating|Model weights"
    assert not re.search(of_sound, said), said
    estimated = harness_here("run", "--agent", writer, "--estimate").out
    assert "12 written replies" in estimated
    assert "minutes" not in estimated


def test_whether_to_wait_is_asked_once_and_before_any_progress(writer: Path, tmp_path: Path) -> None:
    spin = f"import time; end = time.monotonic() + {BUSY_S}\nwhile time.monotonic() < end: pass"
    busy = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(2)]
    words = ["run", "--agent", str(writer), "--limit", "1", "--out", str(tmp_path / "r")]
    try:
        text = _at_a_terminal(words, b"n\n")
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert text.count("Wait up to 10 minutes") == 1
    before, _, after = text.partition("Wait up to 10 minutes")
    assert not re.search(r"weights\b.*\d/\d|Loading|Written replies", before), before
    assert "The page is" in after


def _at_a_terminal(words: list[str], answer: bytes) -> str:
    """What the program shows at a terminal, where somebody answers its first question."""
    shown, answered = b"", False
    child, terminal = pty.fork()
    if child == 0:
        os.environ.pop("CI", None)
        os.execv(sys.executable, [sys.executable, "-m", "harness", *words])
    while True:
        try:
            got = os.read(terminal, 4096)
        except OSError:  # the program has ended
            break
        shown += got
        if not answered and b"[y/n]" in shown:
            os.write(terminal, answer)
            answered = True
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode(errors="replace")
