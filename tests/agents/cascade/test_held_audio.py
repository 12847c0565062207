"""A speculative reply is heard only when the turn has ended, and never when it was withdrawn."""

from collections.abc import Sequence

import pytest
from pipecat.frames.frames import (
    EagerEndOfTurnCancelFrame,
    Frame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    TTSAudioRawFrame,
    UserStoppedSpeakingFrame,
)
from pipecat.tests.utils import SleepFrame, run_test

from harness.agents.cascade.held_audio import SPECULATIVE, HeldAudio


def reply(speculative: bool) -> list[Frame]:
    start = LLMFullResponseStartFrame()
    start.metadata[SPECULATIVE] = speculative
    return [start, TTSAudioRawFrame(b"\x01\x00" * 160, 16_000, 1), LLMFullResponseEndFrame()]


async def passed(frames: Sequence[Frame]) -> list[str]:
    down, _ = await run_test(HeldAudio(), frames_to_send=frames)
    return [type(frame).__name__ for frame in down]


@pytest.mark.parametrize(
    ("frames", "heard"),
    [
        ([*reply(False)], True),
        ([*reply(True)], False),
        ([*reply(True), SleepFrame(), UserStoppedSpeakingFrame()], True),
        ([*reply(True), SleepFrame(), EagerEndOfTurnCancelFrame(), SleepFrame(), UserStoppedSpeakingFrame()], False),
        ([UserStoppedSpeakingFrame(), SleepFrame(), *reply(True)], True),
    ],
)
async def test_what_is_heard(frames: list[Frame], heard: bool) -> None:
    assert ("TTSAudioRawFrame" in await passed(frames)) is heard


async def test_the_turn_ends_before_the_reply_is_let_go() -> None:
    names = await passed([*reply(True), SleepFrame(), UserStoppedSpeakingFrame()])
    assert names.index("UserStoppedSpeakingFrame") < names.index("TTSAudioRawFrame")
