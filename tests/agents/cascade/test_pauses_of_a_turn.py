"""What the streaming recogniser makes of pauses: when it holds its tongue, and what it remembers of a turn cut short."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context
from typing import Any, cast
from unittest.mock import AsyncMock

import numpy as np
import pytest
from numpy.typing import NDArray
from pipecat.frames.frames import Frame, InputAudioRawFrame, ProposedUserStoppedSpeakingFrame
from pipecat.processors.frame_processor import FrameDirection

from harness.agents.cascade.endpoint_policies import PauseEvidence
from harness.agents.cascade.recogniser import Heard, Recogniser
from harness.agents.cascade.settings import StreamingWhisper
from harness.agents.cascade.short_context_whisper import ShortContextWhisper
from harness.agents.cascade.streaming_stt import StreamingSTT, SttTiming
from harness.agents.cascade.turn_tracker import WINDOW_SAMPLES
from tests.agents.cascade.scripted_parts import WithoutTokens
from tests.virtual_time.clock import in_virtual_time

WAIT_MS = 320.0


class Fixed(WithoutTokens):
    """A recogniser that hears the same words in everything."""

    def transcribe(self, _samples: NDArray[np.float32], *_: object) -> Heard:
        return Heard("and then he left", 0)


class Waiting:
    """A policy that keeps what it was shown."""

    longest_ms: float = WAIT_MS

    def __init__(self) -> None:
        self.shown: list[PauseEvidence] = []

    async def silence_needed_ms(self, evidence: PauseEvidence, /) -> float:
        self.shown.append(evidence)
        return WAIT_MS

    def observe_pause(self, _duration_ms: float, /) -> None:
        return None


class Alone(StreamingSTT):
    """The service without a pipeline: it keeps what it would send, and hears a voice in whatever is loud."""

    def __init__(
        self,
        policy: Waiting,
        recogniser: Recogniser | None = None,
        on_words: Callable[[str], Awaitable[None]] | None = None,
        timing: SttTiming = SttTiming(),  # noqa: B008
        alone: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        chosen = recogniser or Fixed()
        super().__init__(chosen, policy, on_words=on_words, timing=timing, alone=alone)
        self.sent: list[Frame] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.faint = 2
        self._vad = cast(Any, self)

    def voice_confidence(self, window: bytes) -> float:
        return float(np.abs(np.frombuffer(window, np.int16)).max() > 1000)

    async def push_frame(self, frame: Frame, direction: FrameDirection = FrameDirection.DOWNSTREAM) -> None:
        del direction
        self.sent.append(frame)

    def create_task(
        self, coroutine: Coroutine[Any, Any, Any], name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        self.tasks.append(asyncio.create_task(coroutine, name=name, context=context))
        return self.tasks[-1]

    async def cancel_task(self, task: asyncio.Task[Any], *_: object) -> None:
        task.cancel()

    @property
    def ends(self) -> int:
        return sum(isinstance(frame, ProposedUserStoppedSpeakingFrame) for frame in self.sent)

    async def hear(self, pattern: str) -> None:
        """One window a letter: `x` is voice, `o` a sound too faint for the detector."""
        for letter in pattern:
            # A gate on level needs something to stand clear of.
            level = {"x": 8000, "o": self.faint}.get(letter, 2)
            window = np.resize(np.array([level, -level], np.int16), WINDOW_SAMPLES)
            await self.process_audio_frame(InputAudioRawFrame(window.tobytes(), 16_000, 1), FrameDirection.DOWNSTREAM)
            await asyncio.sleep(0.02)


@pytest.fixture
def policy() -> Waiting:
    return Waiting()


@in_virtual_time
async def test_a_turn_does_not_end_in_the_window_in_which_its_caller_goes_on(policy: Waiting) -> None:
    stt = Alone(policy)
    await stt.hear("." * 10 + "x" * 20 + "." * 9)
    assert stt.ends == 0
    # 320 ms of audio have passed since the voice fell silent, and the last 32 of them are voice again.
    await stt.hear("x")
    assert stt.ends == 0
    await stt.hear("." * 2)
    assert stt.ends == 1


@pytest.mark.parametrize(("silent_windows", "goes_on"), [(40, True), (90, False)])
@in_virtual_time
async def test_who_goes_on_soon_after_a_turn_was_ended_is_not_new(policy: Waiting, silent_windows: int, goes_on: bool) -> None:
    stt = Alone(policy)
    await stt.hear("." * 10 + "x" * 20 + "." * silent_windows)
    assert stt.ends == 1
    await stt.hear("x" * 20 + "." * 14)
    assert stt.ends == 2
    assert policy.shown[0].said_before == ""
    assert policy.shown[-1].said_before == ("and then he left" if goes_on else "")


class Forgetful(ShortContextWhisper):
    """Decodes to less than was said until the window is long."""

    def __init__(self) -> None:
        self._settings = StreamingWhisper(service="streaming-whisper")
        self._guard_s = 60.0
        self._whisper = cast(Any, self)
        self.windows: list[int] = []

    def feature_extractor(self, samples: NDArray[np.float32], padding: int) -> NDArray[np.float32]:
        del padding
        return np.zeros((80, len(samples) // 160), np.float32)

    def _decode(self, _features: NDArray[np.float32], window: int, _seconds: float) -> str:
        self.windows.append(window)
        return "He left." if window < 1000 else "He left on Sunday and took the radio."


def test_words_that_were_heard_before_are_looked_for_in_a_longer_window() -> None:
    samples = np.zeros(3 * 16_000, np.float32)
    believed, doubted = Forgetful(), Forgetful()
    assert believed.transcribe(samples) == Heard("He left.", 0)
    assert doubted.transcribe(samples, least_words=6) == Heard("He left on Sunday and took the radio.", 1)
    assert doubted.windows == [800, 1600]
    assert Forgetful().transcribe(samples, least_words=50).text == "He left on Sunday and took the radio."


class Listening(Waiting):
    """A policy with two scorers of the voice: one quick and sure of an end, one that never answers."""

    listens_ms = asks_after_ms = 128.0
    voices = ("quick", "stuck")

    def __init__(self) -> None:
        super().__init__()
        self.weighed: list[Mapping[str, float]] = []

    async def weigh_words(self, evidence: PauseEvidence, /) -> dict[str, float]:
        self.shown.append(evidence)
        return {"words": 0.9}

    async def weigh_voice(self, scorer: str, evidence: PauseEvidence, /) -> float:
        del evidence
        if scorer == "stuck":
            await asyncio.sleep(3600)
        return 0.9

    def silence_for_ms(self, weighed: Mapping[str, float], /) -> float:
        self.weighed.append(weighed)
        return WAIT_MS


@in_virtual_time
async def test_a_scorer_that_is_not_ready_is_not_waited_for() -> None:
    policy = Listening()
    policy.longest_ms = 60_000.0
    stt = Alone(policy)
    await stt.hear("." * 10 + "x" * 20 + "." * 20)
    assert stt.ends == 1
    # It speaks against an end: the quickest alone must not cut a pause.
    assert policy.weighed == [{"words": 0.9, "quick": 0.9, "stuck": 0.1}]


@in_virtual_time
async def test_a_scorer_that_hangs_does_not_hold_up_other_work() -> None:
    stopped: list[bool] = []

    @contextmanager
    def alone() -> Iterator[None]:
        stopped.append(True)
        yield
        stopped.append(False)

    stt = Alone(Listening(), alone=alone)
    await stt.hear("." * 10 + "x" * 20 + "." * 8)
    assert stopped == [True]
    await asyncio.sleep(1)
    assert stopped == [True, False]


@in_virtual_time
async def test_a_session_that_ends_in_a_pause_leaves_nothing_running() -> None:
    stt = Alone(Listening())
    await stt.hear("." * 10 + "x" * 20 + "." * 5)
    assert not all(task.done() for task in stt.tasks)
    stt._vad = cast(Any, AsyncMock())
    await stt.cleanup()
    await asyncio.sleep(0.05)
    assert all(task.done() for task in stt.tasks)


@in_virtual_time
async def test_the_silence_is_counted_from_the_last_sound_and_a_new_one_puts_the_end_off() -> None:
    policy = Listening()
    stt = Alone(policy)
    # The detector takes the faint last windows for silence; they are sound all the same.
    stt.faint = 400
    await stt.hear("." * 10 + "x" * 30 + "o" * 3 + "." * 9)
    assert stt.ends == 0
    await stt.hear("." * 3)
    assert stt.ends == 1
    going_on = Alone(Listening())
    going_on.faint = 400
    await going_on.hear("." * 10 + "x" * 30 + "." * 9 + "o")
    assert going_on.ends == 0
