"""The wait before a reply, from words, voice and people's pause lengths: short if an end is likely, long if not.

Beyond 200 ms a pause is longer than x with probability (0.2 s / x)^1.43 (people talking to agents; LiveKit's eot-bench, 705
pauses). The least mean wait at a given share of pauses cut is found where each end's odds, times the rate at which pauses
still end, equal one price for all: a silence of 200 ms · exp((price − log odds) / 2.43). So there is no threshold at which a
caller is finished or not, only a wait that shrinks as the evidence grows. From `sure_from` on the silence is `least_ms`, which
buys the median with few pauses; `longest_ms` ends every other turn (at 2.4 s it cuts 2 % of people's pauses).

A fitted head joins the log odds of `SpokenCompletenessScorer`, `HoldingCuesScorer` and smart-turn, which is asked once the
silence is as long as it was trained with (docs/decisions/agent-endpointing.md).
"""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from scipy.special import logit

from harness.agents.cascade.endpoint_policies import PauseEvidence, TurnScorer

PAUSE_FROM_MS: Final = 200.0
PAUSE_EXPONENT: Final = 1.43
"""People's law of pauses, as in `harness.scenarios.pause_law`."""
LISTENS_MS: Final = 200.0
"""Silence after which smart-turn is asked, as in pipecat and in its training."""
TAKES_MS: Final = {"smart-turn": 170.0, "holding-cues": 80.0}
"""Time for each score of the voice, twice what it takes on two idle cores or more. They are asked for this long before the
shortest wait is over and not sooner: until then the reply is being made, and on two cores each delays the other. Beside
smart-turn three words took the model 250 to 350 ms instead of 65, in 5 of 15 calls."""
SUREST: Final = 0.999
"""Bound of a probability, so that one model alone cannot outvote the others."""
HEAD: Final = Path(__file__).parent / "data" / "endpoint_head.json"


@runtime_checkable
class ListeningPolicy(Protocol):
    """A policy that uses the voice as well as the words, and decides with the words and one score of the voice at least."""

    @property
    def longest_ms(self) -> float: ...

    @property
    def listens_ms(self) -> float:
        """The length of silence that the policy needs to judge the voice."""

    @property
    def asks_after_ms(self) -> float:
        """The length of silence after which it is asked, `listens_ms` or more."""

    async def weigh_words(self, evidence: PauseEvidence, /) -> Mapping[str, float]:
        """The scores of the words, by scorer."""

    @property
    def voices(self) -> Collection[str]:
        """The scorers of the voice."""

    async def weigh_voice(self, scorer: str, evidence: PauseEvidence, /) -> float:
        """The score of the voice by one of `voices`; `evidence.samples` end `listens_ms` into the silence."""

    def silence_for_ms(self, weighed: Mapping[str, float], /) -> float:
        """The silence that ends the turn, given the scores of words and voice."""


@dataclass(frozen=True, slots=True)
class Head:
    """Weights of each scorer's log odds, and an intercept: log odds of an end against a pause, one to one."""

    intercept: float
    weights: Mapping[str, float]

    def log_odds(self, weighed: Mapping[str, float]) -> float:
        """The combined log odds; a scorer without score counts as undecided."""
        return self.intercept + sum(w * log_odds(weighed.get(name, 0.5)) for name, w in self.weights.items())


def log_odds(p: float) -> float:
    """The log odds of a probability, bounded by `SUREST`."""
    return float(logit(min(max(p, 1 - SUREST), SUREST)))


def load_head(without: str | None = None) -> Head:
    """The shipped head: for all scorers, or the one fitted without `without`."""
    kept = json.loads(HEAD.read_text(encoding="utf-8"))["heads"]["all" if without is None else f"without {without}"]
    return Head(kept["intercept"], kept["weights"])


@dataclass(frozen=True, slots=True)
class HazardSilence:
    """The policy of the module's docstring. `price` selects a point on the curve of dead air against pauses cut."""

    words: Mapping[str, TurnScorer]
    voice: Mapping[str, TurnScorer]
    head: Head
    price: float
    least_ms: float
    longest_ms: float
    sure_from: float = math.inf
    listens_ms: float = field(default=LISTENS_MS)

    @property
    def asks_after_ms(self) -> float:
        return max(self.listens_ms, self.least_ms - max((TAKES_MS[name] for name in self.voice), default=0.0))

    async def weigh_words(self, evidence: PauseEvidence) -> Mapping[str, float]:
        return {name: await scorer.probability_complete(evidence) for name, scorer in self.words.items()}

    @property
    def voices(self) -> Collection[str]:
        return self.voice

    async def weigh_voice(self, scorer: str, evidence: PauseEvidence) -> float:
        return await self.voice[scorer].probability_complete(evidence)

    def silence_for_ms(self, weighed: Mapping[str, float]) -> float:
        odds = self.head.log_odds(weighed)
        wait_ms = PAUSE_FROM_MS * math.exp(min((self.price - odds) / (1 + PAUSE_EXPONENT), 10.0))
        return self.least_ms if odds >= self.sure_from else min(max(wait_ms, self.least_ms), self.longest_ms)

    async def silence_needed_ms(self, evidence: PauseEvidence) -> float:
        heard = [await self.weigh_voice(name, evidence) for name in self.voice]
        return self.silence_for_ms({**await self.weigh_words(evidence), **dict(zip(self.voice, heard, strict=True))})

    def observe_pause(self, _duration_ms: float) -> None:
        return None
