"""The recogniser that stands for a vendor's: which of its transcripts end a turn, and that no words are lost."""

import asyncio
import subprocess
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from contextvars import Context
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from pipecat.frames.frames import (
    Frame,
    InputAudioRawFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameDirection

from harness.agents.cascade.finalizing_whisper import LEAD_IN_SAMPLES, LONGEST_SAMPLES, FinalizingWhisperSTT
from harness.agents.cascade.recogniser import RATE_HZ, Heard
from harness.agents.cascade.settings import CascadeSettings
from harness.agents.cascade.short_context_whisper import ShortContextWhisper
from tests.agents.cascade.driver import call

Agent = Callable[[str], AbstractContextManager[tuple[str, "subprocess.Popen[str]"]]]
DOWN = FrameDirection.DOWNSTREAM


class Counting:
    """Hears the number of samples, in words; nothing in what is silent. Takes its time."""

    takes_s = 0.0

    def transcribe(self, samples: NDArray[np.float32], *_: object) -> Heard:
        time.sleep(self.takes_s)
        return Heard(f"{np.count_nonzero(samples)} samples" if samples.any() else "", 0)


class Alone(FinalizingWhisperSTT):
    """The service without a pipeline, which keeps its transcripts."""

    def __init__(self) -> None:
        self.recogniser = Counting()
        super().__init__(cast(ShortContextWhisper, self.recogniser), ttfs_p99_s=0.5)
        self._sample_rate = RATE_HZ
        self.sent: list[TranscriptionFrame] = []
        self.tasks: list[asyncio.Task[Any]] = []

    async def push_frame(self, frame: Frame, direction: FrameDirection = DOWN) -> None:
        del direction
        if isinstance(frame, TranscriptionFrame):
            # pipecat's base class marks it here.
            frame.finalized, self._finalize_pending = self._finalize_pending, False
            self.sent.append(frame)

    def create_task(
        self, coroutine: Coroutine[Any, Any, Any], name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        self.tasks.append(asyncio.create_task(coroutine, name=name, context=context))
        return self.tasks[-1]

    async def cancel_task(self, task: asyncio.Task[Any], *_: object) -> None:
        task.cancel()

    async def audio(self, samples: int, level: int) -> None:
        for begin in range(0, samples, 320):
            pcm = np.full(min(320, samples - begin), level, np.int16).tobytes()
            await self.process_frame(InputAudioRawFrame(pcm, RATE_HZ, 1), DOWN)

    async def speaks(self, samples: int) -> None:
        await self.process_frame(VADUserStartedSpeakingFrame(), DOWN)
        await self.audio(samples, 1000)

    async def stops(self) -> None:
        await self.process_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2), DOWN)

    async def heard(self) -> list[tuple[str, bool]]:
        await asyncio.gather(*(task for task in self.tasks if "ttfb" not in task.get_name()))
        return [(frame.text, frame.finalized) for frame in self.sent]


async def test_the_words_of_a_stretch_are_final_and_hold_what_came_before_the_vad_was_sure() -> None:
    stt = Alone()
    await stt.audio(RATE_HZ, 1000)
    await stt.speaks(6_400)
    await stt.stops()
    assert await stt.heard() == [(f"{LEAD_IN_SAMPLES + 6_400} samples", True)]


async def test_an_earlier_stretch_that_comes_late_is_not_taken_for_the_last() -> None:
    stt = Alone()
    stt.recogniser.takes_s = 0.1
    await stt.speaks(6_400)
    await stt.stops()
    await stt.speaks(3_200)
    await stt.stops()
    assert await stt.heard() == [("6400 samples", False), ("3200 samples", True)]


async def test_words_of_a_caller_who_has_gone_on_are_not_final() -> None:
    stt = Alone()
    stt.recogniser.takes_s = 0.1
    await stt.speaks(6_400)
    await stt.stops()
    await stt.speaks(3_200)
    assert await stt.heard() == [("6400 samples", False)]


async def test_speech_without_a_stop_is_heard_in_pieces_and_nothing_is_lost() -> None:
    stt = Alone()
    await stt.speaks(LONGEST_SAMPLES + 3_200)
    await stt.stops()
    assert await stt.heard() == [(f"{LONGEST_SAMPLES} samples", False), ("3200 samples", True)]


async def test_a_stretch_without_words_gives_no_transcript_and_makes_no_other_final() -> None:
    stt = Alone()
    await stt.process_frame(VADUserStartedSpeakingFrame(), DOWN)
    await stt.audio(3_200, 0)
    await stt.stops()
    assert await stt.heard() == []


def test_it_leaves_the_turn_to_pipecats_strategies() -> None:
    settings = CascadeSettings.model_validate({"stt": {"service": "finalizing-whisper"}})
    assert settings.endpoint.policy == "pipecat-default"
    with pytest.raises(ValueError, match="needs the endpoint policy"):
        CascadeSettings.model_validate(
            {"stt": {"service": "finalizing-whisper"}, "endpoint": {"policy": "fixed", "silence_ms": 500}}
        )


@pytest.mark.long
@pytest.mark.models
async def test_pipecats_defaults_beside_it_end_a_turn_with_the_words_of_its_last_stretch(
    run_agent: Agent, speech: NDArray[np.int16]
) -> None:
    with run_agent("baseline-streaming") as (url, _):
        heard = await call(url, speech, quiet_s=0.5, limit_s=60)
    said = {word.strip(".,!?").lower() for word in heard.understood.split()}
    assert {"lost", "job", "told", "wife"} <= said
    assert heard.audio
    assert heard.said
    decided = [m for m in heard.marks if m["name"] == "turn_decided"]
    assert {m["detail"]["strategy"] for m in decided} == {"TurnAnalyzerUserTurnStopStrategy"}
    # The last decision has the last words: none of them comes after it and opens a turn by itself.
    assert heard.mark_ms("asr_done")[-1] <= heard.mark_ms("turn_decided")[-1]
