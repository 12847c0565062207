"""The model server that a cascade's `[process]` starts: its port, its environment, its end, and each reason in one line."""

import asyncio
import json
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.agents.cascade.model_server import ModelServer
from harness.agents.llm_server import ServerFailed
from harness.agents.process import AgentProcess
from harness.agents.profile import CascadeProfile, ProfileError, load_profile, parse_profile
from harness.agents.profile_base import ProcessSettings
from harness.agents.this_machine import free_port
from harness.clock import now_ns
from harness.progress import RunProgress
from harness.run.running_agents import RunningAgents

SERVER = textwrap.dedent(
    """
    import json, os, sys, time
    from http.server import BaseHTTPRequestHandler, HTTPServer

    PORT, MODEL = int(sys.argv[1]), sys.argv[2]

    class Model(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass
        def answer(self, code, told):
            body = json.dumps(told).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def do_GET(self):
            if self.path == "/metrics":
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"# TYPE vllm:num_requests_running gauge\\nvllm:num_requests_running 1\\n")
                return
            self.answer(200 if self.path == "/v1/models" else 404, {"data": []})
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with open("seen.json", "w") as out:
                json.dump({"env": dict(os.environ), "asked": asked, "key": self.headers["Authorization"]}, out)
            known = asked["model"] == MODEL
            self.answer(200 if known else 404, {"choices": []} if known else {"error": "no such\\nmodel"})

    if MODEL == "broken":
        sys.exit("the weights are damaged")
    if MODEL == "slow":
        time.sleep(3600)
    HTTPServer(("127.0.0.1", PORT), Model).serve_forever()
    """
)


def settings(tmp_path: Path, serves: str, **more: Any) -> ProcessSettings:
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    return ProcessSettings(command=("{python}", "server.py", "{port}", serves), **more)


async def started(tmp_path: Path, serves: str = "m", asks_for: str = "m", **more: Any) -> ModelServer:
    environment = {**os.environ, "PYTHONPATH": "/ours", "PYTHONSAFEPATH": "1"}
    server = ModelServer(settings(tmp_path, serves, **more), tmp_path, environment)
    await server.start(server.at_its_port("http://127.0.0.1:{port}/v1"), asks_for, "none")
    return server


async def test_it_is_ready_once_it_has_completed_a_token_and_ends_with_the_agent(tmp_path: Path) -> None:
    server = await started(tmp_path, env={"SERVES_AT": "{port}"})
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["asked"]["max_tokens"] == 1
    assert seen["key"] == "Bearer none"
    assert seen["env"]["SERVES_AT"] == server.at_its_port("{port}")
    # Our own path is nothing for a program of the user's.
    assert "PYTHONPATH" not in seen["env"]
    assert server._process is not None
    running = psutil.Process(server._process.pid)
    await server.stop()
    await server.stop()
    assert not running.is_running()


@pytest.mark.parametrize(
    ("serves", "asks_for", "words"),
    [
        ("broken", "m", rf"\[process\] {re.escape(sys.executable)} ended before it was ready \(exit code 1\)"),
        ("other", "m", r'refuses the model "m" \(HTTP 404: .*no such'),
        ("slow", "m", r"was not ready within 1 s \(http://127\.0\.0\.1:\d+/v1/models\)"),
    ],
)
async def test_each_reason_is_one_line(serves: str, asks_for: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match=words) as failed:
        await started(tmp_path, serves, asks_for, **({"ready_timeout_s": 1} if serves == "slow" else {}))
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("ready_url", [None, "http://127.0.0.1:{port}/health"])
async def test_a_server_that_already_runs_at_the_address_is_not_taken_for_it(ready_url: str | None, tmp_path: Path) -> None:
    theirs = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = theirs.sockets[0].getsockname()[1]
    server = ModelServer(settings(tmp_path, "slow", ready_url=ready_url, ready_timeout_s=1), tmp_path, os.environ, port)
    base_url = f"http://127.0.0.1:{free_port() if ready_url else port}/v1"
    with pytest.raises(ServerFailed, match=rf"something else already listens at http://127\.0\.0\.1:{port}/"):
        await server.start(base_url, "m", "none")
    assert server._process is None
    theirs.close()


async def test_a_program_that_is_not_installed_is_named(tmp_path: Path) -> None:
    server = ModelServer(ProcessSettings(command=("no-such-server",)), tmp_path, os.environ)
    with pytest.raises(ServerFailed, match=r"\[process\] no-such-server: No such file or directory"):
        await server.start("http://127.0.0.1:1/v1", "m", "none")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[cascade.llm]\nbase_url = "http://h:{port}/v1"\n', r"which needs a \[process\] table"),
        ('[metrics]\nurl = "http://h:{port}/metrics"\n', r"metrics.url has \{port\}, which needs a \[process\] table"),
        ('[process]\ncommand = ["vllm"]\n', "cascade.llm.base_url must be its address"),
        ('[process]\ncommand = ["x"]\nready_pattern = "up"\n[cascade.llm]\nbase_url = "http://h/v1"\n', "is not read"),
    ],
)
def test_a_server_and_its_address_belong_together(text: str, words: str) -> None:
    with pytest.raises(ProfileError, match=words):
        parse_profile(f'kind = "cascade"\n{text}', Path("mine.toml"))


def test_a_server_is_in_the_profiles_hash_and_takes_none_from_others() -> None:
    text = 'kind = "cascade"\n[process]\ncommand = ["a"]\n[cascade.llm]\nbase_url = "http://h:{port}/v1"\n'
    one, other = (parse_profile(text.replace('"a"', f'"{name}"'), Path("x.toml")) for name in "ab")
    assert one.hash != other.hash
    assert "process" not in load_profile("baseline").model_dump()
    assert isinstance(one, CascadeProfile)
    assert (one.process_settings, one.runs_here, one.weights) == (None, True, ("whisper-tiny.en", "piper-joe"))


@pytest.mark.models
async def test_an_agent_starts_its_server_and_leaves_none_behind(tmp_path: Path, weights: dict[str, str]) -> None:
    settings(tmp_path, "m")
    text = (
        f'name = "served"\nkind = "cascade"\n[process]\ncommand = ["{sys.executable}", "server.py", "{{port}}", "m"]\n'
        '[cascade.llm]\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "m"\n'
    )
    (tmp_path / "served.toml").write_text(text, encoding="utf-8")
    paths = {name: Path(path) for name, path in weights.items()}
    agent = AgentProcess(load_profile(tmp_path / "served.toml"), paths, tmp_path / "log")
    await agent.start()
    assert agent.pid is not None
    servers = [p for p in psutil.Process(agent.pid).children(recursive=True) if "server.py" in p.cmdline()]
    assert len(servers) == 1
    await agent.stop()
    assert psutil.wait_procs(servers, timeout=10)[1] == []


@pytest.mark.long
@pytest.mark.models
async def test_the_metrics_of_its_server_are_read_at_the_servers_port(tmp_path: Path, weights: dict[str, str]) -> None:
    settings(tmp_path, "m")
    text = (
        f'name = "served"\nkind = "cascade"\n[process]\ncommand = ["{sys.executable}", "server.py", "{{port}}", "m"]\n'
        '[metrics]\nurl = "http://127.0.0.1:{port}/metrics"\n'
        '[cascade.llm]\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "m"\n'
    )
    (tmp_path / "served.toml").write_text(text, encoding="utf-8")
    paths = {name: Path(path) for name, path in weights.items()}
    profiles = (load_profile(tmp_path / "served.toml"),)
    async with RunningAgents(profiles, paths, tmp_path / "logs", RunProgress(quiet=True)) as running:
        for _ in range(200):
            if found := running.server_samples("served", 0, now_ns()):
                break
            await asyncio.sleep(0.05)
    assert found[-1].error == ""
    assert found[-1].columns["running"] == 1
