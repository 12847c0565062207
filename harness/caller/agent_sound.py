"""The agent's sound of one call at one sample rate, where its messages had several.

Some agents change their rate within a call: a cached phrase at 24,000 Hz, a synthesiser's answer at 16,000. A recording has one
rate, the highest of the call, so that nothing is lost. A run of messages of one rate is converted as a whole, so that
its pieces join; when each arrived is untouched, and how long it lasts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from harness.audio.pcm import resample
from harness.recording.record import Arrival


@dataclass(frozen=True, slots=True)
class AgentSound:
    """The samples of a call, and the place of each message in them."""

    rate_hz: int
    pcm: NDArray[np.int16]
    arrivals: tuple[Arrival, ...]


def at_one_rate(pcm: Sequence[bytes], arrivals: Sequence[Arrival], rates_hz: Sequence[int]) -> AgentSound:
    """The sound of messages, each with its own rate, at the highest of these rates."""
    best_hz = max(rates_hz)
    parts: list[NDArray[np.int16]] = []
    placed: list[Arrival] = []
    begin = 0
    for rate_hz, run in groupby(range(len(pcm)), key=rates_hz.__getitem__):
        messages = list(run)
        sound = resample(np.frombuffer(b"".join(pcm[k] for k in messages), "<i2").astype(np.int16), rate_hz, best_hz)
        edges = [0, *np.cumsum([arrivals[k].count_samples for k in messages]).tolist()]
        edges = [min(len(sound), round(edge * best_hz / rate_hz)) for edge in edges]
        edges[-1] = len(sound)
        for k, start, end in zip(messages, edges, edges[1:], strict=False):
            placed.append(replace(arrivals[k], offset_samples=begin + start, count_samples=end - start))
        parts.append(sound)
        begin += len(sound)
    return AgentSound(best_hz, np.concatenate(parts), tuple(placed))
