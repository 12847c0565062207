"""A bot that was not written here: stock pipecat, its own VAD, no history. It must be spoken to as it is."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.agents.connection import AudioChunk, Closed, ConnectionFailed, Event, Mark
from harness.agents.connections import ConnectionSpec, make
from harness.agents.message import Message
from harness.agents.process import AgentProcess
from harness.agents.profile import AgentProfile, load_profile

StartPeer = Callable[[AgentProfile | str], Awaitable[AgentProcess]]
Call = Callable[..., Awaitable[list[Event]]]


def sentence(path: Path) -> bytes:
    word, rate_hz = soundfile.read(path, dtype="int16")
    assert rate_hz == 16_000
    said = np.tile(word[1_500:8_200], 4)
    return np.concatenate([said, np.zeros(32_000, np.int16)]).astype("<i2").tobytes()


async def test_a_bot_by_somebody_else_hears_and_is_heard(peers: Path, start: StartPeer, call: Call, word: Path) -> None:
    profile = load_profile(peers / "stock-bot.toml")
    agent = await start(profile)
    line = make(profile.connection(agent.url))
    assert not line.capabilities.accepts_history
    await line.open(())

    def said_it(events: Sequence[Event]) -> bool:
        return sum(len(e.pcm) for e in events if isinstance(e, AudioChunk)) > 24_000 and len(_marks(events)) > 0

    events = await call(line, sentence(word), said_it)
    audio = [event for event in events if isinstance(event, AudioChunk)]
    assert {chunk.rate_hz for chunk in audio} == {24_000}
    loudest = np.abs(np.frombuffer(b"".join(chunk.pcm for chunk in audio), "<i2").astype(int)).max()
    assert loudest > 3_000
    spoke = _marks(events)["rtvi.bot-started-speaking"]
    assert spoke.at_ns == spoke.arrival_ns
    assert spoke.detail["stamped"] == "arrival"
    assert isinstance(events[-1], Closed)
    assert events[-1].error is None


@pytest.mark.long
async def test_its_missing_history_is_said_before_the_call(peers: Path, start: StartPeer) -> None:
    profile = load_profile(peers / "stock-bot.toml")
    assert not profile.accepts_a_history
    agent = await start(profile)
    history = [Message("user", "hi")]
    with pytest.raises(ConnectionFailed, match="--mode replay") as caught:
        await make(profile.connection(agent.url)).open(history)
    assert caught.value.kind == "no_history"
    wrongly = profile.model_copy(update={"accepts_history": True, "open_timeout_s": 1.5})
    with pytest.raises(ConnectionFailed, match="acknowledgement of the history") as caught:
        await make(wrongly.connection(agent.url)).open(history)
    assert caught.value.kind == "open_timeout"
    with pytest.raises(ConnectionFailed, match="EvalTransportParams"):
        await make(ConnectionSpec("pipecat-eval", agent.url, {"open_timeout_s": 3})).open(history)


@pytest.mark.long
async def test_three_lines_make_it_accept_a_history(
    start: StartPeer, call: Call, profile_of: Callable[[str], AgentProfile]
) -> None:
    profile = profile_of(
        'kind = "pipecat"\nurl = "ws://127.0.0.1:{port}/ws"\naccepts_history = true\n[process]\n'
        'command = ["{python}", "stock_bot.py"]\nenv = { PORT = "{port}", HISTORY = "1" }\n'
        'ready_pattern = "Uvicorn running on"\n'
    )
    agent = await start(profile)
    line = make(profile.connection(agent.url))
    await line.open([Message("user", "hi")])
    events = await call(line, bytes(64_000), lambda events: bool(_marks(events)))
    assert _marks(events)["history"].at_ns < _marks(events)["history"].arrival_ns


def _marks(events: Sequence[Event]) -> dict[str, Mark]:
    return {event.name: event for event in events if isinstance(event, Mark)}
