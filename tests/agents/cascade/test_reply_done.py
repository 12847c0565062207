"""A reply is done once, after its last sound: not where its voice waits for the model's next words."""

from typing import Any

import numpy as np
import pytest
from pipecat.transports import base_output

from harness.agents import marks
from harness.calibrate.voice import synthetic_voice
from tests.agents.cascade import driver
from tests.agents.cascade import scripted_parts as scripted

SETTINGS: dict[str, Any] = {
    "stt": {"service": "streaming-whisper"},
    "endpoint": {"policy": "fixed", "silence_ms": 400},
    "tts": {"native_rate": True},
}
SILENT_S, STALL_S = 0.8, 2.2
"""How long pipecat waits for more sound before it takes a voice for silent (3 s by itself), and a longer wait."""


@pytest.mark.parametrize("stall_s", [0.0, STALL_S])
async def test_a_voice_that_waits_for_the_model_is_not_done(stall_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_output, "BOT_VAD_STOP_FALLBACK_SECS", SILENT_S)
    voice = synthetic_voice(1.2, 16_000, np.random.default_rng(3)) * 0.08 * 32768
    speech = np.clip(voice, -32768, 32767).astype(np.int16)
    async with scripted.cascade(scripted.Truth(), SETTINGS, stall_s=stall_s) as url:
        heard = await driver.call(url, speech, quiet_s=stall_s + 1.2, limit_s=40)
    arrivals = [arrival_ns for arrival_ns, *_ in heard.audio]
    gaps_s = np.diff(arrivals) / 1e9
    assert (gaps_s.max() > 1.5) == bool(stall_s), "the voice was silent in the middle of the reply"
    (done_ns,) = [mark["at_ns"] for mark in heard.marks if mark["name"] == marks.REPLY_DONE]
    assert done_ns >= arrivals[-1] - 1e9
