"""silero VAD's network for 16 kHz, in numpy: one window of 32 ms at a time, with a memory from one to the next.

So small a network needs no runtime: a window takes 65 µs of one core, half of what ONNX Runtime takes. The weights are those of
the package `silero-vad` 6.2.3, as pipecat ships them. They come with the harness (1.2 MB), so that what is a voice depends on
nothing else that is installed and on no download. Every product of matrices is small enough that BLAS uses one thread, because
it runs beside calls that are timed.
"""

from functools import lru_cache
from pathlib import Path
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Memory = tuple[Float32, Float32]
"""The LSTM's output and cell."""

CONTEXT: Final = 64
"""Samples of the window before, which the network needs in front of each."""
WINDOW: Final = 512
_HOP: Final = 128
_BINS: Final = 129
_CELLS: Final = 128


def fresh() -> Memory:
    """The memory of a network that has heard nothing."""
    return np.zeros(_CELLS, np.float32), np.zeros(_CELLS, np.float32)


class SileroNet:
    """The network with its weights."""

    def __init__(self, weights: dict[str, Float32]) -> None:
        # The imaginary parts of the lowest and the highest frequency are zeros.
        self._stft = _turned(np.delete(weights["stft"], (_BINS, 2 * _BINS - 1), axis=0))
        self._convs = [(_turned(_taps(weights[f"conv{k}"])), weights[f"conv{k}_bias"]) for k in (1, 2)]
        # Two frames are left for the third and one for the fourth, and zeros beside them: these taps are all that matter.
        self._convs += [
            (_turned(_taps(weights["conv3"][..., 1:])), weights["conv3_bias"]),
            (_turned(_taps(weights["conv4"][..., 1:2])), weights["conv4_bias"]),
        ]
        self._lstm = _turned(np.hstack([weights["lstm_weight_ih"], weights["lstm_weight_hh"]]))
        self._lstm_bias = weights["lstm_bias_ih"] + weights["lstm_bias_hh"]
        self._out, self._out_bias = weights["out"], weights["out_bias"]

    def hear(self, samples: Float32, memory: Memory) -> tuple[float, Memory]:
        """The probability of voice in a window with its context before it, and the memory for the next window."""
        output, cell = memory
        gates = np.concatenate((self._seen(samples), output)) @ self._lstm + self._lstm_bias
        opened = _sigmoid(gates)
        cell = opened[_CELLS : 2 * _CELLS] * cell + opened[:_CELLS] * np.tanh(gates[2 * _CELLS : 3 * _CELLS])
        output = opened[3 * _CELLS :] * np.tanh(cell)
        return float(_sigmoid(np.maximum(output, 0) @ self._out + self._out_bias)[0]), (output, cell)

    def _seen(self, samples: Float32) -> Float32:
        """The features of a window: four frames of its spectrum through four convolutions."""
        hops = np.concatenate((samples, samples[-2 : -2 - CONTEXT : -1])).reshape(5, _HOP)
        parts = np.square(np.concatenate((hops[:4], hops[1:]), axis=1) @ self._stft)
        parts[:, 1 : _BINS - 1] += parts[:, _BINS:]
        frames = np.zeros((6, _BINS), np.float32)
        frames[1:5] = np.sqrt(parts[:, :_BINS])
        first, second, third, fourth = self._convs
        four = np.zeros((5, _CELLS), np.float32)
        four[1:] = _layer(np.concatenate((frames[:4], frames[1:5], frames[2:]), axis=1), *first)
        two = _layer(np.concatenate((four[0:3:2], four[1:4:2], four[2:5:2]), axis=1), *second)
        return _layer(_layer(two.reshape(-1), *third), *fourth)


@lru_cache(maxsize=1)
def loaded() -> SileroNet:
    """The network, loaded once in a process."""
    with np.load(Path(__file__).parent / "data" / "silero_vad.npz") as weights:
        return SileroNet(dict(weights))


def _layer(heard: Float32, weights: Float32, bias: Float32) -> Float32:
    return cast(Float32, np.maximum(heard @ weights + bias, 0))


def _taps(kernel: Float32) -> Float32:
    """A kernel (out, in, taps) as one row for each output: the inputs of the first tap, then those of the next."""
    return kernel.transpose(0, 2, 1).reshape(len(kernel), -1)


def _turned(rows: Float32) -> Float32:
    return np.ascontiguousarray(rows.T)


def _sigmoid(x: Float32) -> Float32:
    # By the hyperbolic tangent, which does not overflow.
    return cast(Float32, 0.5 * np.tanh(0.5 * x) + 0.5)
