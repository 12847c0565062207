"""The line to an agent that runs elsewhere is cut in the middle of a call: named, nothing else lost, played once it is back."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import PEERS, Finished, begin_run


@contextmanager
def started(*line: object) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A program of the test's own, with the first line that it printed."""
    command = [sys.executable, *map(str, line)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture
def agent_port() -> Iterator[int]:
    """An agent elsewhere, which the harness does not start."""
    with started(PEERS / "agent.py", "--wire", "raw-pcm", "--behaviour", "echo") as (_, ready):
        yield int(json.loads(ready)["url"].split(":")[2].split("/")[0])


def begin(folder: Path, pack: Path, profile: Path) -> "subprocess.Popen[str]":
    return begin_run(folder, pack, "--agent", profile, "--limit", 1, "--json")


def elsewhere(name: str, port: str, folder: Path) -> Path:
    profile = folder / f"{name}.toml"
    profile.write_text(f'kind = "raw-pcm"\naccepts_history = true\ngreets = false\nurl = "ws://127.0.0.1:{port}/ws"\n')
    return profile


def wait_for_a_call(running: "subprocess.Popen[str]", folder: Path) -> None:
    deadline = time.monotonic() + 120
    while not list(folder.glob("sessions/.partial-*/plan.json")):
        assert running.poll() is None, running.communicate()[1]
        assert time.monotonic() < deadline, "no call began in time"
        time.sleep(0.02)
    time.sleep(1.0)  # into the caller's turn


def test_a_line_that_is_cut_is_named_and_the_call_is_played_once_it_is_back(
    agent_port: int, harness_command: Callable[..., Finished], pack: Path, tmp_path: Path
) -> None:
    folder, proxy = tmp_path / "r", PEERS / "proxy.py"
    with started(proxy, agent_port) as (line, port):
        running = begin(folder, pack, elsewhere("far", port, tmp_path))
        wait_for_a_call(running, folder)
        os.kill(line.pid, signal.SIGKILL)
        out, err = running.communicate(timeout=120)
    assert running.returncode == 3, err
    (failure,) = json.loads(out)["failures"]
    assert failure["kind"] == "closed_early"
    assert failure["detail"].startswith("the line broke without a goodbye")
    (session,) = RunStore.open(folder).sessions()
    assert (session.status, session.failure_kind) == ("failed", "closed_early")
    assert (session.folder / "recording.json").exists(), "what was recorded until then is kept"
    with started(proxy, agent_port, port):
        done = harness_command("run", "--resume", "--out", folder, "--judge", "none", "--json")
    assert done.code == 0, done.err
    assert {s.status for s in RunStore.open(folder).sessions()} == {"finished"}


@pytest.mark.long
def test_a_line_that_carries_nothing_is_silence(agent_port: int, pack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    with started(PEERS / "proxy.py", agent_port) as (line, port):
        running = begin(folder, pack, elsewhere("far", port, tmp_path))
        wait_for_a_call(running, folder)
        os.kill(line.pid, signal.SIGSTOP)
        out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    assert json.loads(out)["agents"]["far"]["no_reply"] == 1
