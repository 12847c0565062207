"""A terminal that is closed under a run: it ends as after Ctrl-C; under `nohup`, or in a session of its own, it goes on."""

import os
import pty
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import VIRTUAL_TIME, peer
from tests.marked import Mark

GREETING_S = 60.0


def _in_terminal(folder: Path, pack: Path, agent: str, mark: Mark, *, nohup: bool) -> tuple[int, int]:
    """A run that leads the session of a terminal: its process and the terminal's other end."""
    words = [sys.executable, "-m", "harness", "run", "--agent", str(peer(agent)), "--pack", str(pack), "--out", str(folder)]
    words += ["--wait-for-quiet", "0"]  # nobody answers a question
    words += ["--limit", "1"]
    child, terminal = pty.fork()
    if child == 0:
        # The tests themselves may run under `nohup`, which a child inherits.
        signal.signal(signal.SIGHUP, signal.SIG_IGN if nohup else signal.SIG_DFL)
        os.execve(words[0], words, {**os.environ, **VIRTUAL_TIME, **mark.environment})
    return child, terminal


def _read_until(terminal: int, word: bytes) -> None:
    said, deadline = b"", time.monotonic() + GREETING_S
    while word not in said:
        assert time.monotonic() < deadline, said
        if select.select([terminal], [], [], 0.2)[0]:
            said += os.read(terminal, 65_536)


@pytest.mark.models
def test_a_run_whose_terminal_closes_ends_as_after_ctrl_c(pack: Path, tmp_path: Path) -> None:
    mark = Mark()
    child, terminal = _in_terminal(tmp_path / "run", pack, "raw-pcm-hangs", mark, nohup=False)
    _read_until(terminal, b"Calls")
    os.close(terminal)
    began = time.monotonic()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert not mark.left_after(max(0.0, 5 - (time.monotonic() - began)))


@pytest.mark.models
def test_a_run_under_nohup_goes_on_without_its_terminal(pack: Path, tmp_path: Path) -> None:
    mark, folder = Mark(), tmp_path / "run"
    child, terminal = _in_terminal(folder, pack, "raw-pcm-echo", mark, nohup=True)
    _read_until(terminal, b"Calls")
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    store = RunStore.open(folder)
    assert len(store.sessions()) == 1
    store.close()
