"""Lost and late packets, and their concealment by a receiver.

Losses come in bursts, so they follow Gilbert and Elliott's two-state chain: in the good state every packet arrives, in the
bad state none does. Jitter is delay that changes from packet to packet; a receiver hides it behind a buffer, so all that
can be heard of it is the packets that miss the buffer. The buffer's own constant delay is left out: frames leave the caller
on time, and an agent's latency must not be charged with a network that the condition invents.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.audio.conditions.line import OnLine
from harness.audio.pcm import Float32

PACKET_MS = 20
MEAN_BURST_PACKETS = 3.0
"""Mean burst, within the two to four packets that are usually reported for wireless and congested links."""

BUFFER_MS = 60.0
"""Length of a common fixed jitter buffer of three packets."""

JITTER_MEMORY = 0.8
"""Correlation of one packet's delay with the next: queues fill and drain over several packets."""

CONCEAL_MS = 60
"""Concealment repeats the last good packet and fades it out over this time, as G.711 Appendix I does; then it is silent."""


def lose_packets(line: OnLine, percent: float) -> Float32:
    """The sound with `percent` of packets lost, in bursts of three on average."""
    return conceal(line.signal, line.rate_hz, gilbert_elliott(_packets(line), percent / 100, MEAN_BURST_PACKETS, line.chance))


def late_packets(line: OnLine, mean_ms: float) -> Float32:
    """The sound with packets late by `mean_ms` on average; those later than the buffer are lost."""
    return conceal(line.signal, line.rate_hz, jitter_delays_ms(_packets(line), mean_ms, line.chance) > BUFFER_MS)


def gilbert_elliott(packets: int, loss: float, mean_burst: float, chance: np.random.Generator) -> NDArray[np.bool_]:
    """The lost packets: long-run share `loss` (0 to 1), bursts of `mean_burst` packets on average."""
    leave_bad = 1.0 / mean_burst
    leave_good = min(1.0, leave_bad * loss / max(1e-9, 1.0 - loss))
    draws = chance.random(packets)
    lost = np.zeros(packets, dtype=np.bool_)
    bad = bool(chance.random() < loss)
    for k in range(packets):
        lost[k] = bad
        bad = draws[k] >= leave_bad if bad else draws[k] < leave_good
    return lost


def jitter_delays_ms(packets: int, mean_ms: float, chance: np.random.Generator) -> NDArray[np.float64]:
    """The extra delay of each packet: exponential with mean `mean_ms`, each correlated with the one before."""
    from scipy.signal import lfilter
    from scipy.stats import norm

    steps = chance.standard_normal(packets) * np.sqrt(1 - JITTER_MEMORY**2)
    if packets:
        steps[0] = chance.standard_normal()
    normal = lfilter([1.0], [1.0, -JITTER_MEMORY], steps)
    return np.asarray(-mean_ms * norm.logsf(normal), dtype=np.float64)


def conceal(signal: Float32, rate_hz: int, lost: NDArray[np.bool_]) -> Float32:
    """The signal as a receiver plays it when the packets marked in `lost` are missing."""
    size = round(rate_hz * PACKET_MS / 1000)
    out = signal.copy()
    gone = 0
    last_good = np.zeros(size, dtype=np.float32)
    for k in range(lost.size):
        packet = out[k * size : (k + 1) * size]
        if lost[k]:
            start = 1.0 - gone * PACKET_MS / CONCEAL_MS
            fade = np.clip(np.linspace(start, start - PACKET_MS / CONCEAL_MS, packet.size), 0.0, 1.0)
            packet[:] = last_good[: packet.size] * fade.astype(np.float32)
            gone += 1
        else:
            if packet.size == size:
                last_good = packet.copy()
            gone = 0
    return out


def _packets(line: OnLine) -> int:
    return -(-line.signal.size // round(line.rate_hz * PACKET_MS / 1000))
