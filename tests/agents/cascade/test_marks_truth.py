"""The cascade's marks against the stamps of parts that know when they did what, through the real pipeline and socket.

Medians are asserted and not worst cases: a test shares its machine, and a mark that is wrong is wrong every time.
"""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn

from agents import marks
from agents.cascade.llm import Endpoint
from agents.cascade.models import Models
from agents.cascade.server import make_app
from agents.cascade.settings import CascadeSettings
from harness.calibrate.voice import synthetic_voice

CALLS = 5
MOST_MS = 5.0
STAMPED_FIRST = {
    marks.ASR_STARTED: "recognition",
    marks.ASR_DONE: "recognised",
    marks.LLM_REQUESTED: "request",
    marks.LLM_FIRST_TOKEN: "first_token",
    marks.TTS_STARTED: "synthesis",
    marks.TTS_FIRST_AUDIO: "first_audio",
}
SETTINGS: dict[str, Any] = {
    "stt": {"service": "streaming-whisper"},
    "endpoint": {"policy": "fixed", "silence_ms": 400},
    "tts": {"native_rate": True},
}


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import driver
    import scripted_parts

    return driver, scripted_parts


@pytest.mark.parametrize("speculate", [False, True], ids=["after the decision", "speculating"])
async def test_every_mark_lies_where_the_part_itself_says(parts: Any, speculate: bool) -> None:
    driver, scripted = parts
    truth = scripted.Truth()
    voice = synthetic_voice(1.2, 16_000, np.random.default_rng(3)) * 0.08 * 32768
    speech = np.clip(voice, -32768, 32767).astype(np.int16)
    apart_ms: dict[str, list[float]] = {name: [] for name in STAMPED_FIRST}
    with scripted.ScriptedModel(truth) as base_url:
        models = Models(
            scripted.ScriptedRecogniser(truth), scripted.ScriptedVoice(truth), Endpoint(base_url, "scripted"), None
        )
        settings = CascadeSettings.model_validate({**SETTINGS, "speculate": speculate})
        server = uvicorn.Server(
            uvicorn.Config(make_app(settings, models), port=0, log_config=None, lifespan="off", ws_ping_interval=None)
        )
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        for _ in range(CALLS):
            truth.at_ns.clear()
            heard = await driver.call(f"ws://127.0.0.1:{port}/ws", speech, quiet_s=0.6, limit_s=30)
            assert heard.audio
            for mark, name in STAMPED_FIRST.items():
                stamped = [m["at_ns"] for m in heard.marks if m["name"] == mark]
                really = truth.at_ns[name]
                assert len(stamped) == len(really), mark
                apart_ms[mark] += [(one - other) / 1e6 for one, other in zip(stamped, really, strict=True)]
        server.should_exit = True
        await serving
    for mark, values in apart_ms.items():
        assert abs(float(np.median(values))) <= MOST_MS, (mark, values)
