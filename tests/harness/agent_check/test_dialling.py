"""A test call dials before it does anything that takes time."""

from pathlib import Path

import pytest

from harness.agent_check import call
from harness.agents.profile import parse_profile
from harness.progress import RunProgress
from tests.agents.test_doors import server, status


async def test_what_is_wrong_with_a_door_is_said_before_a_voice_is_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call, "_rendered", lambda _: pytest.fail("a voice was rendered"))
    async with server(status("404 Not Found")) as port:
        profile = parse_profile(f'kind = "pipecat"\nurl = "ws://127.0.0.1:{port}/ws-klient"\n', tmp_path / "mine.toml")
        with RunProgress() as progress:
            trial = await call.try_agent(profile, tmp_path, progress)
    assert (trial.outcome.failure_kind, trial.recording) == ("not_found", None)
    assert f"ws://127.0.0.1:{port}/ws-klient: nothing of this kind is served" in trial.outcome.detail
    assert "/ws-client" in trial.outcome.detail


async def test_no_history_is_given_to_an_agent_that_turns_out_to_take_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Rendered(Exception):
        pass

    def rendered(_: object) -> None:
        raise Rendered

    # A bot under pipecat's runner without the evaluation wire: refuses the history, and is called all the same.
    peers = Path(__file__).parents[2] / "peers"
    text = (
        'kind = "pipecat-eval"\nurl = "ws://localhost:{port}/ws"\n[process]\n'
        'command = ["{python}", "runner_bot.py", "--port", "{port}"]\nenv = { NO_EVAL = "1" }\n'
        'ready_pattern = "Uvicorn running on"\nready_timeout_s = 60\n'
    )
    profile = parse_profile(text, peers / "made-up.toml")
    monkeypatch.setattr(call, "_rendered", rendered)
    with RunProgress() as progress, pytest.raises(Rendered):
        await call.try_agent(profile, tmp_path, progress)
