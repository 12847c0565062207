"""The ear for "um": states of the recogniser as evidence that a caller goes on."""

import numpy as np
import pytest

from harness.agents.cascade.endpoint_policies import PauseEvidence
from harness.agents.cascade.filled_pause import STATES, STRETCHES, FilledPauseScorer, pooled
from harness.agents.cascade.settings import StreamingWhisper
from harness.agents.cascade.short_context_whisper import RATE_HZ, ShortContextWhisper
from harness.models.store import resolve


def test_stretches_are_counted_back_from_the_silence() -> None:
    states = np.arange(100, dtype=np.float32)[:, None]
    # The last five states are 95 to 99; the fifteen of the farthest stretch are 65 to 79.
    assert list(pooled(states)) == [97.0, 92.0, 84.5, 72.0]
    assert STATES == sum(STRETCHES) == 35


def test_a_short_beginning_is_as_long_as_its_first_sound() -> None:
    assert pooled(np.ones((3, 2), np.float32)).tolist() == [1.0] * 8
    short = np.array([[4.0], [6.0]], np.float32)
    assert list(pooled(short)) == [pytest.approx(4.4), 4.0, 4.0, 4.0]


async def test_without_states_nothing_is_said() -> None:
    evidence = PauseEvidence("and then I left", np.zeros(160, np.float32))
    assert await FilledPauseScorer().probability_complete(evidence) == 0.5


@pytest.mark.models
def test_the_recogniser_gives_the_states_of_the_end_of_what_it_heard() -> None:
    whisper = ShortContextWhisper(StreamingWhisper(service="streaming-whisper", threads=1), str(resolve("whisper-tiny.en")))
    tone = (np.sin(np.arange(3 * RATE_HZ) / 20) / 4).astype(np.float32)
    quiet = np.zeros(RATE_HZ, np.float32)
    then_quiet, then_tone = (
        whisper.transcribe(np.concatenate(parts).astype(np.float32)).states for parts in ((tone, quiet), (quiet, tone))
    )
    assert then_quiet is not None
    assert then_tone is not None
    assert then_quiet.shape == then_tone.shape == (STATES, 384)
    assert np.abs(then_quiet - then_tone).mean() > 0.1
    half_a_second = whisper.transcribe(tone[: RATE_HZ // 2]).states
    assert half_a_second is not None
    assert len(half_a_second) == 25


@pytest.mark.models
async def test_an_um_before_the_silence_speaks_against_an_end() -> None:
    from harness.agents.cascade.streaming_whisper import TAIL_SAMPLES
    from harness.audio.pcm import resample
    from harness.scenarios.context import Turn
    from harness.scenarios.pack import load_pack
    from harness.voices.choice import open_voices

    whisper = ShortContextWhisper(StreamingWhisper(service="streaming-whisper", threads=1), str(resolve("whisper-tiny.en")))
    voices = open_voices(load_pack("heart-open"))

    async def complete(words: str) -> float:
        spoken = voices.render(Turn(role="seeker", text=words), "ann")
        samples = (resample(spoken.samples, spoken.rate_hz, RATE_HZ) / 32768).astype(np.float32)
        heard = whisper.transcribe(np.concatenate([samples, np.zeros(TAIL_SAMPLES, np.float32)]))
        return await FilledPauseScorer().probability_complete(PauseEvidence(heard.text, samples, "", heard.states))

    finished, going_on = await complete("I told my brother to wait."), await complete("I told my brother to, um")
    assert going_on < finished
    assert finished > 0.5
