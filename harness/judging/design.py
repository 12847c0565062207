"""Design of the comparisons: pairs within a context, balanced and connected, from one recorded seed.

A full round robin of 18 systems over 300 contexts is 45,900 questions; a balanced tenth loses about 0.01 of Kendall's τ, and
adaptive pairing gained nothing more in simulation. Pairs are chosen greedily: one that joins parts, then the pair and the
systems asked least so far. The reply shown first is drawn at random; a tenth is asked again in the other order (flip rate) and
a twentieth in the same (self-consistency), labelled so that a fit can leave them out.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

Purpose = Literal["main", "swapped", "repeat"]


@dataclass(frozen=True, slots=True)
class Design:
    """Size of a plan. `cells` is the number of (context, pair) cells of a balanced design; None asks every pair."""

    cells: int | None = None
    replicates: int = 1
    """Judgments per pair by the same judge, each with its own order (the paper: five raters a pair)."""
    swapped_share: float = 0.10
    repeat_share: float = 0.05
    both_orders: bool = False
    """Each judgment in both orders, in place of one at random; both count."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question of the plan. `draw` distinguishes questions that would otherwise be the same."""

    context_id: str
    system_a: str
    system_b: str
    shown_first: Literal["a", "b"]
    purpose: Purpose
    draw: int


def plan_comparisons(
    blocks: Mapping[str, Sequence[str]], design: Design, seed: int, between: Collection[str] = ()
) -> tuple[Comparison, ...]:
    """The plan for `blocks` (context id → systems that have a reply there), the same for the same seed.

    `system_a` is always the alphabetically smaller name, so that a pair has one spelling. Audits follow their block. `between`:
    systems of which each pair has exactly one; none: every pair counts.
    """
    rng = _lot(seed)
    chosen = _chosen_pairs(blocks, design, rng, frozenset(between))
    plan: list[Comparison] = []
    for context_id, pairs in chosen.items():
        for a, b in pairs:
            for replicate in range(design.replicates):
                first: Literal["a", "b"] = "a" if rng.random() < 0.5 else "b"
                draw = replicate * (1 + design.both_orders)
                plan.append(Comparison(context_id, a, b, first, "main", draw))
                if design.both_orders:
                    plan.append(Comparison(context_id, a, b, _other(first), "main", draw + 1))
    plan.extend(_audits(plan, design, rng))
    order = {context_id: n for n, context_id in enumerate(chosen)}
    return tuple(sorted(plan, key=lambda c: order[c.context_id]))


def fill_order(context_ids: Collection[str], seed: int) -> list[str]:
    """Contexts in random order, as a reduced design fills them: each beginning of this order is balanced too."""
    return _shuffled(context_ids, _lot(seed))


def _lot(seed: int) -> random.Random:
    return random.Random(f"design {seed}")


def _shuffled(context_ids: Collection[str], rng: random.Random) -> list[str]:
    order = sorted(context_ids)
    rng.shuffle(order)
    return order


def _chosen_pairs(
    blocks: Mapping[str, Sequence[str]], design: Design, rng: random.Random, between: frozenset[str]
) -> dict[str, list[tuple[str, str]]]:
    everything = {
        context_id: [pair for pair in combinations(sorted(set(systems)), 2) if not between or len(between & {*pair}) == 1]
        for context_id, systems in sorted(blocks.items())
    }
    total = sum(map(len, everything.values()))
    if design.cells is None or design.cells >= total:
        return everything
    context_ids = _shuffled(everything, rng)
    asked_pairs: Counter[tuple[str, str]] = Counter()
    asked_systems: Counter[str] = Counter()
    chosen: dict[str, list[tuple[str, str]]] = {}
    left, pairs_left = design.cells, total
    for context_id in context_ids:
        candidates = everything[context_id]
        share = round(left * len(candidates) / pairs_left) if pairs_left else 0
        picked = _block(candidates, share, asked_pairs, asked_systems, rng)
        chosen[context_id] = picked
        left, pairs_left = left - len(picked), pairs_left - len(candidates)
    return {context_id: chosen[context_id] for context_id in sorted(chosen)}


def _block(
    candidates: Sequence[tuple[str, str]],
    count: int,
    asked_pairs: Counter[tuple[str, str]],
    asked_systems: Counter[str],
    rng: random.Random,
) -> list[tuple[str, str]]:
    part = {system: system for pair in candidates for system in pair}
    left = list(candidates)
    rng.shuffle(left)
    picked: list[tuple[str, str]] = []
    while left and len(picked) < count:
        best = min(
            left,
            key=lambda p: (part[p[0]] == part[p[1]], asked_pairs[p], asked_systems[p[0]] + asked_systems[p[1]]),
        )
        left.remove(best)
        picked.append(best)
        asked_pairs[best] += 1
        asked_systems.update(best)
        joined, gone = part[best[0]], part[best[1]]
        part = {system: joined if root == gone else root for system, root in part.items()}
    return picked


def _audits(main: Sequence[Comparison], design: Design, rng: random.Random) -> list[Comparison]:
    """A share of the first replicates again: in the other order, and (others) in the same order."""
    firsts = [c for c in main if c.draw == 0]
    swaps = 0 if design.both_orders else round(design.swapped_share * len(firsts))
    repeats, draw = round(design.repeat_share * len(firsts)), design.replicates * (1 + design.both_orders)
    sample = rng.sample(firsts, min(len(firsts), swaps + repeats))
    audits = []
    for n, c in enumerate(sample):
        if n < swaps:
            audits.append(Comparison(c.context_id, c.system_a, c.system_b, _other(c.shown_first), "swapped", draw))
        else:
            audits.append(Comparison(c.context_id, c.system_a, c.system_b, c.shown_first, "repeat", draw))
    return audits


def _other(side: Literal["a", "b"]) -> Literal["a", "b"]:
    return "b" if side == "a" else "a"
