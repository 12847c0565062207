"""A text profile without an endpoint: its model is served by a process of the harness, and gone afterwards."""

from pathlib import Path

import psutil
import pytest

from harness import models
from harness.agents.message import Message
from harness.agents.process import AgentProcess
from harness.agents.profile import TextProfile, load_profile
from harness.agents.text import ask


@pytest.mark.models
@pytest.mark.long
async def test_a_model_without_an_endpoint_is_served_and_ended(tmp_path: Path) -> None:
    profile = load_profile("smollm2-text").model_copy(update={"max_tokens": 12})
    assert isinstance(profile, TextProfile)
    agent = AgentProcess(profile, {name: models.resolve(name) for name in profile.weights}, tmp_path / "agent.log")
    await agent.start()
    assert agent.pid is not None
    family = [psutil.Process(agent.pid), *psutil.Process(agent.pid).children(recursive=True)]
    assert len(family) > 1
    history = [Message("user", "My dog died today and I cannot stop crying.")]
    first, second = [await ask(profile, history, agent.url) for _ in range(2)]
    await agent.stop()
    assert len(first.text.split()) > 3
    assert 0 < first.ttft_ms < first.total_ms
    assert second.text == first.text
    assert psutil.wait_procs(family, timeout=10)[1] == []
