"""When has the caller finished? Small policies with one question to answer, so that they can be swapped and compared.

At the first silence of each pause a policy says how long the silence must become before the turn counts as over. It may
take its time (the language model's opinion costs about 40 ms), since the answer is needed only hundreds of milliseconds
later; until it is known, `longest_ms` holds.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agents.cascade.settings import FixedEndpoint, TwoSpeedEndpoint


@dataclass(frozen=True, slots=True)
class PauseEvidence:
    """What is known when the caller falls silent. `samples` is the turn's audio so far: 16 kHz, -1 to 1."""

    text: str
    samples: NDArray[np.float32]


class EndpointPolicy(Protocol):
    """Decides how much silence ends a turn."""

    @property
    def longest_ms(self) -> float:
        """The silence that ends any turn, whatever the evidence."""

    async def silence_needed_ms(self, evidence: PauseEvidence, /) -> float:
        """How long the silence that has just begun must last to end the turn."""

    def observe_pause(self, duration_ms: float, /) -> None:
        """The caller went on after a pause of `duration_ms`."""


class TurnScorer(Protocol):
    """Something that can say how likely it is that a caller's words are complete."""

    async def probability_complete(self, text: str) -> float: ...


@dataclass(frozen=True, slots=True)
class FixedSilence:
    """The same silence for every pause."""

    silence_ms: float

    @property
    def longest_ms(self) -> float:
        return self.silence_ms

    async def silence_needed_ms(self, _evidence: PauseEvidence) -> float:
        return self.silence_ms

    def observe_pause(self, _duration_ms: float) -> None:
        return None


@dataclass(frozen=True, slots=True)
class TwoSpeed:
    """A short silence when `scorer` thinks that the words are complete, else a long one."""

    scorer: TurnScorer
    short_ms: float
    long_ms: float
    complete_from: float

    @property
    def longest_ms(self) -> float:
        return self.long_ms

    async def silence_needed_ms(self, evidence: PauseEvidence) -> float:
        complete = await self.scorer.probability_complete(evidence.text) >= self.complete_from
        return self.short_ms if complete else self.long_ms

    def observe_pause(self, _duration_ms: float) -> None:
        return None


def make_policy(settings: FixedEndpoint | TwoSpeedEndpoint, scorer: TurnScorer) -> EndpointPolicy:
    """The policy that a profile's `[cascade.endpoint]` names."""
    if isinstance(settings, FixedEndpoint):
        return FixedSilence(settings.silence_ms)
    return TwoSpeed(scorer, settings.short_ms, settings.long_ms, settings.complete_from)
