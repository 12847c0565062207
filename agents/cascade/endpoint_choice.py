"""The endpoint policy and the scorers that a profile's `[cascade.endpoint]` names."""

import math
from collections.abc import Callable
from typing import Final, get_args

from harness.agents.cascade.endpoint_policies import (
    AdaptiveSilence,
    BlendedScorer,
    EndpointPolicy,
    FixedSilence,
    ScoredSilence,
    TurnScorer,
)
from harness.agents.cascade.hazard import HazardSilence, load_head
from harness.agents.cascade.settings import (
    FixedEndpoint,
    GradedEndpoint,
    HazardEndpoint,
    ScorerName,
    StreamingEndpoint,
    TwoSpeedEndpoint,
)
from harness.agents.cascade.turn_scorers import HesitationVeto, LengthScorer

_SLOW: Final[frozenset[ScorerName]] = frozenset(("llm", "smart-turn"))
"""Scorers that run a model: asked last, and only if they can change the result."""
_BY_VOICE: Final[frozenset[ScorerName]] = frozenset(("smart-turn",))

MakeScorer = Callable[[ScorerName], TurnScorer]


def make_policy(settings: StreamingEndpoint, make_scorer: MakeScorer) -> EndpointPolicy:
    """The policy of a profile. `make_scorer` is called only for the scorers that it uses and that need more than words."""
    if isinstance(settings, HazardEndpoint):
        return _hazard(settings, make_scorer)
    policy = _without_adaption(settings, make_scorer)
    if settings.adapt is None:
        return policy
    return AdaptiveSilence(policy, settings.adapt.quantile, settings.adapt.factor, settings.adapt.most_ms)


def _hazard(settings: HazardEndpoint, make_scorer: MakeScorer) -> HazardSilence:
    head = load_head(settings.without)
    used: list[ScorerName] = [name for name in get_args(ScorerName) if name in head.weights]
    return HazardSilence(
        words={name: make_scorer(name) for name in used if name not in _BY_VOICE},
        voice={name: make_scorer(name) for name in used if name in _BY_VOICE},
        head=head,
        price=settings.price,
        least_ms=settings.least_ms,
        longest_ms=settings.longest_ms,
        sure_from=math.inf if settings.sure_from is None else settings.sure_from,
    )


def _without_adaption(settings: FixedEndpoint | TwoSpeedEndpoint | GradedEndpoint, make_scorer: MakeScorer) -> EndpointPolicy:
    if isinstance(settings, FixedEndpoint):
        return FixedSilence(settings.silence_ms)
    low = settings.complete_from if isinstance(settings, TwoSpeedEndpoint) else settings.incomplete_below
    scorer = _scorer(settings, make_scorer, (low, settings.complete_from))
    if settings.hesitation_veto:
        scorer = HesitationVeto(scorer)
    return ScoredSilence(scorer, settings.short_ms, settings.long_ms, low, settings.complete_from)


def _scorer(settings: TwoSpeedEndpoint | GradedEndpoint, make_scorer: MakeScorer, settled: tuple[float, float]) -> TurnScorer:
    def made(name: ScorerName) -> TurnScorer:
        length = settings.length
        return LengthScorer(length.words_at_half, length.spread_words) if name == "length" else make_scorer(name)

    slow_last = sorted(settings.scorers.items(), key=lambda item: item[0] in _SLOW)
    asked = [(made(name), weight) for name, weight in slow_last]
    return asked[0][0] if len(asked) == 1 else BlendedScorer(asked, settled)
