"""A cascade whose models are scripts: its pipeline, wire and ends of turns are the real ones, and no weight is needed."""

import json
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from openai import AsyncOpenAI

from harness.agents.cascade import stand_ins
from harness.agents.cascade.settings import ComputingStage
from harness.agents.cascade.stand_ins import REPLY, UNFINISHED, StandInLlm, StandInRecogniser, StandInVoice
from harness.agents.process import AgentProcess
from harness.agents.profile import load_profile
from harness.agents.scripted_sound import Piece, render
from tests.agents.cascade.conftest import SHIPPED
from tests.agents.cascade.driver import RATE_HZ, Call, call

STAGES: tuple[ComputingStage, ...] = ("asr", "llm", "tts")
NOT_RUNNING = textwrap.dedent(
    """
    name = "elsewhere"
    kind = "cascade"

    [process]
    command = ["/no/such/server"]

    [cascade.llm]
    model = "large"
    base_url = "http://127.0.0.1:{port}/v1"
    api_key_env = "NO_SUCH_KEY"
    """
)


@contextmanager
def cascade(profile: Path, *scripted: str) -> Iterator[str]:
    """The address of a running cascade without any weight."""
    command = [sys.executable, "-m", "harness.agents.cascade", "--profile", str(profile), "--stand-in", *scripted]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the agent ended before it was ready"
        yield json.loads(line)["url"]
    finally:
        process.terminate()
        assert process.wait(20) == 0


@pytest.fixture(scope="module")
def babble() -> NDArray[np.int16]:
    """Two seconds that a voice detector takes for speech, ending on sound."""
    return render([Piece(kind="voice", ms=2_000, level_db=-20)], RATE_HZ)


def heard_as_scripted(heard: Call) -> bool:
    """True if the call's first sound is the beginning of the scripted one, sample by sample."""
    pcm = np.concatenate([piece for _, piece, _ in heard.audio])
    sound = StandInVoice()._sound
    first, begun = int(np.flatnonzero(np.abs(pcm) > 250)[0]), int(np.flatnonzero(np.abs(sound) > 250)[0])
    second = heard.audio[0][2]
    return bool(np.abs(pcm[first : first + second].astype(int) - sound[begun : begun + second]).max() <= 1)


@pytest.mark.parametrize("profile", ["polaris-like", "baseline", "baseline-streaming"])
async def test_a_cascade_of_stand_ins_answers_with_the_scripted_sound(profile: str, babble: NDArray[np.int16]) -> None:
    with cascade(SHIPPED / f"{profile}.toml", *STAGES) as url:
        heard = await call(url, babble, quiet_s=4)
    assert heard_as_scripted(heard)
    assert heard.said == REPLY
    assert heard.understood.startswith("It has been a long week")
    asked, token = heard.mark_ms("llm_requested")[-1], heard.mark_ms("llm_first_token")[-1]
    begun, sounded = heard.mark_ms("tts_started"), heard.mark_ms("tts_first_audio")
    assert token - asked >= 1000 * stand_ins.FIRST_TOKEN_S
    assert sounded[-1] - begun[-1] >= 1000 * stand_ins.TTS_S
    assert asked >= heard.mark_ms("asr_done")[0], "the pipeline is the real one: words come before the request"


async def test_a_server_elsewhere_is_neither_started_nor_asked_for_its_key(tmp_path: Path, babble: NDArray[np.int16]) -> None:
    profile = tmp_path / "elsewhere.toml"
    profile.write_text(NOT_RUNNING, encoding="utf-8")
    agent = AgentProcess(load_profile(profile), {}, tmp_path / "log", stand_ins=STAGES)
    await agent.start()
    try:
        assert heard_as_scripted(await call(agent.url, babble))
    finally:
        await agent.stop()


def test_a_longer_sound_has_more_words_and_no_end() -> None:
    recogniser = StandInRecogniser()
    short, long = (recogniser.transcribe(np.zeros(seconds * RATE_HZ, np.float32)) for seconds in (2, 20))
    assert len(long.text.split()) > 5 * len(short.text.split())
    assert short.text.endswith(UNFINISHED)
    assert len(short.tokens) == 5, "people say two and a half words a second"
    assert recogniser.agreed(short.tokens, long.tokens) == short.tokens[:-1], "more sound may change the last word"
    assert long.text.startswith(recogniser.text_of(recogniser.agreed(short.tokens, long.tokens)))
    assert len(recogniser.transcribe(np.zeros(RATE_HZ, np.float32), least_words=9).tokens) == 9
    assert recogniser.states(np.zeros(12 * RATE_HZ, np.float32)).shape == (500, 288), "one for each 24 ms"


def test_a_recogniser_that_is_stopped_answers_at_once() -> None:
    stop = threading.Event()
    recogniser, sound = StandInRecogniser(), np.zeros(RATE_HZ, np.float32)

    def fastest_s() -> float:
        lasted = []
        for _ in range(5):
            began = time.monotonic()
            recogniser.transcribe(sound, stop=stop)
            lasted.append(time.monotonic() - began)
        return min(lasted)

    assert fastest_s() >= stand_ins.ASR_S
    stop.set()
    assert fastest_s() < stand_ins.ASR_S


async def test_the_server_gives_the_reply_at_once_or_word_by_word() -> None:
    server = StandInLlm()
    client = AsyncOpenAI(base_url=await server.start(), api_key="none")
    try:
        asked: Any = [{"role": "user", "content": "Hello."}]
        whole = await client.chat.completions.create(model="any", messages=asked)
        assert whole.choices[0].message.content == REPLY
        stream: Any = await client.chat.completions.create(model="any", messages=asked, stream=True)
        words = [chunk.choices[0].delta.content async for chunk in stream]
        assert "".join(filter(None, words)) == REPLY
        assert len(words) > 20
        async with httpx.AsyncClient(timeout=2) as other:
            address = str(client.base_url)
            await server.stop()
            with pytest.raises(httpx.ConnectError):
                await other.get(address)
    finally:
        await client.close()
        await server.stop()


@pytest.mark.parametrize("profile", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_no_shipped_profile_has_a_stand_in(profile: Path) -> None:
    assert "stand" not in profile.read_text(encoding="utf-8").replace("understand", "")
