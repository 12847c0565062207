"""The onset of a voice in noise that is nearly as loud.

Taken over the whole band, a weak first syllable in noise of 5 dB looks like noise, and the onset seems to lie at the next
loud one, 40–80 ms late. Speech gathers its power in a few places of the spectrum, where it stands out long before the sum
does. So the sound is split into bands, and every millisecond at which the voice may have begun is weighed by how much better
all that follows is explained by speech in some of the bands than by the noise from before. What speech will look like is
not known: in each band, and anew for each stretch of a syllable's length, all levels from −3 to 21 dB over the noise are
taken as equally likely, and so is, for a share of them, silence.

The noise is measured twice: on the first half of what comes before, then on everything up to just before the onset found.
Constants were chosen on synthetic onsets of other seeds than the tests and the benchmark use; docs/decisions has the figures.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

RATE_HZ: Final = 8_000
CONSONANT_HZ: Final = 16_000
"""The rate at which a consonant is searched: /s/ and /f/ have most of their power over 4 kHz."""
BLOCK_S: Final = 0.001
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
_CONSONANT_CENTRES_HZ: Final = np.arange(500, 7_800, 500)
_CONSONANT_WIDTH_HZ: Final = 200.0
_CONSONANT_LEVELS_DB: Final = np.arange(-12, 25, 4)
_CONSONANT_REACH: Final = 250
"""Blocks before the voice: the longest first consonants of synthesisers are 200 ms."""
_ABSENT: Final = 0.4
"""Share of the bands in which a consonant has nothing."""
_CERTAIN: Final = 9.0
"""Log-likelihood ratio over which a consonant is there."""
_BEYOND_CLICK: Final = 2.0
"""Least of the evidence that the rest of a consonant bears, besides its loudest stretch of a click's length."""
_CLICK: Final = 30
"""Blocks; as `harness.audio.onset.CLICK_S`."""
_UNLIKE: Final = 8
"""Blocks after the start of the search in which nothing may begin: noise that differs from its own first part begins there."""
_LEAST_NOISE: Final = 24
_MARGIN: Final = 8
_EMPTY: Final = 1e-6
"""A band with this share of the loudest one's noise lies over the sound's own bandwidth."""
_EDGE: Final = 4
"""Blocks at the start during which the filters settle."""


def emergence(sound: NDArray[np.float64], search_from: int, until: int) -> int:
    """The block in which the voice most likely begins; mono at 8 kHz, from the first sound of any kind.

    The noise comes first; from block `until` on speech is surely under way, and before `search_from` it is not.
    """
    power = _band_power(sound, RATE_HZ, _CENTRES_HZ, _WIDTH_HZ)
    search_from = max(_EDGE, min(search_from, len(power) - 1))
    noise_end = max(_LEAST_NOISE, until // 2)
    start = _most_likely(power, noise_end, search_from)
    better = max(_LEAST_NOISE, start - _MARGIN)
    return start if better == noise_end else _most_likely(power, better, search_from)


def consonant_before(sound: NDArray[np.float64], voice: int) -> int:
    """The block in which a consonant before the voice begins, `voice` if there is none; mono at 16 kHz, from the first sound.

    A fricative is 30 dB and more under its vowel: noise of 20 dB hides it in the sum, and each pitch period of the vowel
    outweighs all of it. It is steady over its length, so here one level is taken for all of a band from a start to the voice.
    """
    first = max(_EDGE, voice - _CONSONANT_REACH)
    noise_end = first if first >= _LEAST_NOISE + _UNLIKE else max(_LEAST_NOISE, voice // 2)
    power = _band_power(
        sound[: round((voice + 10) * BLOCK_S * CONSONANT_HZ)], CONSONANT_HZ, _CONSONANT_CENTRES_HZ, _CONSONANT_WIDTH_HZ
    )
    begins = voice
    for _ in range(2):
        if noise_end > voice - _EDGE:
            return voice
        noise = power[2:noise_end].mean(axis=0)
        heard = noise > noise.max() * _EMPTY
        ratio, trust = power[first:voice, heard] / noise[heard], _EVIDENCE * noise_end / (noise_end + _FEW)
        begins = first + _earliest(ratio, trust)
        quiet = _without_loudest(ratio, begins - first)
        if begins < voice and _evidence(quiet, trust)[begins - first] < _BEYOND_CLICK:
            begins = first + _earliest(quiet, trust)
        noise_end = max(_LEAST_NOISE, begins - _MARGIN)
    return begins


def _earliest(ratio: NDArray[np.float64], trust: float) -> int:
    """The row in which a consonant begins that lasts to the end; the number of rows if there is none."""
    evidence = _evidence(ratio, trust)
    best = int(np.argmax(evidence))
    return best if best > _UNLIKE and evidence[best] > _CERTAIN else len(ratio)


def _without_loudest(ratio: NDArray[np.float64], begins: int) -> NDArray[np.float64]:
    """The same with noise in place of the loudest stretch of a click's length: a consonant is more than that."""
    quiet = ratio.copy()
    if begins < len(ratio):
        loud = np.convolve(ratio[begins:].mean(axis=1), np.ones(_CLICK))[_CLICK - 1 :]
        start = begins + int(np.argmax(loud))
        quiet[start : start + _CLICK] = 1.0
    return quiet


def _evidence(ratio: NDArray[np.float64], trust: float) -> NDArray[np.float64]:
    """For a start at each row, how much likelier a consonant from there to the last row is than noise alone."""
    variance = 1 + 10 ** (_CONSONANT_LEVELS_DB / 10)
    total, length = np.cumsum(ratio[::-1], axis=0)[::-1], np.arange(len(ratio), 0, -1)
    each = trust * (total[:, :, None] * (1 - 1 / variance) - length[:, None, None] * np.log(variance))
    said = np.logaddexp.reduce(each, axis=2) - np.log(len(variance))
    evidence: NDArray[np.float64] = np.logaddexp(np.log(_ABSENT), np.log(1 - _ABSENT) + said).sum(axis=1)
    return evidence


def _band_power(sound: NDArray[np.float64], rate_hz: int, centres_hz: NDArray[np.int_], width_hz: float) -> NDArray[np.float64]:
    """Mean power of each block (rows) in each band (columns)."""
    from scipy.signal import fftconvolve  # as in audio.onset: half a second to load, only for measurements

    spread_s, block = 1 / (2 * np.pi * width_hz), round(rate_hz * BLOCK_S)
    reach = int(4 * spread_s * rate_hz)
    t = np.arange(-reach, reach + 1) / rate_hz
    window = np.exp(-(t**2) / (2 * spread_s**2))
    filters = window * np.exp(2j * np.pi * centres_hz[:, None] * t)
    bands = np.abs(fftconvolve(np.tile(sound, (len(filters), 1)), filters, "same", axes=1)) ** 2
    blocks = bands.shape[1] // block
    mean: NDArray[np.float64] = bands[:, : blocks * block].reshape(len(filters), blocks, block).mean(axis=2).T
    return mean


def _most_likely(power: NDArray[np.float64], noise_end: int, search_from: int) -> int:
    noise = np.log(np.maximum(power[2:noise_end].mean(axis=0), 1e-20))
    # Neighbouring bands are related, and the mean of few blocks is poor for one band alone.
    smooth = np.exp(np.convolve(np.pad(noise, 1, mode="edge"), np.ones(3) / 3, "valid"))
    variance = 1 + 10 ** (_LEVELS_DB / 10)
    trust = _EVIDENCE * noise_end / (noise_end + _FEW)
    each = trust * ((power / smooth)[:, :, None] * (1 - 1 / variance) - np.log(variance))
    summed = np.concatenate([np.zeros((1, *each.shape[1:])), np.cumsum(each, axis=0)])
    begins = np.arange(search_from, len(power))
    likelihood = np.zeros(len(begins))
    stretch = begins
    while (stretch < len(power)).any():
        end = np.minimum(stretch + _STRETCH, len(power))
        said = np.logaddexp.reduce(summed[end] - summed[stretch], axis=2) - np.log(len(variance))
        found = np.logaddexp(np.log(_NOTHING_SAID), np.log(1 - _NOTHING_SAID) + said)
        likelihood += np.where(end > stretch, found.sum(axis=1), 0)
        stretch = end
    return search_from + int(np.argmax(likelihood))
