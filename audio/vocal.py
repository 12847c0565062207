"""The detection of vocal sound: silero VAD (version 5, the weights that pipecat ships), run over whole signals.

The model decides *whether* a sound is vocal, not *where* it starts (`harness.audio.onset`). It needs the last 64 samples of the
window before in front of each window. Non-speech disturbs its memory, so the memory is reset for every stretch of sound, and
inside one after two seconds that end in clear non-speech. At its own threshold it accepts melodies, hums and blips, but with
little conviction: 99 % of voices, whispers aside, have 64 ms at 0.95 and more, of 440 other sounds none has; a whisper goes on
for a fifth of a second without a pitch, a note never does (docs/decisions/timing-speech-or-not).
"""

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.audio import voicing
from harness.audio.level import block_power
from harness.installation import install_command

RATE_HZ: Final = 16_000
WINDOW: Final = 512
CONTEXT: Final = 64
ENTER: Final = 0.5
"""The model's own recommended threshold."""
LEAVE: Final = 0.35
"""Hysteresis of 0.15, as the model's authors use."""
SURE: Final = 0.95
SURE_WINDOWS: Final = 2
NEARLY_SURE: Final = 0.8
NEARLY_SURE_WINDOWS: Final = 5
LONG_WINDOWS: Final = 20
"""A voice in noise of 5 dB, or over an old telephone line, convinces less, and for longer: 0.64 s over `ENTER`, of which 160 ms
are nearly sure. Of 288 other sounds (docs/decisions/timing-speech-or-not.md) it takes none that 64 ms at 0.95 does not."""
AIRY_WINDOWS: Final = 6
"""Windows over `ENTER` of a voice without pitch: 192 ms, longer than a blip or a cough that the model half accepts."""
MOST_PITCHED: Final = 0.45
"""Share of frames with a pitch: whispers and breathy voices 0–0.51, music and notes that the model half accepts 0.47–1."""
LEVEL_DB: Final = -20.0
MOST_GAIN_DB: Final = 20.0
_LOUDEST_S: Final = 0.25
"""Longer than a click, shorter than a word."""
_RESET_AFTER: Final = round(2.0 * RATE_HZ / WINDOW)
_QUIET_WINDOWS: Final = 5
_QUIET: Final = 0.1

VocalDetector = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""A function from mono float32 at 16 kHz to one probability of voice for each whole window of 512 samples."""


class DetectorMissing(Exception):
    """The speech detector is not installed; the message says how to install it."""


class SpeechStream:
    """The model over one stream of sound, which comes in pieces of any length, as during a call."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._waiting = np.zeros(0, np.float32)
        self.reset()

    def reset(self) -> None:
        """Forget the sound before: the model's memory is of what it heard in this stretch."""
        self._state, self._context = _fresh()

    def push(self, samples: NDArray[np.float32]) -> list[float]:
        """The probability of voice of each window of `WINDOW` samples that is now complete; mono float32 at 16 kHz."""
        self._waiting = np.concatenate([self._waiting, samples])
        whole = len(self._waiting) // WINDOW
        found = [self._window(self._waiting[k * WINDOW : (k + 1) * WINDOW]) for k in range(whole)]
        self._waiting = self._waiting[whole * WINDOW :]
        return found

    def _window(self, samples: NDArray[np.float32]) -> float:
        window = samples[None, :]
        given = {"input": np.hstack([self._context, window]), "state": self._state, "sr": np.array(RATE_HZ, np.int64)}
        out, self._state = self._session.run(None, given)
        self._context = window[:, -CONTEXT:]
        return float(out[0, 0])


def speech_stream() -> SpeechStream:
    """A new stream of the detector, whose weights are loaded once in a process.

    Raises:
        DetectorMissing: the extra `local` is not installed.
    """
    return SpeechStream(_model())


@lru_cache(maxsize=1)
def silero() -> VocalDetector:
    """The detector over whole signals.

    Raises:
        DetectorMissing: the extra `local` is not installed.
    """
    session = _model()
    return lambda samples: _probabilities(session, samples)


@lru_cache(maxsize=1)
def _model() -> Any:
    """The weights shipped with pipecat, on one thread."""
    spec, runtime = find_spec("pipecat"), find_spec("onnxruntime")
    model = Path(spec.origin).parent / "audio/vad/data/silero_vad.onnx" if spec and spec.origin else None
    # A folder that an uninstalled package left behind is a namespace without an origin, and holds nothing to import.
    if runtime is None or runtime.origin is None or model is None or not model.exists():
        raise DetectorMissing(f"timing needs the speech detector of the extra 'local': {install_command('local')}")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def vocal_spans(probabilities: NDArray[np.float32]) -> list[tuple[int, int]]:
    """The stretches of accepted windows, as (first, past the last), with hysteresis."""
    spans: list[tuple[int, int]] = []
    start: int | None = None
    for k, p in enumerate(probabilities):
        if start is None and p >= ENTER:
            start = k
        elif start is not None and p < LEAVE:
            spans.append((start, k))
            start = None
    if start is not None:
        spans.append((start, len(probabilities)))
    return spans


def is_voice(probabilities: NDArray[np.float32], sound: NDArray[np.float32]) -> bool:
    """True if the windows that the model accepted are a voice; `sound` is their sound at 16 kHz."""
    accepted = np.count_nonzero(probabilities >= ENTER)
    if np.count_nonzero(probabilities >= SURE) >= SURE_WINDOWS:
        return True
    if accepted >= LONG_WINDOWS and np.count_nonzero(probabilities >= NEARLY_SURE) >= NEARLY_SURE_WINDOWS:
        return True
    if accepted < AIRY_WINDOWS:
        return False
    pitch = voicing.voicing(np.asarray(soxr.resample(sound, RATE_HZ, voicing.RATE_HZ, quality="HQ"), np.float32))
    return len(pitch) > 0 and float(np.mean(pitch >= voicing.VOICED)) <= MOST_PITCHED


def at_one_level(sound: NDArray[np.float32]) -> NDArray[np.float32]:
    """A stretch of sound with its loudest quarter of a second at `LEVEL_DB`; the model misses quiet whispers else."""
    loudest = float(block_power(sound, round(_LOUDEST_S * RATE_HZ)).max(initial=0.0))
    gain = 10 ** (LEVEL_DB / 20) / np.sqrt(max(loudest, 1e-12))
    levelled: NDArray[np.float32] = (sound * min(gain, 10 ** (MOST_GAIN_DB / 20))).astype(np.float32)
    return levelled


def _probabilities(session: Any, samples: NDArray[np.float32]) -> NDArray[np.float32]:
    windows = len(samples) // WINDOW
    found = np.zeros(windows, np.float32)
    stream, age, quiet = SpeechStream(session), 0, 0
    for k in range(windows):
        (found[k],) = stream.push(samples[k * WINDOW : (k + 1) * WINDOW])
        age, quiet = age + 1, quiet + 1 if found[k] < _QUIET else 0
        if age >= _RESET_AFTER and quiet >= _QUIET_WINDOWS:
            stream.reset()
            age = quiet = 0
    return found


def _fresh() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return np.zeros((2, 1, 128), np.float32), np.zeros((1, CONTEXT), np.float32)
