"""silero's network in numpy against ONNX Runtime with the file that pipecat ships."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pipecat
import pytest
import scripted_sound
import soundfile
from numpy.typing import NDArray

from harness.audio.silero_net import CONTEXT, WINDOW
from harness.audio.vocal import ENTER, silero, speech_stream

Float32 = NDArray[np.float32]
RATE_HZ = 16_000
RANDOM = np.random.default_rng(7)
SECONDS = np.arange(10 * RATE_HZ) / RATE_HZ


PIPECAT = Path(pipecat.__file__).parent


def spoken() -> Float32:
    """A recorded word and a made voice, with silence between, twice."""
    word, rate_hz = soundfile.read(PIPECAT / "services" / "aws" / "nova_sonic" / "ready.wav", dtype="float32")
    assert rate_hz == RATE_HZ
    made = scripted_sound.voice(3.0, RATE_HZ, 170.0)
    gap = np.zeros(RATE_HZ)
    return np.concatenate([word, gap, word, 0.2 * made / np.abs(made).max(), gap] * 2).astype(np.float32)


SOUNDS: dict[str, Callable[[], Float32]] = {
    "speech": spoken,
    "quiet speech": lambda: (0.01 * spoken()).astype(np.float32),
    "speech in noise": lambda: (s := spoken()) + RANDOM.normal(0, 0.03, len(s)).astype(np.float32),
    "clipped speech": lambda: np.clip(20 * spoken(), -1, 1),
    "noise": lambda: RANDOM.normal(0, 0.1, len(SECONDS)).astype(np.float32),
    "silence": lambda: np.zeros(len(SECONDS), np.float32),
    "a tone": lambda: (0.5 * np.sin(2 * np.pi * 440 * SECONDS)).astype(np.float32),
    "full-scale square waves": lambda: np.sign(np.sin(2 * np.pi * 150 * SECONDS)).astype(np.float32),
}


@pytest.fixture(scope="module")
def runtime() -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    weights = PIPECAT / "audio" / "vad" / "data" / "silero_vad.onnx"
    return onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])


def by_runtime(runtime: onnxruntime.InferenceSession, samples: Float32) -> Iterator[float]:
    """The same windows through the runtime, whose memory is never reset."""
    state, context = np.zeros((2, 1, 128), np.float32), np.zeros((1, CONTEXT), np.float32)
    for start in range(0, len(samples) - WINDOW + 1, WINDOW):
        window = samples[None, start : start + WINDOW]
        given = {"input": np.hstack([context, window]), "state": state, "sr": np.array(RATE_HZ, np.int64)}
        out, state = runtime.run(None, given)
        context = window[:, -CONTEXT:]
        yield float(out[0, 0])


@pytest.mark.parametrize("name", SOUNDS)
def test_probabilities_are_those_of_the_runtime(name: str, runtime: onnxruntime.InferenceSession) -> None:
    sound = SOUNDS[name]()
    found, expected = np.array(speech_stream().push(sound)), np.fromiter(by_runtime(runtime, sound), float)
    assert np.abs(found - expected).max() <= 1e-4


def test_speech_is_found_and_silence_is_not() -> None:
    assert np.mean(silero()(spoken()) >= ENTER) > 0.5
    assert np.mean(silero()(SOUNDS["silence"]()) >= ENTER) == 0


def test_pieces_of_any_length_are_the_same_stream() -> None:
    sound, stream = spoken(), speech_stream()
    cuts = np.sort(RANDOM.integers(0, len(sound), 40))
    assert [p for piece in np.split(sound, cuts) for p in stream.push(piece)] == speech_stream().push(sound)


@pytest.mark.alone
def test_a_window_takes_no_longer_than_three_times_the_runtimes(runtime: onnxruntime.InferenceSession) -> None:
    sound = SOUNDS["noise"]()

    def best(how: Callable[[], object]) -> float:
        spent = []
        for _ in range(5):
            began = time.process_time()  # of all threads, so that a second one at work counts
            how()
            spent.append(time.process_time() - began)
        return min(spent)

    assert best(lambda: speech_stream().push(sound)) <= 3 * best(lambda: list(by_runtime(runtime, sound)))
