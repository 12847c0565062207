"""The onset of a vocal sound, to about a millisecond, after a speech model has detected it.

Over digital silence it is where the 8 ms level comes within 40 dB of the speech that follows, as an audio editor shows it. Over
noise that edge is buried, and the onset is the most likely *change point* (CUSUM): every half millisecond is weighed by how
much likelier its power is as noise plus speech of any level from −3 to 25 dB over it than as the noise right before. What the
noise hides of the attack is given back from the slope of the visible part.

The level is compared with that of the speech which follows and not with its first vowel, because a first fricative is 30 to 40
dB under it. A piece separated by less than the closure of a stop consonant is joined (the /s/ of "stay"); a click is not.
Constants were chosen on voices and words other than those reported (docs/decisions/timing-first-sounds).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import soxr
from numpy.typing import NDArray
from scipy.linalg import solve_toeplitz

from harness.audio import onset_bands
from harness.audio.level import EDGE_DB, WINDOW_S, decibels, islands, speech_power

BLOCK_S: Final = 0.0005
"""The grid of the search: half a millisecond, half of the bias that is allowed."""
CORE_S: Final = 0.064
"""Two windows of the model: speech is surely under way at the end of the second one it accepted."""
LOOK_BACK_S: Final = 0.3
"""Longest search before the accepted window: soft attacks of 150 ms and a fricative before the vowel."""
FLOOR_S: Final = 0.5
"""Length of the sound before that from which the noise floor is measured."""
FLOOR_MIN_S: Final = 0.024
FLOOR_WINDOW_S: Final = 0.006
FLOOR_PERCENTILE: Final = 25.0
"""Percentile of the level for the noise floor; low, because the attack may begin before the accepted window."""
FLOOR_GROWTH_DB: Final = 6.0
"""Noise is steady; a sound that grows by more than this from its first quarter to its second is an attack, not noise."""
CLEAN_DB: Final = 47.0
"""A floor this far below the speech cannot reach the level at which speech begins (`EDGE_DB`, 40) even where it swings up by
7 dB, as pink noise does, so the level alone decides. With 37 the walk back ran on through floors 33 to 42 dB below: of 960
onsets in white and pink noise 28 to 48 dB under the voice, 238 were over 20 ms off
(docs/decisions/timing-onset-change-point)."""
BURIED_DB: Final = 20.0
"""With a smaller distance of speech and noise floor the onset is searched in bands (`harness.audio.onset_bands`)."""
FAINT_DB: Final = 34.0
KNOWN_S: Final = 0.25
"""In a recording of others, whose line nobody chose, it is so up to this distance, where the noise was heard so long that each
band's own level is known: a weak fricative is 30 dB under its vowel. On a telephone line with pink noise of 20 dB the p95 of
88 onsets fell from 48 to 24 ms."""
CLOSURE_S: Final = 0.09
"""The longest silence inside a word: the closure of a stop consonant."""
CLICK_S: Final = 0.03
BURST_S: Final = 0.02
"""A click this near is taken for the burst of an unaspirated plosive, whose voice begins 10 to 25 ms after it."""
AIR_DB: Final = 66.0
"""Least level of air under the speech: the resampling of a click rings lower."""
AIR_OVER_DB: Final = 6.0
"""Air after a burst over the sound before it; in 40 first plosives of flite `rms` it was 15 to 20 dB."""
SILENT: Final = 1e-10
"""−100 dB of full scale, below the rounding of 16 bits."""
STEADY_S: Final = 0.3
"""A sound this long and steady is noise, whatever follows: no first consonant lasts as long."""
HISS_HZ: Final = (1_500.0, 3_600.0)
"""The band in which a consonant's hiss is told from noise under the voice: a telephone carries it, and between two vowels or in
an /l/ little of the voice is in it. Whole, an /f/ at 8 kHz was undershot by 4 dB, as pink noise is; in it by 24, and white and
pink noise by 5 at most."""
UNDER_DB: Final = 8.0
"""Noise does not fall this far below its own quartile over 8 ms; the closures and pauses of clean speech do."""
FOLLOWING_S: Final = 1.0
"""Length of the speech from which its level and its quietest moment are taken."""
CORE_OVER_DB: Final = 12.0
"""Most by which the start may be louder than the speech, where little follows it."""
JOIN_S: Final = 0.012
"""Dips shorter than a pitch period and a half are not gaps."""
_SPEECH_OVER_NOISE_DB: Final = np.arange(-3.0, 26.0, 3.0)
_VOICED_SHARE: Final = 0.6
_NOISE_RATE_HZ: Final = 8_000
"""The noise above 4 kHz only hides what little speech adds there: p95 at 5 dB is 4.0 ms so, 6.5 ms at 16 kHz."""
_ORDER: Final = 8
_WHITE_SHARE: Final = 1e-3
"""Regularisation, so that the filter does not amplify an empty band."""
_SLOPE_SHARE: Final = 0.75
RISE_S: Final = 0.035
"""Length in which an attack is measured: with the whole core, the rise from a fricative to its vowel was taken for one, and
fricatives in white noise of 30 dB came 7 ms early (p50), with this 3."""
_OWN_RISE_MS: Final = 10.0
_MOST_WEIGHT: Final = 3.0
"""Most evidence of half a millisecond; without this limit a click would outweigh the silence after it."""


@dataclass(frozen=True, slots=True)
class Onset:
    """The start of a sound in samples, and the levels behind it (dB of full scale)."""

    sample: int
    level_db: float
    floor_db: float


def find_onset(samples: NDArray[np.float32], rate_hz: int, accepted: int, earliest: int = 0, *, faint: bool = False) -> Onset:
    """The onset of the vocal sound in which the model accepted the window at sample `accepted`.

    The search stops at `earliest`: sound before it is another utterance. `faint`: as in a recording of others (`FAINT_DB`).

    >>> sound = np.concatenate([np.zeros(24_000), np.sin(np.arange(24_000) / 20)]).astype(np.float32)
    >>> abs(find_onset(sound, 48_000, accepted=24_500).sample - 24_000) < 48
    True
    """
    block = round(rate_hz * BLOCK_S)
    accepted = max(accepted, earliest)
    core_end = min(len(samples), accepted + round(rate_hz * CORE_S))
    begin = max(0, earliest, accepted - round(rate_hz * (LOOK_BACK_S + FLOOR_S)))
    begin -= begin % block
    sound = samples[begin : accepted + round(rate_hz * FOLLOWING_S)].astype(np.float64)
    level, following = np.split(_levels(sound, block), [(core_end - begin) // block])
    trailing = _trailing(level, round(WINDOW_S / BLOCK_S))
    core = round(CORE_S / BLOCK_S)
    loudest = float(trailing[-core:].max())
    speech = max(
        speech_power(samples[accepted : accepted + round(rate_hz * FOLLOWING_S)], rate_hz), loudest * 10 ** (-CORE_OVER_DB / 10)
    )
    edge = speech * 10 ** (-EDGE_DB / 10)
    search_from = max(0, len(level) - core - round(LOOK_BACK_S / BLOCK_S))
    floor = _floor(level[:-core])
    if floor and _is_consonant(sound, rate_hz, level[:-core], following):
        floor = 0.0
    known = faint and bool(np.count_nonzero(level[:-core] > SILENT) * BLOCK_S >= KNOWN_S)
    if floor <= speech * 10 ** (-CLEAN_DB / 10):
        start = _walk_back(level, trailing >= edge, search_from, speech)
    elif floor >= loudest * 10 ** (-((FAINT_DB if known else BURIED_DB) / 10)):
        start = _emergence(samples[begin:core_end], rate_hz, level, search_from, known=known)
    else:
        start = search_from + _change_point(samples[begin:core_end], rate_hz, level, search_from)
    if floor < edge:
        # What is heard over a quiet floor before the speech comes within 40 dB is a synthesiser's own hiss.
        start += int(next(iter(np.flatnonzero(trailing[start:] >= edge + floor)), 0))
    return Onset(begin + start * block, decibels(loudest), decibels(floor))


def _trailing(level: NDArray[np.float64], blocks: int) -> NDArray[np.float64]:
    """Mean over the last `blocks` blocks up to each one."""
    mean: NDArray[np.float64] = np.convolve(level, np.ones(blocks) / blocks)[: len(level)]
    return mean


def _levels(samples: NDArray[np.float64], block: int) -> NDArray[np.float64]:
    """Mean power of each whole block."""
    mean: NDArray[np.float64] = (samples[: len(samples) // block * block] ** 2).reshape(-1, block).mean(axis=1)
    return mean


def _floor(level: NDArray[np.float64]) -> float:
    """Mean power of steady sound before the accepted window; 0 where there was none."""
    sounding = np.flatnonzero(level > SILENT)
    if len(sounding) * BLOCK_S < FLOOR_MIN_S:
        return 0.0
    before = level[sounding[0] :]
    quarter = len(before) // 4
    if before[quarter : 2 * quarter].mean() > before[:quarter].mean() * 10 ** (FLOOR_GROWTH_DB / 10):
        return 0.0
    return _quartile(before)


def _quartile(level: NDArray[np.float64]) -> float:
    window = round(FLOOR_WINDOW_S / BLOCK_S)
    return float(np.percentile(np.convolve(level, np.ones(window) / window, "valid"), FLOOR_PERCENTILE))


def _is_consonant(
    sound: NDArray[np.float64], rate_hz: int, before: NDArray[np.float64], following: NDArray[np.float64]
) -> bool:
    """Whether the speech itself falls below what was taken for noise under it: then that was a consonant."""
    begin = int(np.flatnonzero(before > SILENT)[0])
    if (len(before) - begin) * BLOCK_S >= STEADY_S:
        return False
    from scipy.signal import butter, sosfilt  # as in `_change_point`

    hiss = _levels(sosfilt(butter(4, HISS_HZ, "band", fs=rate_hz, output="sos"), sound), round(rate_hz * BLOCK_S))
    window = round(WINDOW_S / BLOCK_S)
    said = np.ones(len(following), bool)
    for start, end in islands(following <= SILENT, 1):
        if (end - start) * BLOCK_S > CLOSURE_S or end == len(following):
            # What was not sent says nothing of the noise, nor does its edge.
            said[max(0, start - 2 * window) : end + 2 * window] = False
    means, whole = (np.convolve(each, np.ones(window) / window, "valid") for each in (hiss[len(hiss) - len(said) :], said))
    under = _quartile(hiss[begin : len(before)]) * 10 ** (-UNDER_DB / 10)
    return bool(means[whole > 1 - 0.5 / window].min(initial=np.inf) < under)


def _emergence(samples: NDArray[np.float32], rate_hz: int, level: NDArray[np.float64], search_from: int, *, known: bool) -> int:
    """The block at which a voice comes out of noise that nearly hides it."""
    narrow = soxr.resample(samples.astype(np.float64), rate_hz, onset_bands.RATE_HZ, quality="HQ")
    first = int(np.flatnonzero(level > SILENT)[0])
    sound = narrow[round(first * BLOCK_S * onset_bands.RATE_HZ) :]
    wide = round(onset_bands.BLOCK / onset_bands.RATE_HZ / BLOCK_S)
    until = (len(level) - round(CORE_S / BLOCK_S) - first) // wide
    return first + wide * onset_bands.emergence(sound, (search_from - first) // wide, until, known=known)


def _change_point(samples: NDArray[np.float32], rate_hz: int, level: NDArray[np.float64], search_from: int) -> int:
    """The block, after `search_from`, at which noise most likely turned into noise plus speech."""
    from scipy.signal import lfilter  # takes half a second to load, and code that only reads figures loads this module too

    narrow = soxr.resample(samples.astype(np.float64), rate_hz, _NOISE_RATE_HZ, quality="HQ")
    block = round(_NOISE_RATE_HZ * BLOCK_S)
    first = int(np.flatnonzero(level > SILENT)[0])
    noise_end = first + max(round(FLOOR_MIN_S / BLOCK_S), (len(level) - round(CORE_S / BLOCK_S) - first) // 2)
    white = lfilter(_whitener(narrow[first * block : noise_end * block]), [1.0], narrow)
    blocks = (white[: len(white) // block * block] ** 2).reshape(-1, block).mean(axis=1)
    noise = blocks[first + _ORDER // block + 1 : noise_end]
    begin = max(search_from, first + _ORDER // block + 1)
    freedom = float(np.clip(noise.mean() ** 2 / max(noise.var(), 1e-30), 0.5, block / 2))
    ratio = blocks[begin:] / noise.mean()
    variance = 1 + 10 ** (_SPEECH_OVER_NOISE_DB / 10)
    # Log-likelihood ratio of a gamma variate of that many degrees of freedom, for each level speech may have.
    each = freedom * (ratio[:, None] * (1 - 1 / variance) - np.log(variance))
    speech = np.logaddexp.reduce(each, axis=1) - np.log(len(variance))
    weight = np.logaddexp(np.log(1 - _VOICED_SHARE), np.log(_VOICED_SHARE) + speech)
    to_the_right = np.cumsum(np.minimum(weight, _MOST_WEIGHT)[::-1])[::-1]
    change = int(np.argmax(to_the_right))
    return max(0, begin - search_from + change - _hidden_blocks(ratio[change:]))


def _hidden_blocks(ratio: NDArray[np.float64]) -> int:
    """The length of the attack before the change point, hidden by the noise (`ratio`: power over the noise's own).

    A rise of half a cosine to a level Q dB over the noise comes out of it after x = (2/π)·10^(−Q/40) of its length and is
    6 dB from its top after half of it, so the visible part of the rise tells the hidden one. Speech takes about 10 ms to
    rise by itself. The rest is the first pitch period, whose energy lies at its end: less of it shows in louder noise.
    Constants fitted to 400 synthetic onsets (attacks 0–100 ms, 4–25 dB over white and pink noise): at 12 dB and more the
    p95 error of attacks up to 20 ms fell from 5.4 to 4.5 ms, of slower ones from 20.6 to 9.8 ms.
    """
    smooth = _trailing(ratio[: round(RISE_S / BLOCK_S)], round(WINDOW_S / BLOCK_S))
    top = float(smooth.max())
    over_db = 10 * np.log10(max(top - 1, 1.0))
    reach_ms = int(np.argmax(smooth >= top / 4)) * BLOCK_S * 1000
    hidden = min(2 / np.pi * 10 ** (-over_db / 40), 0.45)
    slow_ms = _SLOPE_SHARE * min(hidden / (0.5 - hidden), 1.2) * max(0.0, reach_ms - _OWN_RISE_MS)
    period_ms = float(np.clip(7.0 - 0.25 * over_db, 0, 5))
    return int((slow_ms + period_ms) / 1000 / BLOCK_S + 0.5)


def _whitener(noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """The prediction-error filter of the noise: it makes neighbouring blocks independent, as the weights suppose."""
    lags = np.array([float(noise[: len(noise) - k] @ noise[k:]) for k in range(_ORDER + 1)])
    lags[0] *= 1 + _WHITE_SHARE
    if lags[0] <= 0:
        return np.ones(1)
    return np.concatenate([[1.0], -solve_toeplitz(lags[:-1], lags[1:])])


def _walk_back(level: NDArray[np.float64], loud: NDArray[np.bool_], search_from: int, speech: float) -> int:
    """First block of the sound that ends with the last loud block."""
    found = islands(loud[search_from:], round(JOIN_S / BLOCK_S))
    if not found:
        return len(loud) - 1
    start, _ = found.pop()
    while found:
        before_start, before_end = found.pop()
        gap_s, length_s = (start - before_end) * BLOCK_S, (before_end - before_start) * BLOCK_S
        if gap_s > CLOSURE_S:
            break
        if (
            length_s < CLICK_S
            and gap_s > BURST_S
            and not _aspirated(level, search_from + before_start, search_from + before_end, search_from + start, speech)
        ):
            break
        start = before_start
    return search_from + start


def _aspirated(level: NDArray[np.float64], start: int, end: int, voice: int, speech: float) -> bool:
    """Whether air follows a burst until the voice, over what was there before it."""
    air = level[end : voice - round(WINDOW_S / BLOCK_S)]
    before = level[max(0, start - 80) : max(0, start - 20)]
    over = max(float(before.mean()) if len(before) else 0.0, speech * 10 ** (-AIR_DB / 10))
    return len(air) > 0 and float(np.median(air)) > over * 10 ** (AIR_OVER_DB / 10)
