"""A server that says why it gives no answer is quoted wherever the turn is shown: terminal, page, JSON and its session."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import Finished

Command = Callable[..., Finished]
KEY = "sk-proj-Qz7pth9xaB4kW2mN8vLr"
AGENT = """
import asyncio, json, sys
from websockets.asyncio.server import serve

async def call(socket):
    async for _ in socket:
        await socket.send(json.dumps({"type": "error", "message": "You exceeded your current quota. Key: KEY"}))
        async for _ in socket:
            pass

async def main():
    async with serve(call, "127.0.0.1", 0) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        print(json.dumps({"event": "ready", "url": f"ws://127.0.0.1:{port}/"}), flush=True)
        await asyncio.get_running_loop().create_future()

asyncio.run(main())
""".replace("KEY", KEY)


@pytest.mark.long
def test_the_words_of_the_server_are_where_the_turn_is(harness_virtual: Command, pack: Path, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(AGENT)
    profile = tmp_path / "mine.toml"
    profile.write_text('kind = "raw-pcm"\ngreets = false\n[process]\ncommand = ["{python}", "bot.py"]\n')
    done = harness_virtual(
        "run", "--agent", profile, "--mode", "replay", "--pack", pack, "--limit", 1, "--judge", "none", "--json",
        "--out", tmp_path / "r",
    )  # fmt: skip
    assert done.code == 0, done.err
    words = 'the server says "You exceeded your current quota'
    assert [one["text"] for one in done.json["cautions"] if words in one["text"]]
    assert f"no reply: {words}" in done.err
    with closing(RunStore.open(tmp_path / "r")) as store:
        (session,) = store.sessions()
    assert session.failure_kind is None
    assert all(turn.no_reply and str(turn.why_silent).startswith(words) for turn in session.turn_timings)
    page = next((tmp_path / "r").rglob("*.html")).read_text(encoding="utf-8")
    assert "You exceeded your current quota" in page
    assert KEY not in page + done.out + done.err
