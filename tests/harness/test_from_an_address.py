"""An agent at an address, without a profile: what is found out, what is asked for, and that a run of it is one of its file."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve

from harness.agent_check.which_kind import agent_at
from harness.agents.address import SCHEMES, AgentAddress, kinds_at
from harness.agents.new_profile import AT_AN_ADDRESS, words_about
from harness.agents.profile import load_profile, profile_class
from harness.errors import AgentError, UserError
from tests.harness.conftest import PEERS, Finished, harness

Here = Callable[..., Finished]


@contextmanager
def running(program: str, *words: str) -> Iterator[str]:
    """The first line of output of a server of known behaviour."""
    command = [sys.executable, program, *words]
    with subprocess.Popen(command, cwd=PEERS, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.kill()


@pytest.fixture(scope="module")
def bot() -> Iterator[str]:
    """The address of a bot that says the caller's words back, over PCM16."""
    with running("agent.py", "--wire", "raw-pcm", "--behaviour", "echo") as ready:
        yield str(json.loads(ready)["url"])


def nobody_there() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def test_every_kind_is_found_by_its_scheme() -> None:
    assert {kind for scheme in SCHEMES for kind in kinds_at(scheme)} == set(AT_AN_ADDRESS)
    assert kinds_at("wss") == kinds_at("ws")
    for kind in AT_AN_ADDRESS:
        assert words_about(kind).keyed == ("api_key_env" in profile_class(kind).model_fields), kind


@pytest.mark.parametrize("kind", AT_AN_ADDRESS)
def test_the_agent_at_an_address_has_the_hash_of_its_saved_file(kind: str, tmp_path: Path) -> None:
    scheme = next(scheme for scheme in ("wss", "https", "sip") if kind in kinds_at(scheme))
    address = AgentAddress(kind, "sip:a@bot.example.org:8443" if scheme == "sip" else f"{scheme}://bot.example.org:8443/talk")
    profile = load_profile(str(address))
    assert profile.name == "bot.example.org-8443"
    file = tmp_path / f"{profile.name}.toml"
    file.write_text(address.profile_text, encoding="utf-8")
    assert load_profile(file).hash == profile.hash
    assert "\napi_key_env" not in address.profile_text, "no example is taken for a key's name"


async def test_what_answers_says_what_it_is_or_is_asked_for(bot: str) -> None:
    async def realtime(server: ServerConnection) -> None:
        await server.send(json.dumps({"type": "session.created"}))
        await server.wait_closed()

    async with serve(realtime, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert (await agent_at(f"ws://127.0.0.1:{port}/talk", None, "try")).kind == "openai-realtime"
    with pytest.raises(UserError, match=r"add --kind with pipecat-eval or pipecat .* raw-pcm"):
        await agent_at(bot, None, "try")
    assert (await agent_at(bot, "raw-pcm", "try")) == AgentAddress("raw-pcm", bot)
    assert (await agent_at("sip:agent@127.0.0.1:5060", None, "try")).kind == "sip"
    assert (await agent_at("ws://127.0.0.1:1/ws-client", None, "try")).kind == "pipecat"
    live = await agent_at("wss://api.example.org/v1/live/sessions?model=gpt-live-1", None, "try")
    assert live == AgentAddress("openai-live", "wss://api.example.org/v1/live/sessions", "gpt-live-1")
    with pytest.raises(AgentError, match="nothing listens there"):
        await agent_at(f"ws://{nobody_there()}/", None, "try")


async def test_a_text_model_is_found_by_the_list_of_its_models() -> None:
    served = ["one"]

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        body = json.dumps({"data": [{"id": name} for name in served]}) if path == "/v1/models" else "<html>"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answered, "127.0.0.1", 0) as server:
        place = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        found = await agent_at(place, None, "try")
        assert found == AgentAddress("text", f"{place}/v1", "one") == AgentAddress.of("text", f"{place}/v1?model=one")
        assert AgentAddress.parse(str(found)) == found
        assert found.name == "one"
        assert 'model = "one"' in found.profile_text
        assert f'base_url = "{place}/v1"' in found.profile_text
        served[:] = ["one", "two"]
        with pytest.raises(UserError, match=r"it has 2 models; name one, as in .*/v1\?model=one"):
            await agent_at(f"{place}/v1", None, "try")
        served.clear()
        with pytest.raises(UserError, match=r"add --kind with text .* or webrtc"):
            await agent_at(place, None, "try")
    with pytest.raises(AgentError, match="cannot be reached"):
        await agent_at(f"http://{nobody_there()}", None, "try")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("try", "localhost:8765"), 2, "has no scheme; write ws://localhost:8765"),
        (("try", "ftp://localhost"), 2, "agents are called at ws://"),
        (("try", "ws://localhost:99999/", "--kind", "raw-pcm"), 2, "ws://localhost:99999/: is not an address"),
        (("try", "ws://localhost:1/", "--kind", "raw-pmc"), 2, "did you mean raw-pcm?"),
        (("try", "ws://localhost:1/", "--kind", "sip"), 2, "is not called at ws: addresses"),
        (("try", "ws://localhost:1/", "--kind", "websocket"), 2, "harness agents new websocket"),
        (("try", "baseline", "--kind", "raw-pcm"), 2, "baseline is a profile"),
        (("try", "wss://me:Secret77word@bot.example.org/", "--kind", "raw-pcm"), 2, "write ${NAME} in its place"),
        (("try", "wss://bot.example.org/?token=a8f3k2m9x7q1", "--kind", "raw-pcm"), 2, "write ${NAME} in its place"),
        (("run", "--agent", "ws://localhost:1/"), 2, "write its kind before it, as in raw-pcm=ws://localhost:1/"),
        (("run", "--kind", "raw-pcm"), 2, "add --url"),
        (("run", "--url", "ws://localhost:1/", "--plan", "plan.json"), 2, "already set by the plan"),
        (("run", "--url", "ws://localhost:1/", "--kind", "raw-pcm", "--save-profile", "there.toml"), 2, "is there already"),
        (("run", "--url", "ws://localhost:1/", "--kind", "raw-pcm", "--save-profile", "bot"), 2, "write bot.toml"),
        (("run", "--url", "ws://localhost:1/", "--kind", "raw-pcm", "--mode", "seeded"), 2, "add --mode replay"),
        (("run", "--url", "ws://localhost:1/?room=${ROOM}", "--kind", "raw-pcm"), 2, "add --save-profile FILE"),
    ],
)
def test_a_mistake_is_one_sentence(words: tuple[str, ...], code: int, said: str, harness_here: Here, tmp_path: Path) -> None:
    (tmp_path / "there.toml").write_text("mine")
    done = harness_here(*words)
    assert done.code == code, done.err
    assert said in done.err
    assert "Secret77word" not in done.err
    assert "a8f3k2m9x7q1" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["there.toml"]
    assert (tmp_path / "there.toml").read_text() == "mine"


def test_nobody_at_the_address_ends_with_3(harness_here: Here) -> None:
    for kind in ("openai-realtime", "raw-pcm"):
        words = ("run", "--url", f"ws://{nobody_there()}/", "--kind", kind)
        done = harness_here(*words)
        assert done.code == 3, done.err
        assert "nothing listens" in done.err
        assert ("--mode replay" in done.err) == (kind == "raw-pcm"), "it is played, and how is said"
    done = harness_here("try", f"ws://{nobody_there()}/")
    assert done.code == 3, done.err
    assert "nothing listens" in done.err


def test_a_run_of_the_address_is_planned_as_a_run_of_its_saved_file(harness_here: Here, tmp_path: Path, pack: Path) -> None:
    of_the_run = ("--pack", pack, "--mode", "replay")
    url = ("--url", "ws://localhost:8765/", "--kind", "raw-pcm")
    assert harness_here("run", *url, "--pack", pack, "--write-plan", "address.json").code == 0
    done = harness_here("run", *url, *of_the_run, "--save-profile", "localhost-8765.toml", "--write-plan", "saved.json")
    assert done.code == 0, done.err
    assert 'kind = "raw-pcm"\nurl = "ws://localhost:8765/"' in (tmp_path / "localhost-8765.toml").read_text()
    harness_here("run", "--agent", "localhost-8765.toml", *of_the_run, "--write-plan", "file.json")
    plans = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("address", "saved", "file")]
    assert plans[0]["experiment"]["mode"] == "replay"
    assert plans[0]["agents"] == plans[1]["agents"] == plans[2]["agents"]
    assert plans[0]["experiment"]["agents"] == ["raw-pcm=ws://localhost:8765/"], "any machine can play it, and resume it"
    done = harness_here("run", "--agent", "localhost-8765.toml", *url, *of_the_run, "--write-plan", "two.json")
    assert done.code == 2, "one agent twice"
    harness_here("run", "--url", "ws://localhost:1/", "--kind", "raw-pcm", "--agent", "localhost-8765.toml", *of_the_run,
                 "--write-plan", "both.json")  # fmt: skip
    both = json.loads((tmp_path / "both.json").read_text())
    assert [agent["name"] for agent in both["agents"]] == ["localhost-8765", "localhost-1"]


def test_a_key_is_named_and_is_in_no_file(
    harness_here: Here, tmp_path: Path, pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_TOKEN", "q9w8e7r6t5y4u3i2")
    done = harness_here(
        "run", "--url", "wss://bot.example.org/?token=${BOT_TOKEN}", "--kind", "raw-pcm", "--save-profile", "bot.toml",
        "--mode", "replay", "--pack", pack, "--write-plan", "plan.json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "${BOT_TOKEN}" in (tmp_path / "bot.toml").read_text()
    written = [done.out, done.err, *(path.read_text() for path in tmp_path.iterdir())]
    assert not any("q9w8e7r6t5y4u3i2" in text for text in written)


def test_an_address_is_tried_with_one_call(bot: str, tmp_path: Path) -> None:
    done = harness(tmp_path, "try", bot, "--kind", "raw-pcm", "--save-profile", "mine.toml")
    assert done.code == 0, done.err
    assert "mine works: TTFA " in done.out
    assert "in this one call" in done.out
    assert "run --agent mine.toml --mode replay --limit 4" in done.out
    assert "add: " in done.out
    assert (tmp_path / "mine.toml").read_text().startswith("# Any agent that takes and gives PCM16")


def test_a_text_model_is_tried_at_its_address(tmp_path: Path) -> None:
    with running("scripted_openai.py") as url:
        done = harness(tmp_path, "agents", "try", url, "--json")
    assert done.code == 0, done.err
    first = done.json["one_call"]
    assert first["figure"] == "TTFT"
    assert 150 <= first["ms"] < 1_500
    assert first["within_ms"] is None
