"""Agents as processes: ready when they say so, dead without a trace, and never an orphan."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from harness.agents import supervise
from harness.agents.process import AgentFailed, AgentProcess
from harness.agents.profile import AgentProfile

StartPeer = Callable[[AgentProfile | str], Awaitable[AgentProcess]]
MakeProfile = Callable[[str, str], AgentProfile]
ProfileOf = Callable[[str], AgentProfile]

LESS_DEADLY = [pytest.param(one, marks=pytest.mark.long) for one in (signal.SIGTERM, signal.SIGINT)]
PARENT = """
import asyncio, json, time
from pathlib import Path
from harness.agents.process import AgentProcess
from harness.agents.profile import load_profile

async def main():
    agent = AgentProcess(load_profile({profile!r}), {{}}, Path({log!r}))
    await agent.start()
    print(json.dumps(agent.pid), flush=True)

asyncio.run(main())
time.sleep(3600)
"""


def family_of(pid: int) -> list[psutil.Process]:
    """The agent, its supervisor, and everything below them."""
    supervisor = psutil.Process(pid).parent()
    assert supervisor is not None
    return [supervisor, *supervisor.children(recursive=True)]


def wait_until_gone(processes: list[psutil.Process], seconds: float = 10) -> list[psutil.Process]:
    return psutil.wait_procs(processes, timeout=seconds)[1]


async def test_an_agent_is_ready_when_it_says_so_and_ends_when_told(start: StartPeer, peer: MakeProfile) -> None:
    agent = await start(peer("raw-pcm", "echo"))
    assert agent.alive
    assert agent.url.startswith("ws://127.0.0.1:")
    assert agent.pid is not None
    assert psutil.Process(agent.pid).is_running()
    assert agent.failure() is None
    family = family_of(agent.pid)
    await agent.stop()
    assert not agent.alive
    assert agent.failure() is None
    assert wait_until_gone(family) == []
    await agent.stop()


@pytest.mark.parametrize(
    ("printed", "metrics"),
    [
        ('"metrics": "http://127.0.0.1:4711/metrics"', "http://127.0.0.1:4711/metrics"),
        ('"metrics": 4711', None),
        ('"other": "http://127.0.0.1:4711/metrics"', None),
    ],
)
async def test_an_agent_may_print_the_address_of_its_model_servers_metrics(
    start: StartPeer, profile_of: ProfileOf, printed: str, metrics: str | None
) -> None:
    ready = f'{{"event": "ready", "url": "ws://127.0.0.1:1/", {printed}}}'
    command = f"import time; print({ready!r}, flush=True); time.sleep(60)"
    agent = await start(profile_of(f"kind = 'raw-pcm'\n[process]\ncommand = ['{{python}}', '-c', {json.dumps(command)}]\n"))
    assert agent.url == "ws://127.0.0.1:1/"
    assert agent.metrics_url == metrics


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ('ready_url = "http://127.0.0.1:{port}/"', 'url = "ws://127.0.0.1:{port}/"'),
        ('ready_url = "tcp://127.0.0.1:{port}"', 'url = "ws://127.0.0.1:{port}/"'),
        ('ready_pattern = "Serving .* on"', 'url = "ws://127.0.0.1:{port}/"'),
    ],
)
async def test_a_users_bot_may_be_ready_in_its_own_way(
    start: StartPeer, settings: str, url: str, profile_of: ProfileOf
) -> None:
    command = '["{python}", "-m", "http.server", "--bind", "127.0.0.1", "{port}"]'
    agent = await start(profile_of(f'kind = "pipecat"\n{url}\n[process]\ncommand = {command}\n{settings}\n'))
    assert agent.alive
    assert "{port}" not in agent.url


async def test_an_agent_that_cannot_start_says_why(start: StartPeer, peer: MakeProfile) -> None:
    with pytest.raises(AgentFailed, match="exit code 1") as caught:
        await start(peer("raw-pcm", "refuses-to-start"))
    assert caught.value.kind == "start_failed"
    assert caught.value.log_lines[-1] == "no model at /models/none.gguf"
    assert "\n" not in str(caught.value)


async def test_a_command_that_does_not_exist_is_named(start: StartPeer, profile_of: ProfileOf) -> None:
    with pytest.raises(AgentFailed, match=r"no-such-program: No such file") as caught:
        await start(profile_of('kind = "raw-pcm"\n[process]\ncommand = ["/no-such-program"]\n'))
    assert caught.value.kind == "start_failed"


async def test_an_agent_that_is_never_ready_is_given_up_and_ended(start: StartPeer, profile_of: ProfileOf) -> None:
    began = time.monotonic()
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(AgentFailed, match=r"was not ready within 1\.5 s") as caught:
        await start(
            profile_of(
                'kind = "raw-pcm"\n[process]\nready_timeout_s = 1.5\nstop_timeout_s = 1\n'
                'command = ["{python}", "agent.py", "--wire", "raw-pcm", "--behaviour", "never-ready"]\n'
            )
        )
    assert caught.value.kind == "start_timeout"
    assert time.monotonic() - began < 15
    assert set(psutil.Process().children(recursive=True)) <= before


async def test_a_death_is_noticed_and_named(start: StartPeer, peer: MakeProfile) -> None:
    agent = await start(peer("raw-pcm", "echo"))
    assert agent.pid is not None
    family = family_of(agent.pid)
    os.kill(agent.pid, signal.SIGKILL)
    assert await asyncio.to_thread(wait_until_gone, family) == []
    assert not agent.alive
    failure = agent.failure()
    assert failure is not None
    assert failure.kind == "died"
    assert "SIGKILL" in str(failure)


async def test_stopping_leaves_nothing_behind_not_even_daemons(start: StartPeer, peer: MakeProfile) -> None:
    agent = await start(peer("raw-pcm", "leaves-children"))
    assert agent.pid is not None
    family = family_of(agent.pid)
    assert len(family) >= 5
    await agent.stop()
    assert wait_until_gone(family) == []


async def test_a_crash_of_the_agent_leaves_nothing_behind(start: StartPeer, peer: MakeProfile) -> None:
    agent = await start(peer("raw-pcm", "leaves-children"))
    assert agent.pid is not None
    family = family_of(agent.pid)
    os.kill(agent.pid, signal.SIGSEGV)
    assert await asyncio.to_thread(wait_until_gone, family) == []


@pytest.mark.parametrize("deadly", [signal.SIGKILL, *LESS_DEADLY])
def test_a_harness_that_is_killed_leaves_no_orphan(peers: Path, tmp_path: Path, deadly: signal.Signals) -> None:
    program = PARENT.format(profile=str(peers / "raw-pcm-leaves-children.toml"), log=str(tmp_path / "agent.log"))
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    family = family_of(json.loads(parent.stdout.readline()))
    assert len(family) >= 5
    parent.send_signal(deadly)
    parent.wait(10)
    assert wait_until_gone(family) == []


def test_a_supervisor_that_is_killed_takes_the_agent_with_it(tmp_path: Path, peer: MakeProfile) -> None:
    async def start_and_kill() -> bool:
        agent = AgentProcess(peer("raw-pcm", "echo"), {}, tmp_path / "agent.log")
        await agent.start()
        assert agent.pid is not None
        supervisor, leader = family_of(agent.pid)[:2]
        supervisor.kill()
        gone = await asyncio.to_thread(wait_until_gone, [leader]) == []
        alive = agent.alive
        await agent.stop()
        return gone and not alive

    assert asyncio.run(start_and_kill())


async def test_a_users_bot_sees_nothing_of_the_harness(
    start: StartPeer, monkeypatch: pytest.MonkeyPatch, profile_of: ProfileOf, peers: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent.parent))
    monkeypatch.setenv("MY_OWN_SETTING", "from the environment")
    monkeypatch.setenv("MY_OWN_KEY", "from-the-environment-4711")
    tell = (
        "import json, os, sys; print(json.dumps({'path': sys.path, 'cwd': os.getcwd(), 'env': dict(os.environ)}));"
        "print(json.dumps({'event': 'ready', 'url': 'ws://x/y'})); import time; time.sleep(60)"
    )
    agent = await start(
        profile_of(f'kind = "raw-pcm"\n[process]\ncommand = ["{{python}}", "-S", "-c", "{tell}"]\nenv = {{ MODE = "test" }}\n')
    )
    told = json.loads(agent.log_path.read_text().splitlines()[0])
    assert told["cwd"] == str(peers)
    assert str(Path(__file__).parent.parent.parent) not in told["path"]
    assert "PYTHONPATH" not in told["env"]
    assert told["env"]["MODE"] == "test"
    assert told["env"]["MY_OWN_SETTING"] == "from the environment"
    assert told["env"]["MY_OWN_KEY"] == "***", "it has the key, and its log has not"


async def test_an_agent_that_runs_elsewhere_is_only_reached(start: StartPeer, peer: MakeProfile, profile_of: ProfileOf) -> None:
    running = await start(peer("raw-pcm", "echo"))
    elsewhere = profile_of(f'kind = "raw-pcm"\nurl = "{running.url}"\n')
    agent = await start(elsewhere)
    assert agent.pid is None
    assert agent.url == running.url
    assert agent.alive
    await agent.stop()
    assert running.alive
    await running.stop()
    with pytest.raises(AgentFailed, match="nothing listens") as caught:
        await start(elsewhere)
    assert caught.value.kind == "unreachable"


async def test_last_lines_of_a_log_are_safe_to_print(tmp_path: Path, peer: MakeProfile) -> None:
    log = tmp_path / "agent.log"
    log.write_bytes(b"first\n" + b"x" * 100_000 + b"\n\x1b[31mred\xff\nlast\n\n")
    agent = AgentProcess(peer("raw-pcm", "echo"), {}, log)
    assert agent.last_log_lines(2) == ("·[31mred�", "last")
    assert AgentProcess(peer("raw-pcm", "echo"), {}, tmp_path / "none.log").last_log_lines() == ()


@pytest.mark.parametrize("proxied", ["http_proxy", "all_proxy"])
async def test_a_proxy_in_the_environment_does_not_come_between(
    start: StartPeer, profile_of: ProfileOf, proxied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(proxied, "http://127.0.0.1:9")
    agent = await start(
        profile_of(
            'kind = "pipecat"\nurl = "ws://127.0.0.1:{port}/"\n[process]\nready_timeout_s = 20\n'
            'command = ["{python}", "-m", "http.server", "--bind", "127.0.0.1", "{port}"]\n'
            'ready_url = "http://127.0.0.1:{port}/"\n'
        )
    )
    assert agent.alive


def test_a_log_over_its_limit_keeps_the_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "LOG_LIMIT_BYTES", 1_000)
    output, sink = os.pipe()
    log = supervise._Log(tmp_path / "log", output, [], lambda _: None)
    for word in (b"first", b"second", b"third"):
        os.write(sink, word * 200 + b"\n")
        assert log.take()
    os.close(sink)
    assert not log.take()
    dropped, *rest = (tmp_path / "log").read_bytes().splitlines()
    assert (b"earlier output was dropped" in dropped, rest) == (True, [b"third" * 200])


@pytest.mark.long
async def test_an_agent_that_prints_without_end_does_not_fill_the_disk(start: StartPeer, peer: MakeProfile) -> None:
    agent = await start(peer("raw-pcm", "chatters"))

    def bounded() -> bool:
        with agent.log_path.open("rb") as log:
            return log.read(100).startswith(b"[earlier output was dropped")

    async with asyncio.timeout(30):
        while not bounded():  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert agent.alive


async def test_an_address_that_is_taken_is_not_measured_in_the_agents_name(
    start: StartPeer, peer: MakeProfile, profile_of: ProfileOf
) -> None:
    other = await start(peer("raw-pcm", "echo"))
    with pytest.raises(AgentFailed, match="already listens") as caught:
        await start(
            profile_of(
                f'kind = "raw-pcm"\nurl = "{other.url}"\n[process]\nready_url = "{other.url}"\n'
                'command = ["{python}", "-c", "import time; time.sleep(60)"]\n'
            )
        )
    assert caught.value.kind == "start_failed"


def test_a_supervisor_needs_the_standard_library_alone() -> None:
    root = Path(supervise.__file__).parents[2]
    program = f"import sys; sys.path.append({str(root)!r}); from harness.agents import secrets; from harness import files"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
