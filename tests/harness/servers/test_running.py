"""The model servers of running agents: read while agents run, by each profile's own option."""

import asyncio
from pathlib import Path

from harness.agents.profile import parse_profile
from harness.clock import now_ns
from harness.progress import RunProgress
from harness.run.running_agents import RunningAgents
from harness.servers.samples import SERVERS_FILE, load_samples
from tests.harness.conftest import PEERS
from tests.harness.servers.test_scraper import PAGE, page, serving

ECHO = """
name = "{name}"
kind = "raw-pcm"
[process]
command = ["{{python}}", "agent.py", "--wire", "raw-pcm", "--behaviour", "echo"]
ready_timeout_s = 30
stop_timeout_s = 1
"""


class Notes(RunProgress):
    """Progress whose notes can be read."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


async def test_each_agents_servers_are_read_while_it_runs_and_what_is_wrong_is_said_at_the_end(tmp_path: Path) -> None:
    progress = Notes()
    with serving(lambda handler, n: page(handler, PAGE.format(n))) as url:
        watched = ECHO.format(name="watched") + f'[metrics]\nurl = "{url}"\n'
        unknown = ECHO.format(name="unknown") + '[metrics]\nserver = "vllm"\n'
        texts = (watched, unknown, ECHO.format(name="plain"))
        profiles = tuple(parse_profile(text, PEERS / "made-up.toml") for text in texts)
        async with RunningAgents(profiles, {}, tmp_path / "logs", progress) as running:
            began_ns = now_ns()
            for _ in range(400):
                if len(running.server_samples("watched", began_ns, now_ns())) >= 3:
                    break
                await asyncio.sleep(0.05)
            assert len(running.server_samples("watched", began_ns, now_ns())) >= 3
            assert running.server_samples("plain", 0, now_ns()) == ()
        over = len(running.server_samples("watched", 0, now_ns()))
        await asyncio.sleep(0.3)
        assert len(running.server_samples("watched", 0, now_ns())) == over, "read no more"
    assert progress.notes == ['metrics of "unknown" (llm): the agent printed no address of them; give `url` in [metrics]']
    stored = load_samples(tmp_path)
    assert (tmp_path / SERVERS_FILE).exists()
    assert {(s.agent, s.server) for s in stored} == {("watched", "vllm")}


SERVES_BOTH = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Page(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"# TYPE vllm:num_requests_running gauge\\nvllm:num_requests_running 2\\n")

server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Page)
print(json.dumps({"event": "ready", "url": f"ws://127.0.0.1:{sys.argv[1]}/"}), flush=True)
server.serve_forever()
"""


async def test_a_port_that_the_harness_chose_is_filled_in(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(SERVES_BOTH, encoding="utf-8")
    text = (
        'name = "mine"\nkind = "raw-pcm"\n[process]\ncommand = ["{python}", "bot.py", "{port}"]\n'
        '[metrics]\nurl = "http://127.0.0.1:{port}/metrics"\n'
    )
    progress = Notes()
    async with RunningAgents((parse_profile(text, tmp_path / "mine.toml"),), {}, tmp_path / "logs", progress) as running:
        for _ in range(200):
            if found := running.server_samples("mine", 0, now_ns()):
                break
            await asyncio.sleep(0.05)
    assert progress.notes == []
    assert found[-1].columns["running"] == 2


async def test_a_run_without_model_servers_reads_nothing(tmp_path: Path) -> None:
    profile = parse_profile(ECHO.format(name="plain"), PEERS / "made-up.toml")
    async with RunningAgents((profile,), {}, tmp_path / "logs", Notes()):
        pass
    assert not (tmp_path / SERVERS_FILE).exists()
