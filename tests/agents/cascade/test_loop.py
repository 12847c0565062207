"""Whole cascades with their real models, called over their socket.

Speeds are not asserted: how the parts relate within one session is, and that nothing of a session or a process outlives it.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from tests.agents.cascade.driver import call

pytestmark = pytest.mark.models

Agent = Callable[[str], AbstractContextManager[tuple[str, "subprocess.Popen[str]"]]]
HISTORY = [
    {"role": "user", "text": "Hi. I needed to talk to somebody."},
    {"role": "assistant", "text": "I'm glad you called. What happened?"},
]


def words(text: str) -> set[str]:
    return {word.strip(".,!?").lower() for word in text.split()}


@pytest.mark.long
async def test_speculation_is_held_until_the_turn_is_decided_and_sessions_are_independent(
    run_agent: Agent, speech: NDArray[np.int16]
) -> None:
    with run_agent("polaris-like") as (url, process):
        first = await call(url, speech, HISTORY, quiet_s=0.5, limit_s=60)
        second = await call(url, speech, HISTORY, quiet_s=0.5, limit_s=60)
    for heard in (first, second):
        assert {"lost", "job", "told", "wife"} <= words(heard.understood)
        assert heard.audio
        assert heard.said
        assert heard.mark_ms("audio_sent")[0] >= heard.mark_ms("turn_decided")[0]
        request = next(m["detail"]["request"] for m in heard.marks if m["name"] == "audio_sent")
        order = ["llm_requested", "llm_first_token", "first_clause", "tts_started", "tts_first_audio", "audio_sent"]
        own = [m for m in heard.marks if m["detail"].get("request") == request]
        times = [next(m["at_ns"] for m in own if m["name"] == name) for name in order]
        assert times == sorted(times)
    # The second caller's turn holds the second caller's words alone.
    assert words(first.understood) == words(second.understood)
    assert process.returncode == 0, "told to end, it ended cleanly"


@pytest.mark.long
async def test_the_stock_cascade_with_a_delay_in_one_stage(run_agent: Agent, speech: NDArray[np.int16]) -> None:
    delayed = """
        [cascade.endpoint]
        policy = "speech-timeout"
        [cascade.llm]
        max_tokens = 16
        [cascade.delays]
        tts_ms = 700
    """
    with run_agent(delayed) as (url, _):
        heard = await call(url, speech, HISTORY, quiet_s=0.5, limit_s=60)
    assert {"lost", "job", "told", "wife"} <= words(heard.understood)
    bar_ms = heard.mark_ms("tts_first_audio")[0] - heard.mark_ms("tts_started")[0]
    own_ms = heard.mark_ms("tts_done")[0] - heard.mark_ms("tts_started")[0] - 700
    assert 700 <= bar_ms <= 700 + own_ms + 10


@pytest.mark.long
async def test_the_deliberate_cascade_speaks_its_revision_and_times_that(run_agent: Agent, speech: NDArray[np.int16]) -> None:
    with run_agent("deliberate") as (url, _):
        heard = await call(url, speech, HISTORY, quiet_s=0.5, limit_s=120)
    draft = next(m for m in heard.marks if m["name"] == "llm_done" and m["detail"].get("purpose") == "draft")
    first_token = next(m for m in heard.marks if m["name"] == "llm_first_token")
    final_request = next(
        m for m in heard.marks if m["name"] == "llm_requested" and m["detail"]["request"] == first_token["detail"]["request"]
    )
    assert draft["at_ns"] <= final_request["at_ns"] < first_token["at_ns"]
    assert heard.said


@pytest.mark.long
async def test_an_idle_agent_hardly_uses_the_processor_and_killed_leaves_no_language_model_behind(run_agent: Agent) -> None:
    with run_agent("polaris-like") as (_, process):
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        everyone = [psutil.Process(process.pid), *children]
        before_s = sum(sum(p.cpu_times()[:2]) for p in everyone)
        await asyncio.sleep(3)
        used_s = sum(sum(p.cpu_times()[:2]) for p in everyone) - before_s
        process.kill()
        _, alive = await asyncio.to_thread(psutil.wait_procs, children, timeout=5)
    assert used_s < 0.03
    assert not alive


def started_with(profile: Path, weights: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "harness.agents.cascade", "--profile", str(profile), "--weights", json.dumps(weights)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_missing_model_is_one_line_and_exit_3(tmp_path: Path) -> None:
    profile = tmp_path / "lost.toml"
    profile.write_text('[cascade.llm]\nmodel = "/nowhere/model.gguf"\n')
    ended = started_with(profile, {})
    assert ended.returncode == 3
    assert "/nowhere/model.gguf" in ended.stderr.splitlines()[-1]


def test_a_wrong_setting_is_one_line_that_names_it(tmp_path: Path) -> None:
    profile = tmp_path / "wrong.toml"
    profile.write_text("[cascade.llm]\ntemprature = 0.1\n")
    ended = started_with(profile, {})
    assert ended.returncode != 0
    assert "cascade.llm.temprature" in ended.stderr
