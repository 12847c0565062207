"""The tuning itself: all pairs of a conversation at once, longer-better and longer-worse pairs weighing alike.

The loss is that of pairs, log(1 + e^(−difference)), over every two replies to one conversation, so that each text is read once
an epoch however many pairs it is in. Two things keep length out of the score: in every origin, pairs of each ratio of lengths
weigh alike whichever way they go; and a term of the ratio's logarithm, one for each origin, takes what is left and is dropped.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from benchmarks.judging_reader import measure
from benchmarks.judging_reader.faults import LEAST, MADE
from benchmarks.judging_reader.material import Group
from benchmarks.judging_reader.net import Lower, Text, Tokens, Upper, by_length, padded

EPOCHS = 2
"""What two shared cores allow for every fold; more were not tried."""
BATCH_TOKENS, PART_TOKENS = 6_000, 2_000
"""Tokens to a step, and tokens read at once, texts of similar length together."""
ORIGIN_WEIGHT = {"ieval": 0.5}
"""One person's ranks are noisier than an author's grades: two people agree on 78 % of pairs."""
MADE_WEIGHT = 0.5
"""A pair with a made reply teaches one of eight families; not varied."""
BANDS = (0.05, 0.2, 0.5, 1.0, 9.0)
"""Upper bounds of bands of the ratio of lengths, as a logarithm; within the first, replies are as long as each other."""
MOST_BALANCE = 4.0
"""Where hardly any pair goes one way, the few would count for more than all others; not varied."""
HEAD_RATE, LAYER_RATE, LENGTH_RATE = 1e-3, 4e-4, 2e-2
"""Learning rates of Adam, usual ones; not varied."""

Key = tuple[tuple[str, ...], str]
Array = NDArray[np.float32]


class Reading:
    """Texts as states below the tuned layers, each computed once."""

    def __init__(self, lower: Lower, text: Text) -> None:
        self._lower, self._text = lower, text
        self.tokens: dict[Key, Tokens] = {}
        self.states: dict[Key, Tensor] = {}

    def add(self, groups: Sequence[Group]) -> None:
        """Read the groups' texts as far as the tuned layers."""
        keys = list(dict.fromkeys(key for group in groups for key in keys_of(group) if key not in self.states))
        tokens = [self._text.read(*key) for key in keys]
        self.tokens.update(zip(keys, tokens, strict=True))
        self.states.update(zip(keys, self._lower.states(tokens), strict=True))

    def vectors(self, upper: Upper, groups: Sequence[Group]) -> list[Array]:
        """Each group's vectors (replies × twice the width), of which score and faults are linear."""
        upper.eval()
        keys = list(dict.fromkeys(key for group in groups for key in keys_of(group)))
        with torch.no_grad():
            found = dict(zip(keys, read(upper, self, keys).numpy(), strict=True))
        return [np.stack([found[key] for key in keys_of(group)]) for group in groups]


def keys_of(group: Group) -> list[Key]:
    """The texts of a group; a reply beyond those with turns of their own answers the group's."""
    own = (*group.own, *(group.turns,) * (len(group.replies) - len(group.own)))
    return [(turns, reply.text) for turns, reply in zip(own, group.replies, strict=True)]


def read(upper: Upper, reading: Reading, keys: Sequence[Key]) -> Tensor:
    """The vectors of texts, those of similar length read together so that little of a batch is padding."""
    order, outs = [], []
    for part in by_length([len(reading.tokens[key].ids) for key in keys], PART_TOKENS):
        each = [keys[n] for n in part]
        x, mask, reply = padded([reading.states[k] for k in each], [reading.tokens[k] for k in each])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            outs.append(upper(x, mask, reply).float())
        order += part
    return torch.cat(outs)[torch.tensor(order).argsort()]


@dataclass(frozen=True, slots=True)
class Compared:
    """The pairs of one group that are fitted on, as places in it."""

    better: tuple[int, ...]
    worse: tuple[int, ...]
    weight: tuple[float, ...]
    log_words: tuple[float, ...]


def compared(groups: Sequence[Group]) -> list[Compared]:
    """Each group's pairs, weighted; replies that a program made are compared with honest ones alone."""
    raw: list[list[tuple[measure.Pair, float, tuple[str, bool, int]]]] = []
    total: dict[tuple[str, bool, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for group in groups:
        made = [reply.kind in MADE for reply in group.replies]
        pairs = [p for p in measure.pairs(group, LEAST) if not (made[p.better] and made[p.worse])]
        rows = []
        for p in pairs:
            by_program = made[p.better] or made[p.worse]
            weight = min(p.gap, 0.5) / 0.5 / len(pairs) ** 0.5
            weight *= ORIGIN_WEIGHT.get(group.origin, 1.0) * (MADE_WEIGHT if by_program else 1.0)
            band = next(n for n, bound in enumerate(BANDS) if abs(p.log_words) <= bound)
            total[group.origin, by_program, band][int(p.log_words > 0)] += weight
            rows.append((p, weight, (group.origin, by_program, band)))
        raw.append(rows)

    def balanced(pair: measure.Pair, weight: float, key: tuple[str, bool, int]) -> float:
        if key[2] == 0:
            return weight
        return weight * min(MOST_BALANCE, 0.5 * sum(total[key]) / total[key][int(pair.log_words > 0)])

    return [
        Compared(
            tuple(p.better for p, _, _ in rows),
            tuple(p.worse for p, _, _ in rows),
            tuple(balanced(*row) for row in rows),
            tuple(p.log_words for p, _, _ in rows),
        )
        for rows in raw
    ]


def tune(weights: dict[str, Tensor], reading: Reading, groups: Sequence[Group], seed: int = 0) -> Upper:
    """The upper layers, tuned on these groups."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    upper = Upper(weights)
    origins = sorted({g.origin for g in groups})
    length = torch.nn.Parameter(torch.zeros(len(origins)))
    optimiser = torch.optim.AdamW(
        [
            {"params": list(upper.layers.parameters()), "lr": LAYER_RATE},
            {"params": upper.score.parameters(), "lr": HEAD_RATE},
            {"params": [length], "lr": LENGTH_RATE, "weight_decay": 0.0},
        ],
        weight_decay=0.01,
    )
    asked = compared(groups)
    usable = [n for n, c in enumerate(asked) if c.better]
    sizes = [sum(len(reading.tokens[key].ids) for key in keys_of(g)) for g in groups]
    plan = [batch for _ in range(EPOCHS) for batch in batches(usable, sizes, rng)]
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda n: min(1.0, (n + 1) / (0.1 * len(plan))) * max(0.02, 1 - n / len(plan))
    )
    mean_weight = float(np.mean([sum(asked[n].weight) for n in usable]))
    upper.train()
    for step, batch in enumerate(plan):
        starts = np.cumsum([0, *(len(groups[n].replies) for n in batch)])
        better, worse = (
            [int(start) + place for start, n in zip(starts, batch, strict=False) for place in getattr(asked[n], side)]
            for side in ("better", "worse")
        )
        weight, ratio = (torch.tensor([v for n in batch for v in getattr(asked[n], part)]) for part in ("weight", "log_words"))
        origin = [origins.index(groups[n].origin) for n in batch for _ in asked[n].better]
        score = upper.scored(read(upper, reading, [key for n in batch for key in keys_of(groups[n])]))
        odds = score[better] - score[worse] + length[origin] * ratio
        loss = (weight * functional.softplus(-odds)).sum() / (len(batch) * mean_weight)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(upper.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 20 == 19:
            print(f"  step {step + 1} of {len(plan)}, loss {float(loss.detach()):.3f}", flush=True)
    return upper


def batches(usable: Sequence[int], sizes: Sequence[int], rng: random.Random) -> list[list[int]]:
    """The groups in random order, in batches of about `BATCH_TOKENS`."""
    made: list[list[int]] = [[]]
    for n in rng.sample(usable, len(usable)):
        if made[-1] and sum(sizes[m] for m in made[-1]) + sizes[n] > BATCH_TOKENS:
            made.append([])
        made[-1].append(n)
    return made
