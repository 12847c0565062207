"""Differences between two systems, or two runs, on the same conversations."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.reports.view import Estimate, PageView
from harness.statistics.bootstrap import DRAWS, draw_contexts, percentile_interval
from harness.statistics.clustered_means import SEED
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.statistics.percentiles import weighted_quantile
from harness.timing.figures import NO_REPLY_MS

ByConversation = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Paired:
    """Median over conversations of (one − other), in the unit of the figure."""

    difference: Estimate
    conversations: int


def figures(view: PageView, agent: str, metric: str = "ttfa") -> dict[str, list[float]]:
    """Conversation → the agent's values; a turn without reply counts as 15 s."""
    found: dict[str, list[float]] = defaultdict(list)
    for context in view.contexts:
        for turn in context.turns:
            if turn.agent != agent or turn.discarded:
                continue
            value = NO_REPLY_MS if turn.no_reply else turn.figures_ms.get(metric)
            if value is not None:
                found[context.id].append(value)
    return found


def against(view: PageView, agent: str, other: str, metric: str = "ttfa") -> Paired | None:
    """The difference `agent` minus `other` within one run; None if they share no conversation."""
    return paired(figures(view, agent, metric), figures(view, other, metric))


def paired(one: ByConversation, other: ByConversation) -> Paired | None:
    """The median of paired differences, with an interval from eight conversations on."""
    shared = sorted(set(one) & set(other))
    if not shared:
        return None
    differences = np.array([float(np.mean(one[name])) - float(np.mean(other[name])) for name in shared])
    value = float(np.median(differences))
    if len(shared) < FEWEST_CLUSTERS:
        return Paired(Estimate(value), len(shared))
    often = draw_contexts(len(shared), DRAWS, np.random.default_rng(SEED))
    low, high = percentile_interval(weighted_quantile(differences, often, 0.5), len(shared))
    return Paired(Estimate(value, float(low), float(high)), len(shared))
