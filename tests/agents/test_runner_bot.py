"""A bot under pipecat's own runner, which nobody taught anything: by its plain route, and by its evaluation wire."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.agents.connection import FELL_BACK, AudioChunk, Cleared, Closed, ConnectionFailed, Event, Mark, Transcript
from harness.agents.connections import make
from harness.agents.message import Message
from harness.agents.process import AgentProcess
from harness.agents.profile import AgentProfile, load_profile

StartPeer = Callable[[AgentProfile | str], Awaitable[AgentProcess]]
Call = Callable[..., Awaitable[list[Event]]]

HISTORY = (Message("user", "I lost my job — today."), Message("assistant", "I am so sorry. How are you?"))


def caller(path: Path) -> bytes:
    word, _ = soundfile.read(path, dtype="int16")
    said = np.tile(word[1_500:8_200], 4)
    return np.concatenate([np.zeros(8_000, np.int16), said, np.zeros(64_000, np.int16)]).astype("<i2").tobytes()


def marks(events: Sequence[Event]) -> list[str]:
    return [event.name for event in events if isinstance(event, Mark)]


def spoken(events: Sequence[Event]) -> str:
    return " ".join(e.text for e in events if isinstance(e, Transcript) and e.role == "assistant")


def finished(events: Sequence[Event]) -> bool:
    return bool(spoken(events)) and marks(events)[-1:] == ["rtvi.bot-stopped-speaking"]


async def test_an_unmodified_bot_is_given_the_history_and_says_what_it_does(
    peers: Path, start: StartPeer, call: Call, word: Path
) -> None:
    profile = load_profile(peers / "runner-bot-eval.toml")
    assert profile.accepts_a_history
    agent = await start(profile)
    line = make(profile.connection(agent.url))
    await line.open(HISTORY)
    events = await call(line, caller(word), finished)
    assert "I know 3 messages and the first was I lost my job — today." in spoken(events)
    assert [e.text for e in events if isinstance(e, Transcript) and e.role == "user"] == ["what the caller said"]
    audio = b"".join(e.pcm for e in events if isinstance(e, AudioChunk))
    assert np.abs(np.frombuffer(audio, "<i2").astype(int)).max() > 3_000
    told = marks(events)
    order = ["rtvi.vad-user-stopped-speaking", "rtvi.user-stopped-speaking", "rtvi.bot-llm-started", "rtvi.bot-tts-started"]
    assert [name for name in dict.fromkeys(told) if name in order] == order
    assert any(isinstance(event, Cleared) for event in events)
    end = events[-1]
    assert isinstance(end, Closed)
    assert end.error is None


@pytest.mark.long
async def test_each_caller_meets_a_bot_that_knows_nothing_of_the_one_before(
    peers: Path, start: StartPeer, call: Call, word: Path
) -> None:
    profile = load_profile(peers / "runner-bot-eval.toml")
    agent = await start(profile)
    # The next caller meets a bot that knows nothing of the one before.
    line = make(profile.connection(agent.url))
    await line.open(())
    assert "I know 1 messages" in spoken(await call(line, caller(word), finished))

    # By the plain route it is heard as well, and knows nothing.
    plain = load_profile(peers / "runner-bot.toml")
    line = make(plain.connection(agent.url + "-client"))
    await line.open(())
    events = await call(line, caller(word), finished)
    assert "I know 1 messages" in spoken(events)
    assert {"rtvi.user-stopped-speaking", "rtvi.bot-llm-started", "rtvi.metrics"} <= set(marks(events))
    # The telephone's route is the one that people try first.
    wrong = make(plain.connection(agent.url))
    with pytest.raises(ConnectionFailed, match="serves this wire at /ws-client"):
        await wrong.open(())


@pytest.mark.long
async def test_its_greeting_takes_no_part_in_the_history(
    start: StartPeer, call: Call, word: Path, profile_of: Callable[[str], AgentProfile]
) -> None:
    profile = profile_of(
        'kind = "pipecat-eval"\nurl = "ws://localhost:{port}/ws"\nsystem_messages = ["Be kind."]\n[process]\n'
        'command = ["{python}", "runner_bot.py", "--port", "{port}"]\nenv = { GREETS = "1" }\n'
        'ready_pattern = "Uvicorn running on"\nready_timeout_s = 60\n'
    )
    agent = await start(profile)
    line = make(profile.connection(agent.url))
    await line.open(HISTORY)
    twice = lambda events: finished(events) and marks(events).count("rtvi.bot-stopped-speaking") == 2  # noqa: E731
    events = await call(line, bytes(32_000 * 3) + caller(word), twice)
    assert "I know 3 messages and the first was I lost my job" in spoken(events)


def without_evaluations(profile_of: Callable[[str], AgentProfile], variable: str) -> AgentProfile:
    return profile_of(
        f'name = "{variable.lower()}"\nkind = "pipecat-eval"\nurl = "ws://localhost:{{port}}/ws"\n[process]\n'
        f'command = ["{{python}}", "runner_bot.py", "--port", "{{port}}"]\nenv = {{ {variable} = "1" }}\n'
        'ready_pattern = "Uvicorn running on"\nready_timeout_s = 60\n'
    )


@pytest.mark.long
async def test_a_bot_as_the_scaffold_writes_it_is_called_at_its_plain_route(
    start: StartPeer, call: Call, word: Path, profile_of: Callable[[str], AgentProfile]
) -> None:
    profile = without_evaluations(profile_of, "NO_EVAL")
    agent = await start(profile)
    for _ in range(2):  # found out, and known
        line = make(profile.connection(agent.url))
        with pytest.raises(ConnectionFailed, match=r"evaluation wire is off.*EvalTransportParams.*--mode replay") as caught:
            await line.open(HISTORY)
        assert caught.value.kind == "no_history", "the bot would be judged on words that it never got"
        await line.close()
    line = make(profile.connection(agent.url))
    await line.open(())
    assert not line.capabilities.accepts_history
    events = await call(line, caller(word), finished)
    assert "I know 1 messages" in spoken(events)
    (why,) = [event for event in events if isinstance(event, Mark) and event.name == FELL_BACK]
    assert "called at /ws-client instead, without a history" in str(why.detail["why"])
    assert isinstance(events[-1], Closed)
    assert events[-1].error is None
    log = agent.log_path.read_text()
    assert log.count("Detected transport: eval") == 1, "a bot is not made to fail in every call"


@pytest.mark.long
async def test_a_bot_that_fails_on_every_caller_is_not_said_to_lack_a_wire(
    start: StartPeer, profile_of: Callable[[str], AgentProfile]
) -> None:
    profile = without_evaluations(profile_of, "BROKEN")
    agent = await start(profile)
    for history in ((), HISTORY):
        with pytest.raises(ConnectionFailed) as caught:
            await make(profile.connection(agent.url)).open(history)
        assert caught.value.kind == "closed_early"
        assert "is off" not in str(caught.value)
