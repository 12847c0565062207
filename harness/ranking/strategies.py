"""Use of support strategies by a system, and how even it is.

Fifteen categories (HEART, section 9.10); a labeller marks each strategy of each reply as present, absent or
uncertain, with a snippet of the reply as evidence. A snippet that does not occur in the reply is no evidence, and its label
does not count. Uncertain counts as not present, and the share of uncertain labels is stated. Rates are shares of replies, in
percent, so that SD and range compare with the paper's (people: SD 16.3, range 60.3 points).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from harness.statistics.arrays import Floats
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from harness.statistics.interval import FEWEST_CLUSTERS, Interval

STRATEGIES = (
    "affirmation",
    "avoid judgment and criticism",
    "clarification",
    "collaborative planning",
    "emotional validation",
    "normalize experiences",
    "offer hope",
    "promote self-care",
    "provide different perspectives",
    "reflective statements",
    "reframe negative thoughts",
    "share information",
    "stress management",
    "suggest options",
    "chit-chat",
)
State = Literal["present", "absent", "uncertain"]
DRAWS = 2000


class StrategyLabel(BaseModel):
    """One label of one reply. `labeller`: a judge's id, `human:<id>`, `human:consensus` or `program:consensus`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context: str
    system: str
    strategy: str
    state: State
    probability: Annotated[float, Field(ge=0, le=1)] | None = None
    evidence: str = ""
    labeller: str = ""
    condition: str = ""
    """The line condition that the reply was heard in; empty where the run has one."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval over conversations (95 %; None under eight contexts)."""

    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Usage:
    """Strategies of one system or family. `rates`: percent of its replies with each strategy, in the order of STRATEGIES."""

    name: str
    replies: int
    coverage: tuple[str, ...]
    """Number of strategies that occur at least once."""
    rates: tuple[float, ...]
    unique_per_reply: Estimate
    entropy_bits: Estimate
    """Entropy of the distribution of its strategies, in bits; at most log2(15) = 3.9."""
    sd: Estimate
    """Standard deviation of the rates, in points (divisor n − 1): low is balanced."""
    range: Estimate
    uncertain_share: float


@dataclass(frozen=True, slots=True)
class LabellerCheck:
    """Check of a labeller against settled labels. `macro_f1` is the mean over strategies that either side saw; else None."""

    macro_f1: float | None
    by_strategy: Mapping[str, float | None]
    replies: int


def occurs(evidence: str, text: str) -> bool:
    """True if a snippet occurs in the text, whatever its letter case and spacing; False for an empty snippet.

    >>> occurs("No  wonder", "Oh, no wonder you're tired."), occurs("", "Oh.")
    (True, False)
    """
    snippet = " ".join(evidence.casefold().split())
    return bool(snippet) and snippet in " ".join(text.casefold().split())


def backed(labels: Iterable[StrategyLabel], texts: Mapping[tuple[str, str], str]) -> list[StrategyLabel]:
    """Labels, where those that claim a presence without evidence in the reply become uncertain ((context, system) → text)."""
    found = []
    for label in labels:
        text = texts.get((label.context, label.system), "")
        unbacked = label.state == "present" and not occurs(label.evidence, text)
        found.append(label.model_copy(update={"state": "uncertain"}) if unbacked else label)
    return found


def usage(
    labels: Iterable[StrategyLabel], *, families: Mapping[str, str] | None = None, draws: int = DRAWS, seed: int = 0
) -> tuple[Usage, ...]:
    """Figures of each system, or of each family where `families` (system → family) is given; by name.

    >>> label = {"context": "c", "system": "mine", "state": "present"}
    >>> (used,) = usage([StrategyLabel(strategy=name, **label) for name in ("clarification", "offer hope")])
    >>> used.coverage, used.unique_per_reply.value, used.entropy_bits.value
    (('clarification', 'offer hope'), 2.0, 1.0)
    """
    states: dict[str, dict[tuple[str, str], dict[str, State]]] = defaultdict(lambda: defaultdict(dict))
    for label in labels:
        group = label.system if families is None else families.get(label.system)
        if group is not None and label.strategy in STRATEGIES:
            states[group][label.context, label.system][label.strategy] = label.state
    return tuple(_usage(name, replies, draws, seed) for name, replies in sorted(states.items()))


def _usage(name: str, replies: Mapping[tuple[str, str], Mapping[str, State]], draws: int, seed: int) -> Usage:
    contexts = sorted({context for context, _ in replies})
    at = {context: k for k, context in enumerate(contexts)}
    present = np.zeros((len(contexts), len(STRATEGIES)))
    count = np.zeros(len(contexts))
    uncertain = 0
    for (context, _), found in replies.items():
        present[at[context]] += [found.get(s) == "present" for s in STRATEGIES]
        count[at[context]] += 1
        uncertain += sum(state == "uncertain" for state in found.values())
    often = draw_contexts(len(contexts), draws, np.random.default_rng(seed))
    whole = _figures(present.sum(axis=0)[None], count.sum()[None])
    drawn = _figures(often @ present, often @ count)

    def estimate(key: str) -> Estimate:
        if len(contexts) < FEWEST_CLUSTERS:
            return Estimate(float(whole[key][0]), None)
        low, high = percentile_interval(drawn[key], len(contexts))
        return Estimate(float(whole[key][0]), (float(low), float(high)))

    rates = 100 * present.sum(axis=0) / count.sum()
    return Usage(
        name=name,
        replies=len(replies),
        coverage=tuple(s for s, rate in zip(STRATEGIES, rates, strict=True) if rate > 0),
        rates=tuple(rates.tolist()),
        unique_per_reply=estimate("unique"),
        entropy_bits=estimate("entropy"),
        sd=estimate("sd"),
        range=estimate("range"),
        uncertain_share=uncertain / max(1, sum(len(found) for found in replies.values())),
    )


def _figures(present: Floats, count: Floats) -> dict[str, Floats]:
    rates = 100 * present / count[:, None]
    total = present.sum(axis=1, keepdims=True)
    share = np.divide(present, total, out=np.zeros_like(present), where=total > 0)
    entropy = -(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=1)
    return {
        "unique": present.sum(axis=1) / count,
        "entropy": entropy,
        "sd": rates.std(axis=1, ddof=1),
        "range": rates.max(axis=1) - rates.min(axis=1),
    }


def heatmap(used: Sequence[Usage]) -> tuple[tuple[str, ...], tuple[str, ...], Floats]:
    """Strategies (by overall use, most first), names, and rates (strategies, names) in percent."""
    table = np.array([u.rates for u in used]).reshape(len(used), len(STRATEGIES)).T
    order = np.argsort(-table.mean(axis=1), kind="stable") if used else np.arange(len(STRATEGIES))
    return tuple(STRATEGIES[k] for k in order), tuple(u.name for u in used), table[order]


def check_labeller(labels: Iterable[StrategyLabel], humans: Iterable[StrategyLabel]) -> LabellerCheck:
    """F1 of `present` for every strategy, on replies that both sides labelled.

    >>> labels = [StrategyLabel(context="c", system="s", strategy=name, state="present") for name in STRATEGIES[:2]]
    >>> check_labeller(labels, [labels[0], labels[1].model_copy(update={"state": "absent"})]).macro_f1
    0.5
    """
    theirs = {(x.context, x.system, x.strategy): x.state == "present" for x in humans}
    ours = {(x.context, x.system, x.strategy): x.state == "present" for x in labels}
    shared = set(theirs) & set(ours)
    by_strategy: dict[str, float | None] = {}
    for strategy in STRATEGIES:
        here = [(ours[key], theirs[key]) for key in shared if key[2] == strategy]
        both = sum(a and b for a, b in here)
        one = sum(a != b for a, b in here)
        by_strategy[strategy] = 2 * both / (2 * both + one) if both + one else None
    known = [f1 for f1 in by_strategy.values() if f1 is not None]
    return LabellerCheck(float(np.mean(known)) if known else None, by_strategy, len({key[:2] for key in shared}))
