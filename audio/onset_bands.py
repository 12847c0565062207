"""The onset of a voice in noise that is nearly as loud.

Over the whole band a weak first syllable in noise of 5 dB looks like noise, and the onset seems 40 to 80 ms late. Speech
gathers its power in a few bands, where it stands out long before the sum does. So every millisecond is weighed by how much
better all that follows is explained by speech in some bands than by the noise from before: in each band, and anew for each
stretch of a syllable's length, at any level from −3 to 21 dB over the noise, or silent. Figures:
docs/decisions/timing-onset-in-bands.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

RATE_HZ: Final = 8_000
BLOCK: Final = 8
"""One millisecond."""
_CENTRES_HZ: Final = np.arange(250, 3_700, 300)
_WIDTH_HZ: Final = 120.0
"""Standard deviation of each band: about three harmonics of a voice, and a blur of 1.3 ms in time."""
_LEVELS_DB: Final = np.arange(-3, 25, 4)
_STRETCH: Final = 24
"""Blocks over which one level is held: about three pitch periods, less than a syllable."""
_EVIDENCE: Final = 0.6
"""Independent values in a block of one band, less than one because neighbouring blocks share their blur."""
_FEW: Final = 80
"""Number of noise blocks at which evidence counts half, because their mean is then uncertain itself."""
_NOTHING_SAID: Final = 0.15
_LEAST_NOISE: Final = 24
_MARGIN: Final = 8
_EDGE: Final = 4
"""Blocks at the start during which the filters settle."""


def emergence(sound: NDArray[np.float64], search_from: int, until: int, *, known: bool = False) -> int:
    """The block in which the voice most likely begins; mono at 8 kHz, from the first sound of any kind.

    The noise comes first; from block `until` on speech is surely under way, and before `search_from` it is not. `known`: the
    noise lasts long enough to know each band's own level.
    """
    power = _band_power(sound)
    search_from = max(_EDGE, min(search_from, len(power) - 1))
    noise_end = max(_LEAST_NOISE, until // 2)
    start = _most_likely(power, noise_end, search_from, known=known)
    better = max(_LEAST_NOISE, start - _MARGIN)
    return start if better == noise_end else _most_likely(power, better, search_from, known=known)


def _band_power(sound: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean power of each block (rows) in each band (columns)."""
    from scipy.signal import fftconvolve  # as in audio.onset: half a second to load, only for measurements

    spread_s = 1 / (2 * np.pi * _WIDTH_HZ)
    reach = int(4 * spread_s * RATE_HZ)
    t = np.arange(-reach, reach + 1) / RATE_HZ
    window = np.exp(-(t**2) / (2 * spread_s**2))
    filters = window * np.exp(2j * np.pi * _CENTRES_HZ[:, None] * t)
    bands = np.abs(fftconvolve(np.tile(sound, (len(filters), 1)), filters, "same", axes=1)) ** 2
    blocks = bands.shape[1] // BLOCK
    mean: NDArray[np.float64] = bands[:, : blocks * BLOCK].reshape(len(filters), blocks, BLOCK).mean(axis=2).T
    return mean


def _most_likely(power: NDArray[np.float64], noise_end: int, search_from: int, *, known: bool) -> int:
    noise = np.log(np.maximum(power[2:noise_end].mean(axis=0), 1e-20))
    if not known:
        # Neighbouring bands are related, and the mean of few blocks is poor for one band alone. Of many it is better alone: at
        # the edge of a telephone's band the neighbour outside it is silent, and the noise inside would seem to be a voice.
        noise = np.convolve(np.pad(noise, 1, mode="edge"), np.ones(3) / 3, "valid")
    variance = 1 + 10 ** (_LEVELS_DB / 10)
    trust = _EVIDENCE * noise_end / (noise_end + _FEW)
    each = trust * ((power / np.exp(noise))[:, :, None] * (1 - 1 / variance) - np.log(variance))
    summed = np.concatenate([np.zeros((1, *each.shape[1:])), np.cumsum(each, axis=0)])
    begins = np.arange(search_from, len(power))
    likelihood = np.zeros(len(begins))
    stretch = begins
    while (stretch < len(power)).any():
        end = np.minimum(stretch + _STRETCH, len(power))
        likelihood += np.where(end > stretch, _said(summed[end] - summed[stretch]), 0)
        stretch = end
    first = search_from + int(np.argmax(likelihood))
    if not known:
        return first
    # Where a syllable ends within a stretch, the stretches fit it better if all of them, and the first, begin earlier.
    past = min(first + _STRETCH, len(power))
    return first + int(np.argmax(_said(summed[past] - summed[first:past])))


def _said(each: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much better speech of one level in each band explains a stretch than noise does, or silence in the band."""
    said = np.logaddexp.reduce(each, axis=2) - np.log(each.shape[2])
    better: NDArray[np.float64] = np.logaddexp(np.log(_NOTHING_SAID), np.log(1 - _NOTHING_SAID) + said).sum(axis=1)
    return better
