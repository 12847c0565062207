"""A session from its socket to its end: what is sent at once, when a reply is done, one end of a turn, and what is left."""

import asyncio
import gc
import socket
from typing import Any, cast

import numpy as np
import pytest
import websockets
from pipecat.transports import base_output
from pipecat.turns.user_stop import EagerUserTurnStopStrategy, ExternalUserTurnStopStrategy

from harness.agents import marks
from harness.agents.cascade.endpoint_policies import FixedSilence
from harness.agents.cascade.pipeline import Session
from harness.agents.cascade.server import listen
from harness.agents.cascade.short_context_whisper import ShortContextWhisper
from harness.agents.cascade.streaming_stt import StreamingSTT
from harness.agents.cascade.turn_text import least_words
from harness.calibrate.voice import synthetic_voice
from tests.agents.cascade import driver
from tests.agents.cascade import scripted_parts as scripted

SETTINGS: dict[str, Any] = {
    "stt": {"service": "streaming-whisper"},
    "endpoint": {"policy": "fixed", "silence_ms": 400},
    "tts": {"native_rate": True},
}
SILENT_S, STALL_S = 0.8, 3.0
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


async def test_a_connection_sends_without_waiting_for_acknowledgements() -> None:
    accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def take(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    server = await asyncio.start_server(take, sock=listen(0))
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await accepted
        writer.close()


CALLS = 3


def sessions_there() -> int:
    return sum(isinstance(each, Session) for each in gc.get_objects())


async def test_the_sessions_of_callers_who_left_are_freed() -> None:
    settings = {"stt": {"service": "streaming-whisper"}, "endpoint": {"policy": "fixed", "silence_ms": 500}}
    async with scripted.cascade(scripted.Truth(), settings) as url:
        for _ in range(CALLS):
            async with websockets.connect(url, compression=None):
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.1)
        # The last may still be on its way out.
        assert sessions_there() <= 1


@pytest.mark.parametrize("eager", [True, False])
async def test_the_end_of_a_turn_is_never_looked_for_by_the_clock(eager: bool) -> None:
    # Nothing here transcribes, so no recogniser is needed.
    stt = StreamingSTT(cast(ShortContextWhisper, None), FixedSilence(500), enable_eager_end_of_turn=eager)
    strategies = stt.service_metadata_frame().user_turn_strategies
    assert strategies is not None
    assert strategies.stop is not None
    [stop] = strategies.stop
    assert isinstance(stop, ExternalUserTurnStopStrategy)
    assert isinstance(stop, EagerUserTurnStopStrategy) is eager
    assert stop._timeout > 3600


def test_a_grown_piece_may_lose_a_word_and_not_half_of_them() -> None:
    assert least_words(0) == 0
    assert least_words(21) > 5
    assert least_words(10) < 9
