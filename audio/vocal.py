"""The detection of vocal sound: silero VAD, run over whole signals.

The model decides *whether* a sound is vocal, not *where* it starts (`harness.audio.onset`): its windows are 32 ms and it is
slow to accept a soft beginning. Version 5 of the model needs the last 64 samples of the window before in front of each
window; without them its results are wrong. The weights are those shipped with pipecat; `onnxruntime` is in the
extra `local`.

Non-speech disturbs the model's memory (music and long noise make it miss the speech that follows), so the memory is
reset for every stretch of sound, and inside a stretch after two seconds that end in clear non-speech.
"""

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

RATE_HZ: Final = 16_000
WINDOW: Final = 512
CONTEXT: Final = 64
ENTER: Final = 0.5
"""The model's own recommended threshold."""
LEAVE: Final = 0.35
"""Hysteresis of 0.15, as the model's authors use."""
_RESET_AFTER: Final = round(2.0 * RATE_HZ / WINDOW)
_QUIET_WINDOWS: Final = 5
_QUIET: Final = 0.1

VocalDetector = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""A function from mono float32 at 16 kHz to one probability of voice for each whole window of 512 samples."""


class DetectorMissing(Exception):
    """The speech detector is not installed; the message says how to install it."""


@lru_cache(maxsize=1)
def silero() -> VocalDetector:
    """The detector shipped with pipecat, on one thread.

    Raises:
        DetectorMissing: the extra `local` is not installed.
    """
    spec, runtime = find_spec("pipecat"), find_spec("onnxruntime")
    model = Path(spec.origin).parent / "audio/vad/data/silero_vad.onnx" if spec and spec.origin else None
    # A folder that an uninstalled package left behind is a namespace without an origin, and holds nothing to import.
    if runtime is None or runtime.origin is None or model is None or not model.exists():
        raise DetectorMissing('timing needs the speech detector of the extra "local": pip install "heart-voice-harness[local]"')
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return lambda samples: _probabilities(session, samples)


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


def _probabilities(session: Any, samples: NDArray[np.float32]) -> NDArray[np.float32]:
    windows = len(samples) // WINDOW
    found = np.zeros(windows, np.float32)
    rate = np.array(RATE_HZ, np.int64)
    state, context, age, quiet = _fresh()
    for k in range(windows):
        window = samples[None, k * WINDOW : (k + 1) * WINDOW]
        out, state = session.run(None, {"input": np.hstack([context, window]), "state": state, "sr": rate})
        context = window[:, -CONTEXT:]
        found[k] = out[0, 0]
        age, quiet = age + 1, quiet + 1 if found[k] < _QUIET else 0
        if age >= _RESET_AFTER and quiet >= _QUIET_WINDOWS:
            state, context, age, quiet = _fresh()
    return found


def _fresh() -> tuple[NDArray[np.float32], NDArray[np.float32], int, int]:
    return np.zeros((2, 1, 128), np.float32), np.zeros((1, CONTEXT), np.float32), 0, 0
