"""The caller's sound in a person's microphone: a sign that the headphones are missing.

`harness.timing.echo` correlates a whole call, because an agent's line is quiet while the caller speaks. A microphone is in
a room, and its owner may speak meanwhile. So the sound is cut into seconds, in each of which every frequency counts alike
(the phase transform, Knapp and Carter 1976), and what is the same in all of them is summed: an echo comes after the same
delay each time, a room's noise and another voice do not.

12 pairs of turns at 40 dB over a room's noise, the second turn after the first or half a second into it; the largest sum at
one delay over the root mean square of all:

| echo below the person's own voice | none | 20 dB | 30 dB | 40 dB | 50 dB | 60 dB | |---|---|---|---|---|---|---| | in a
room of 400 ms | at most 5.2 (72 recordings) | at least 40 | 34 | 22 | 9.5 | 3.7 |
"""

from typing import Final

import numpy as np

from harness.audio.pcm import Float32, resample_float

SEARCH_HZ: Final = 8_000
BAND_HZ: Final = (300.0, 3_400.0)
SEGMENT_S: Final = 1.0
LONGEST_S: Final = 0.5
"""Longest delay of a page's sound to its own microphone; wireless headphones add some 0.2 s."""
AROUND_S: Final = 0.1
"""Search around the measured latency: a loudspeaker some metres away and a latency that drifts."""
HEARD: Final = 15.0
"""Threshold between no echo (5.2 at most) and one at the limit of speech, 40 dB below the person's own (21.6 at least)."""
ACTIVE: Final = 0.3
"""Least share of the caller's level (about -10 dB) for a second to count: in a pause there is nothing to be returned."""


def echo_delay_s(heard: Float32, played: Float32, rate_hz: int, latency_s: float | None = None) -> float | None:
    """The delay after which `played` is in `heard` (both from the same instant); None if it is not.

    `latency_s`: the measured latency of the loop, where the echo must be.
    """
    one, other = resample_float(played, rate_hz, SEARCH_HZ), resample_float(heard, rate_hz, SEARCH_HZ)
    sounding = one[one != 0]
    if not sounding.size:
        return None
    segment, longest = round(SEGMENT_S * SEARCH_HZ), round(LONGEST_S * SEARCH_HZ)
    size = 4 * segment
    frequencies = np.fft.rfftfreq(size, 1 / SEARCH_HZ)
    band = (frequencies > BAND_HZ[0]) & (frequencies < BAND_HZ[1])
    least = ACTIVE * float(np.sqrt(np.mean(sounding**2)))
    summed = np.zeros(size)
    for begin in range(0, max(1, one.size - segment // 2), segment // 2):
        said, answer = one[begin : begin + segment], other[begin : begin + segment + longest]
        if float(np.sqrt(np.mean(said**2))) < least or answer.size < segment:
            continue
        cross = np.fft.rfft(answer, size) * np.conj(np.fft.rfft(said * np.hanning(said.size), size))
        summed += np.fft.irfft(np.where(band, cross / np.maximum(np.abs(cross), 1e-12), 0), size)
    lags = np.abs(summed[:longest])
    spread = float(np.sqrt(np.mean(lags**2)))
    low, high = (0.0, LONGEST_S) if latency_s is None else (max(0.0, latency_s - AROUND_S), latency_s + AROUND_S)
    first = round(low * SEARCH_HZ)
    sought = lags[first : round(high * SEARCH_HZ)]
    if not sought.size or spread == 0 or float(sought.max()) < HEARD * spread:
        return None
    return (first + int(np.argmax(sought))) / SEARCH_HZ
