"""Endpoint policies, which decide when the caller has finished: small, so that they can be exchanged and compared.

At the first silence of each pause a policy says how long the silence must become before the turn counts as over. It may
take its time (the language model's opinion costs about 40 ms), since the answer is needed only hundreds of milliseconds
later; until then `longest_ms` applies. The evidence comes from a scorer (`turn_scorers`), which is a separate part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit


@dataclass(frozen=True, slots=True)
class PauseEvidence:
    """The evidence when the caller falls silent. `samples` is the audio last transcribed: 16 kHz, -1 to 1.

    `text` is this turn's; `said_before` what the caller said in a turn that ended too soon, where this one goes on with it.
    """

    text: str
    samples: NDArray[np.float32]
    said_before: str = ""


class TurnScorer(Protocol):
    """A scorer of the probability that a caller's words are complete."""

    async def probability_complete(self, evidence: PauseEvidence) -> float: ...


class EndpointPolicy(Protocol):
    """A policy that decides how much silence ends a turn."""

    @property
    def longest_ms(self) -> float:
        """The silence that ends any turn, whatever the evidence."""

    async def silence_needed_ms(self, evidence: PauseEvidence, /) -> float:
        """The length at which the current silence ends the turn."""

    def observe_pause(self, duration_ms: float, /) -> None:
        """Record that the caller went on after a pause of `duration_ms`."""


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
class ScoredSilence:
    """A short silence if the words seem complete, a long one if not, and intermediate ones in between.

    From `complete_from` on the short silence does; below `incomplete_below` the long one is needed. With both equal it
    has two speeds.
    """

    scorer: TurnScorer
    short_ms: float
    long_ms: float
    incomplete_below: float
    complete_from: float

    @property
    def longest_ms(self) -> float:
        return self.long_ms

    async def silence_needed_ms(self, evidence: PauseEvidence) -> float:
        score = await self.scorer.probability_complete(evidence)
        if score >= self.complete_from:
            return self.short_ms
        if score <= self.incomplete_below:
            return self.long_ms
        share = (score - self.incomplete_below) / (self.complete_from - self.incomplete_below)
        return self.long_ms + share * (self.short_ms - self.long_ms)

    def observe_pause(self, _duration_ms: float) -> None:
        return None


_PAUSES_BEFORE_LEARNING: Final = 2
"""Least number of pauses: one long pause may be an accident; two are a habit of the speaker."""


@dataclass(slots=True)
class AdaptiveSilence:
    """A policy that waits at least as long as this caller's own pauses suggest, because distressed speech has long ones.

    The silence that `inner` asks for is raised to `factor` times the `quantile` of the pauses heard so far in the
    conversation, but to `most_ms` at most, so that a slow speaker is waited for and a fast one is not kept waiting.
    """

    inner: EndpointPolicy
    quantile: float
    factor: float
    most_ms: float
    _pauses_ms: list[float] = field(default_factory=list)

    @property
    def longest_ms(self) -> float:
        return max(self.inner.longest_ms, self.most_ms)

    async def silence_needed_ms(self, evidence: PauseEvidence) -> float:
        needed_ms = await self.inner.silence_needed_ms(evidence)
        if len(self._pauses_ms) < _PAUSES_BEFORE_LEARNING:
            return needed_ms
        own_ms = self.factor * float(np.quantile(self._pauses_ms, self.quantile))
        return max(needed_ms, min(own_ms, self.most_ms))

    def observe_pause(self, duration_ms: float) -> None:
        self._pauses_ms.append(duration_ms)
        self.inner.observe_pause(duration_ms)


_SUREST: Final = 0.99
"""Largest log odds of one scorer, so that it alone cannot outvote the others."""


@dataclass(frozen=True, slots=True)
class BlendedScorer:
    """A combination of scorers: the weighted mean of their log odds, so that a sure one outweighs an unsure one.

    They are asked in order. Once no answer of those that remain could bring the blend back between `settled` (what a policy
    does below the one and from the other is the same), they are not asked: the language model's opinion costs 40 to 70 ms.
    """

    scorers: Sequence[tuple[TurnScorer, float]]
    settled: tuple[float, float] = (0.0, 1.0)

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        low, high = (float(logit(p)) for p in self.settled)
        total = left = sum(weight for _, weight in self.scorers)
        odds = 0.0
        for scorer, weight in self.scorers:
            p = min(max(await scorer.probability_complete(evidence), 1 - _SUREST), _SUREST)
            odds += weight / total * float(logit(p))
            left -= weight
            reach = left / total * float(logit(_SUREST))
            if odds + reach <= low:
                return float(expit(odds + reach))
            if odds - reach >= high:
                return float(expit(odds - reach))
        return float(expit(odds))
