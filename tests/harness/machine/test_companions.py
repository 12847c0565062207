"""Who works for an agent that the harness did not start."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.agents.profile import AgentProfile, ProfileError, parse_profile
from harness.machine.companions import companions_of, notes_on

LISTEN = """
import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
time.sleep(60)
"""


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield program
    finally:
        program.kill()
        program.wait()


@contextmanager
def listening() -> Iterator[tuple[int, int]]:
    """(process id, port)."""
    with started([sys.executable, "-c", LISTEN]) as program:
        assert program.stdout is not None
        yield program.pid, int(program.stdout.readline())


@pytest.fixture
def profile() -> Callable[[str], AgentProfile]:
    return lambda text: parse_profile(f'kind = "raw-pcm"\n{text}', Path("mine.toml"))


def test_the_process_behind_an_agent_s_address_is_found(profile: Callable[[str], AgentProfile]) -> None:
    with listening() as (pid, port):
        for host in ("127.0.0.1", "localhost", socket.gethostname()):
            found = companions_of(profile(f'url = "ws://{host}:{port}/"'))
            assert (found.pids, found.agent_seen) == ((pid,), True)


def test_an_agent_by_address_runs_here_only_where_the_address_is_this_machine_s(profile: Callable[[str], AgentProfile]) -> None:
    assert profile('url = "ws://localhost:9/"').runs_here
    far = profile('url = "wss://203.0.113.9/"')
    assert not far.runs_here
    assert not companions_of(far).agent_seen
    assert list(notes_on([far])) == []


def test_an_address_of_this_machine_with_nobody_to_be_seen_behind_it_is_said(profile: Callable[[str], AgentProfile]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mine:
        unseen = profile(f'url = "ws://127.0.0.1:{mine.getsockname()[1]}/"')
        assert not companions_of(unseen).agent_seen, "the harness itself is nobody's companion"
        (note,) = notes_on([unseen])
    assert "not measured" in note
    assert "also" in note


def test_companions_are_found_by_name_by_module_by_port_and_by_address(
    profile: Callable[[str], AgentProfile], tmp_path: Path
) -> None:
    (tmp_path / "keeper.py").write_text("import time; time.sleep(60)")
    sleeper = tmp_path / "my-ollama"
    sleeper.symlink_to("/bin/sleep")
    command = 'command = ["./bot", "--llm", "http://localhost:{spoken}/v1"]'
    with (
        started([str(sleeper), "60"]) as named,
        started([sys.executable, str(tmp_path / "keeper.py")]) as script,
        listening() as (by_port, port),
        listening() as (by_address, spoken),
    ):
        time.sleep(0.2)
        text = f'also = ["my-ollama", "keeper", {port}, "not-there"]\n{command.replace("{spoken}", str(spoken))}'
        mine = profile(f"[process]\n{text}")
        found = companions_of(mine)
        notes = " ".join(notes_on([mine]))
    assert set(found.pids) == {named.pid, script.pid, by_port, by_address}
    assert found.missing == ("not-there",)
    assert "my-ollama" in notes
    assert "not-there not found here" in notes


def test_this_harness_and_who_started_it_are_nobody_s_companions(profile: Callable[[str], AgentProfile]) -> None:
    python = Path(sys.executable).resolve().name
    found = companions_of(profile(f'[process]\ncommand = ["./bot"]\nalso = ["{python}", "python"]'))
    assert os.getpid() not in found.pids
    assert os.getppid() not in found.pids


def test_a_profile_without_companions_keeps_the_hash_that_it_had(profile: Callable[[str], AgentProfile]) -> None:
    without = profile('[process]\ncommand = ["./bot"]')
    assert "also" not in without.model_dump(mode="json")["process"]
    assert profile('[process]\ncommand = ["./bot"]\nalso = []').hash == without.hash
    assert profile('[process]\ncommand = ["./bot"]\nalso = [11434]').hash != without.hash


def test_an_agent_that_runs_already_may_name_companions_alone(profile: Callable[[str], AgentProfile]) -> None:
    mine = profile('url = "ws://localhost:9/"\n[process]\nalso = ["ollama"]')
    assert (mine.process_settings, mine.also) == (None, ("ollama",))


@pytest.mark.parametrize("process", ["", 'cwd = "bot"', 'also = ["ollama"]\ncwd = "bot"', 'also = [0]\ncommand = ["./b"]'])
def test_a_process_that_cannot_be_started_is_refused_in_one_line(profile: Callable[[str], AgentProfile], process: str) -> None:
    with pytest.raises(ProfileError, match=r"mine\.toml"):
        profile(f'url = "ws://localhost:9/"\n[process]\n{process}')
