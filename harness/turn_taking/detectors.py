"""Published results of end-of-turn detectors alone on people's speech, over which an agent's endpointing is drawn.

Each detector is a curve: with a threshold, a least silence and a time-out varied, every mean latency after true ends has a
least share of inner pauses cut. Up to four points of each were published: the best share within two latencies, and the best
latency within two shares. They are from other speech than any pack here (people talking to agents), and without any compute
after the decision, so they show which tasks are hard; no agent is ranked against them.

Source: https://github.com/livekit/eot-bench (Apache-2.0), commit 5bf5ac2, English, `comparison/report.md`: 400 turns, 705 inner
pauses of 200 ms and more.
"""

from dataclasses import dataclass
from typing import Final

SOURCE: Final = "LiveKit's eot-bench, English, 400 turns, 705 pauses"
CAVEAT: Final = "other speech, without compute"
AT_MS: Final = (300.0, 600.0)
AT_CUT: Final = (0.10, 0.05)
PAUSES_CUT_LIMIT: Final = AT_CUT[0]
"""The share of inner pauses up to which *few* are cut, on a page and in the limits that `harness init` writes. Silence alone
cuts as many where it waits for a second (last row below). An agent that cuts more is fast at its caller's cost."""


@dataclass(frozen=True, slots=True)
class Detector:
    """One published curve. None where a figure was not published."""

    name: str
    cut_at_ms: tuple[float | None, float | None]
    """Share of pauses cut at a mean latency of 300 and of 600 ms."""
    ms_at_cut: tuple[float, float]
    """Mean latency in ms at 10 % and at 5 % of pauses cut."""

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """(mean latency in ms, share of pauses cut), by latency."""
        known = [(ms, cut) for ms, cut in zip(AT_MS, self.cut_at_ms, strict=True) if cut is not None]
        return tuple(sorted([*known, *zip(self.ms_at_cut, AT_CUT, strict=True)]))


DETECTORS: Final = (
    Detector("LiveKit turn detector v1", (0.099, 0.045), (295, 543)),
    Detector("Baton", (0.123, 0.048), (350, 577)),
    Detector("Soniox", (None, 0.055), (512, 647)),
    Detector("ultraVAD", (0.277, 0.119), (663, 899)),
    Detector("Gradium", (0.556, 0.126), (656, 913)),
    Detector("AssemblyAI", (0.494, 0.146), (713, 1_049)),
    Detector("smart-turn v3.2", (0.352, 0.148), (739, 1_051)),
    Detector("Cartesia Ink 2", (None, None), (911, 1_056)),
    Detector("LiveKit v1-mini", (0.278, 0.121), (698, 1_070)),
    Detector("VAP", (0.470, 0.146), (749, 1_131)),
    Detector("OpenAI GPT Realtime 2", (None, None), (824, 1_143)),
    Detector("Deepgram Flux", (0.129, 0.099), (548, 1_151)),
    Detector("silence alone", (0.556, 0.217), (1_000, 1_600)),
)
