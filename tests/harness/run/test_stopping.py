"""One Ctrl-C, or SIGTERM, ends any run within five seconds, leaves nothing running, and blames no agent for it."""

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import PEERS, begin_run, peer
from tests.harness.run.test_run_resume import family_of, wait_until_gone

SECONDS_TO_STOP = 5.0
DEAF_TO_SIGTERM = """\
import runpy, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.path.insert(0, {peers!r})
sys.argv = ["agent.py", "--wire", "raw-pcm", "--behaviour", "echo"]
runpy.run_path({agent!r}, run_name="__main__")
"""


@pytest.fixture
def endpoint_that_never_answers() -> Iterator[str]:
    """Takes every connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []

        def take() -> None:
            while True:
                try:
                    taken.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=take, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        server.shutdown(socket.SHUT_RDWR)
        for connection in taken:
            connection.close()


def wait_until_calls(running: subprocess.Popen[str], folder: Path, at_once: int) -> None:
    """Until so many sessions are on."""
    deadline = time.monotonic() + 120
    while len(list(folder.glob("sessions/.partial-*"))) < at_once:
        assert running.poll() is None, running.communicate()[1]
        assert time.monotonic() < deadline, "no call began in time"
        time.sleep(0.05)


def stop(running: subprocess.Popen[str], how: signal.Signals) -> tuple[float, str]:
    """Seconds from the signal to the end, and what was said."""
    family = family_of(running.pid)
    began = time.monotonic()
    os.kill(running.pid, how)
    _, err = running.communicate(timeout=60)
    took = time.monotonic() - began
    assert not wait_until_gone(family)
    return took, err


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_calls_at_once_end_and_nobody_is_blamed(pack: Path, tmp_path: Path, how: signal.Signals) -> None:
    deaf = tmp_path / "deaf.py"
    deaf.write_text(DEAF_TO_SIGTERM.format(peers=str(PEERS), agent=str(PEERS / "agent.py")))
    profile = tmp_path / "deaf.toml"
    profile.write_text(
        'kind = "raw-pcm"\naccepts_history = true\ngreets = false\n'
        '[process]\nready_timeout_s = 30\ncommand = ["{python}", "deaf.py"]\n'
    )
    folder = tmp_path / "r"
    running = begin_run(folder, pack, "--agent", profile, "--agent", peer("raw-pcm-echo"), "--concurrency", 2, "--repeats", 3)
    wait_until_calls(running, folder, at_once=2)
    took_s, err = stop(running, how)
    assert took_s < SECONDS_TO_STOP
    assert running.returncode == 130
    assert "Traceback" not in err
    assert [s for s in RunStore.open(folder).sessions() if s.status == "failed"] == []


def test_an_endpoint_that_never_answers_holds_nobody_up(pack: Path, tmp_path: Path, endpoint_that_never_answers: str) -> None:
    profile = tmp_path / "writer.toml"
    profile.write_text(f'kind = "text"\nmodel = "m"\nbase_url = "{endpoint_that_never_answers}"\n')
    folder = tmp_path / "r"
    running = begin_run(folder, pack, "--agent", profile)
    wait_until_calls(running, folder, at_once=1)
    took_s, err = stop(running, signal.SIGINT)
    assert took_s < SECONDS_TO_STOP
    assert "Traceback" not in err
    assert RunStore.open(folder).sessions() == []
