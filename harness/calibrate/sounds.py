"""Generated noise behind an agent's sound: it needs no licence and can have any length and level."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Colour = Literal["white", "pink"]


def coloured_noise(samples: int, db: float, rng: np.random.Generator, colour: Colour = "white") -> NDArray[np.float64]:
    """Noise with an RMS of `db` of full scale. Pink: −3 dB an octave, by Paul Kellet's filter."""
    white = rng.standard_normal(samples + 4_000)
    if colour == "pink":
        white = lfilter(
            [0.049922035, -0.095993537, 0.050612699, -0.004408786],
            [1, -2.494956002, 2.017265875, -0.522189400],
            white,
        )
    sound = white[4_000:]
    out: NDArray[np.float64] = sound / np.sqrt(np.mean(sound**2)) * 10 ** (db / 20)
    return out
