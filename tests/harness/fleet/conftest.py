"""A cluster of this machine, as `ray start` makes it, and an agent that answers in writing."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.endpoint import endpoint
from tests.endpoint import writer as writer_at

STARTS_WITHIN_S = 90.0
ANSWER_S = 0.3
"""How long the slow writer thinks: kills find no call that takes no time."""


@dataclass(frozen=True)
class Started:
    """A cluster: its address, and the process that all others of it descend from."""

    address: str
    pid: int


Starts = Callable[[int], Started]


def asked(folder: Path) -> list[str]:
    """What the writer of this folder has answered, in order."""
    lines = [json.loads(line) for line in (folder / "asked.jsonl").read_text().splitlines()]
    return [line["asked"] for line in lines if line["to"] == "agent"]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Path]:
    """The profile of a text agent; `asked.jsonl` beside it counts what it is asked."""
    with writing(tmp_path, 0.0) as profile:
        yield profile


@pytest.fixture
def slow_writer(tmp_path: Path) -> Iterator[Path]:
    """The same, taking its time."""
    with writing(tmp_path, ANSWER_S) as profile:
        yield profile


@contextlib.contextmanager
def writing(folder: Path, answer_s: float) -> Iterator[Path]:
    with endpoint(folder, "--delay-s", answer_s) as url:
        yield writer_at(folder, f"{url}/fleet/v1")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Starts]:
    """Starts a cluster with so many CPUs."""
    # Ray keeps one token for all clusters of a user, so that two tests that start one at once would shut each other out.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with contextlib.ExitStack() as stack:
        yield lambda cpus: stack.enter_context(started(cpus))


@contextlib.contextmanager
def started(cpus: int) -> Iterator[Started]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Not pytest's folder: the names of Ray's sockets must fit into 107 bytes.
    place = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--node-ip-address=127.0.0.1", f"--port={port}"]
    command += [f"--num-cpus={cpus}", "--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={place}", "--block"]
    log = Path(place) / "start.log"
    with log.open("w") as out:
        running = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, "RAY_DEDUP_LOGS": "0"})
    try:
        deadline = time.monotonic() + STARTS_WITHIN_S
        while "Ray runtime started" not in log.read_text():
            assert running.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield Started(f"127.0.0.1:{port}", running.pid)
    finally:
        running.terminate()
        try:
            running.wait(30)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        shutil.rmtree(place, ignore_errors=True)
