"""Tune the reader, whole origins held out in turn: `python -m benchmarks.judging_reader.fit EXPERT_FOLDER IEVAL_FILE OUT`."""

import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.judging_reader import material, measure
from benchmarks.judging_reader.made import with_faults
from benchmarks.judging_reader.material import Group, Reply
from benchmarks.judging_reader.net import FROZEN, RANK, Lower, Text, Tokens, Upper, by_length, load, padded
from harness import models

EPOCHS = 2
LEAST_GAP = 0.25
BATCH_TOKENS = 6_000
PART_TOKENS = 2_000
Key = tuple[tuple[str, ...], str]
ORIGIN_WEIGHT = {"ieval": 0.5}
MADE_WEIGHT = 0.5
BINS = (0.05, 0.2, 0.5, 1.0, 9.0)
MOST_BALANCE = 4.0
HEAD_RATE, LAYER_RATE = 1e-3, 4e-4


@dataclass(frozen=True, slots=True)
class Settings:
    """What one fit varies."""

    epochs: int = EPOCHS
    balance: bool = True
    nuisance: bool = True
    seed: int = 0


class Reading:
    """Texts as states below the tuned layers, each computed once."""

    def __init__(self, lower: Lower, text: Text) -> None:
        self._lower, self._text = lower, text
        self.tokens: dict[tuple[tuple[str, ...], str], Tokens] = {}
        self.states: dict[tuple[tuple[str, ...], str], Tensor] = {}

    def add(self, groups: Sequence[Group]) -> None:
        keys = [key for group in groups for key in keys_of(group) if key not in self.states]
        keys = list(dict.fromkeys(keys))
        tokens = [self._text.read(*key) for key in keys]
        self.tokens.update(zip(keys, tokens, strict=True))
        self.states.update(zip(keys, self._lower.states(tokens), strict=True))

    @torch.no_grad()
    def score(self, upper: Upper, groups: Sequence[Group]) -> list[list[float]]:
        upper.eval()
        keys = list(dict.fromkeys(key for group in groups for key in keys_of(group)))
        found: dict[tuple[tuple[str, ...], str], float] = {}
        flags: dict[tuple[tuple[str, ...], str], list[float]] = {}
        for batch in by_length([len(self.tokens[key].ids) for key in keys], 8_192):
            each = [keys[n] for n in batch]
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out, faults = upper(*padded([self.states[k] for k in each], [self.tokens[k] for k in each]))
            found.update(zip(each, out.float().tolist(), strict=True))
            flags.update(zip(each, faults.float().tolist(), strict=True))
        self.flags = [[flags[key] for key in keys_of(group)] for group in groups]
        return [[found[key] for key in keys_of(group)] for group in groups]


def keys_of(group: Group) -> list[tuple[tuple[str, ...], str]]:
    own = group.own or (group.turns,) * len(group.replies)
    return [(tuple(turns), reply.text) for turns, reply in zip(own, group.replies, strict=False)]


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The pairs of one group that are fitted on."""

    better: tuple[int, ...]
    worse: tuple[int, ...]
    weight: tuple[float, ...]
    log_words: tuple[float, ...]


def comparisons(groups: Sequence[Group], balance: bool) -> list[Comparisons]:
    """Each group's pairs; in every origin and band of length ratio, longer-better and longer-worse weigh alike."""
    raw = []
    total: dict[tuple[str, bool, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for group in groups:
        rows = []
        found = [p for p in measure.pairs(group, LEAST_GAP - 0.06) if not _both_made(group, p)]
        for p in found:
            made = bool(group.replies[p.better].kind in MADE or group.replies[p.worse].kind in MADE)
            w = min(p.gap, 0.5) / 0.5 / max(1, len(found)) ** 0.5
            w *= ORIGIN_WEIGHT.get(group.origin, 1.0) * (MADE_WEIGHT if made else 1.0)
            key = (group.origin, made, next(n for n, edge in enumerate(BINS) if abs(p.log_words) <= edge))
            total[key][int(p.log_words > 0)] += w
            rows.append((p, w, key))
        raw.append(rows)
    out = []
    for rows in raw:
        weights = []
        for p, w, key in rows:
            sides = total[key]
            mine = sides[int(p.log_words > 0)]
            factor = min(MOST_BALANCE, 0.5 * sum(sides) / mine) if balance and key[2] > 0 else 1.0
            weights.append(w * factor)
        out.append(
            Comparisons(
                tuple(p.better for p, _, _ in rows),
                tuple(p.worse for p, _, _ in rows),
                tuple(weights),
                tuple(p.log_words for p, _, _ in rows),
            )
        )
    return out


FAULTS = ("echo", "contradiction", "stranger", "language", "harm")
FAULT_WEIGHT = 0.3
HARM = frozenset(("harm", "abuse", "medical", "misinformation", "blame", "minimising", "secrecy", "sexual"))
HONEST = 0.5
FALSE_ALARMS = 0.01


def fault_of(group: Group, reply: Reply) -> str:
    """The fault that a reply is known to have."""
    if group.origin == "harm" and reply.kind in HARM:
        return "harm"
    return "stranger" if reply.kind == "wrong person" else reply.kind if reply.kind in FAULTS else ""


def is_honest(group: Group, reply: Reply) -> bool:
    """Whether a reply is known to have none of the faults: an author's, and not a poor one."""
    return group.origin != "ieval" and reply.worth >= HONEST and not fault_of(group, reply) and reply.kind not in MADE


def faults_of(group: Group) -> tuple[list[list[float]], list[list[float]]]:
    """For each reply and fault: whether it has it, and whether that is known."""
    truth, known = [], []
    for reply in group.replies:
        fault = fault_of(group, reply)
        truth.append([float(fault == name) for name in FAULTS])
        known.append([float(bool(fault) or is_honest(group, reply))] * len(FAULTS))
    return truth, known


def flags_of_people(
    groups: Sequence[Group], flags: Sequence[Sequence[Sequence[float]]], above: Sequence[float]
) -> dict[str, object]:
    """How often each flag is raised on chatbots' turns that a person ranked first, and on those ranked last."""
    each = [(r.worth, odds) for g, rows in zip(groups, flags, strict=True) for r, odds in zip(g.replies, rows, strict=True)]
    return {
        fault: {
            name: float(np.mean([odds[n] > above[n] for worth, odds in each if worth == value]))
            for name, value in (("best", 1.0), ("last", 0.0))
        }
        for n, fault in enumerate(FAULTS)
    }


MADE = frozenset(("echo", "filler", "contradiction", "language", "stranger", "padding", "truncated", "flattery"))


def _both_made(group: Group, pair: measure.Pair) -> bool:
    return group.replies[pair.better].kind in MADE and group.replies[pair.worse].kind in MADE


def fit(weights: dict[str, Tensor], reading: Reading, groups: Sequence[Group], settings: Settings, say: str = "") -> Upper:
    """The layers tuned on these groups."""
    torch.manual_seed(settings.seed)
    rng = random.Random(settings.seed)
    upper = Upper(weights)
    origins = sorted({g.origin for g in groups})
    nuisance = torch.nn.Parameter(torch.zeros(len(origins)))
    rates = [
        {"params": list(upper.layers.parameters()), "lr": LAYER_RATE},
        {"params": upper.score.parameters(), "lr": HEAD_RATE},
        {"params": [nuisance], "lr": 2e-2, "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(rates, weight_decay=0.01)
    asked = comparisons(groups, settings.balance)
    labels = [faults_of(g) for g in groups]
    usable = [n for n, c in enumerate(asked) if c.better]
    sizes = [sum(len(reading.tokens[k].ids) for k in keys_of(g)) for g in groups]

    def batches() -> list[list[int]]:
        made: list[list[int]] = [[]]
        for n in rng.sample(usable, len(usable)):
            if made[-1] and sum(sizes[m] for m in made[-1]) + sizes[n] > BATCH_TOKENS:
                made.append([])
            made[-1].append(n)
        return made

    plan = [batches() for _ in range(settings.epochs)]
    steps, done = sum(map(len, plan)), 0
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda n: min(1.0, (n + 1) / (0.1 * steps)) * max(0.02, 1 - n / steps)
    )
    mean_weight = np.mean([sum(c.weight) for c in asked if c.better])
    for epoch in plan:
        upper.train()
        loss_sum, began = 0.0, time.monotonic()
        for batch in epoch:
            keys, better, worse, w, d, which = [], [], [], [], [], []
            for n in batch:
                start = len(keys)
                keys += keys_of(groups[n])
                better += [start + p for p in asked[n].better]
                worse += [start + p for p in asked[n].worse]
                w += asked[n].weight
                d += asked[n].log_words
                which += [origins.index(groups[n].origin)] * len(asked[n].better)
            score, faults = read(upper, reading, keys)
            truth, known = (torch.tensor([row for n in batch for row in labels[n][side]]) for side in (0, 1))
            odds = score[better] - score[worse]
            if settings.nuisance:
                odds = odds + nuisance[which] * torch.tensor(d)
            loss = (torch.tensor(w) * functional.softplus(-odds)).sum() / (len(batch) * mean_weight)
            told = functional.binary_cross_entropy_with_logits(faults, truth, reduction="none") * known
            loss = loss + FAULT_WEIGHT * told.sum() / known.sum().clamp(min=1) * len(FAULTS)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(upper.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            loss_sum += float(loss.detach())
            done += 1
            if done % 20 == 0:
                print(
                    f"  {say} {done}/{steps} {loss_sum / 20 if False else float(loss.detach()):.3f} {time.process_time():.0f} cpu s",
                    flush=True,
                )
        print(
            f"  {say} loss {loss_sum / len(epoch):.3f}, {time.monotonic() - began:.0f} s, "
            f"{dict(zip(origins, [round(v, 2) for v in nuisance.tolist()], strict=True))}",
            flush=True,
        )
    return upper


def read(upper: Upper, reading: Reading, keys: Sequence[Key]) -> tuple[Tensor, Tensor]:
    """Scores and faults of texts, those of similar length read together so that little of a batch is padding."""
    order, outs = [], []
    for part in by_length([len(reading.tokens[k].ids) for k in keys], PART_TOKENS):
        each = [keys[n] for n in part]
        x, mask, reply = padded([reading.states[k] for k in each], [reading.tokens[k] for k in each])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            outs.append(upper(x, mask, reply))
        order += part
    back = torch.tensor(order).argsort()
    score, faults = (torch.cat([out[side].float() for out in outs])[back] for side in (0, 1))
    return score, faults


def main() -> None:
    torch.set_num_threads(1)
    experts, people, out = map(Path, sys.argv[1:4])
    chosen = sys.argv[4:]
    weights, text = load(models.resolve("minilm-l6"))
    reading = Reading(Lower(weights), text)
    own = material.authors()
    ieval = material.ieval(people)
    published = material.published(experts)
    hand, plain = material.by_hand()
    made = {name: with_faults(groups, seed=1) for name, groups in own.items()}
    made["harm"] = hand
    made["plain"] = plain
    began = time.monotonic()
    cache = Path("/tmp/reader/states.pt")
    if cache.exists():
        reading.tokens, reading.states = torch.load(cache, weights_only=False)
    for groups in (*made.values(), ieval, *published.values()):
        reading.add(groups)
    if not cache.exists():
        torch.save((reading.tokens, reading.states), cache)
    print(
        f"{len(reading.states)} texts, {sum(len(t.ids) for t in reading.tokens.values())} tokens, "
        f"{time.monotonic() - began:.0f} s",
        flush=True,
    )
    small = ("threads", "forum", "lines", "smalltalk", "models")
    folds: Mapping[str, tuple[str, ...]] = {
        "ieval": ("ieval",),
        "none": (),
        "machine": ("machine",),
        "small": small,
        "first fit": ("first fit",),
        "harm": ("harm",),
        "machine+harm": ("machine", "harm", "plain"),
    }
    record: dict[str, object] = {"frozen": FROZEN, "rank": RANK}
    for name in chosen or folds:
        left_out = folds[name]
        used = [g for origin, groups in made.items() if origin not in left_out for g in groups]
        used += one_valence(ieval) if "ieval" not in left_out else []
        used = [g for n, g in enumerate(used) if g.origin != "first fit" or n % 2]
        upper = fit(weights, reading, used, Settings(), name)
        tests: dict[str, Sequence[Group]] = {o: own[o] for o in left_out if o in own}
        tests |= {"harm": hand} if "harm" in left_out else {}
        tests |= {"plain": plain} if "plain" in left_out else {}
        tests |= {"ieval": ieval} if "ieval" in left_out else {}
        tests |= published
        found = {}
        for test, groups in tests.items():
            scores = reading.score(upper, groups)
            found[test] = measure.figures(groups, scores)
            print(f"{name:10} {test:28} {measure.short(found[test])}", flush=True)
            if test in published:
                found[f"{test}, a sixth"] = measure.figures(groups, scores, 1 / 6)
                print(f"{'':10} {'  a sixth and more':28} {measure.short(found[f'{test}, a sixth'])}", flush=True)
        # Families made by program, in origins that took no part.
        reading.score(upper, used)
        above = thresholds(used, reading.flags)
        for origin in left_out:
            if origin in made:
                scores = reading.score(upper, made[origin])
                found[f"{origin}, families"] = families(made[origin], scores)
                found[f"{origin}, flags"] = flagged(made[origin], reading.flags, above)
                print(f"   {origin} {found[f'{origin}, families']} {found[f'{origin}, flags']}", flush=True)
        scores = reading.score(upper, ieval)
        found["ieval, flags"] = flags_of_people(ieval, reading.flags, above)
        print("   ieval", found["ieval, flags"], flush=True)
        record[name] = found
        torch.save(upper.state_dict(), out.with_suffix(f".{name.replace(' ', '_')}.pt"))
        out.write_text(json.dumps(record, indent=1))


def one_valence(groups: Sequence[Group]) -> list[Group]:
    """One of each person's two troubles: the other adds half as much again to the cost and little to what is learnt."""
    rng = random.Random("valence")
    return [rng.choice(both) for both in zip(groups[::2], groups[1::2], strict=True)]


def families(groups: Sequence[Group], scores: Sequence[Sequence[float]]) -> dict[str, tuple[float, int]]:
    """For each kind of faulty reply, how often an honest one was above it; and the same where the faulty one is longer."""
    right: dict[str, list[float]] = defaultdict(list)
    for group, score in zip(groups, scores, strict=True):
        for p in measure.pairs(group, LEAST_GAP - 0.06):
            kind = group.replies[p.worse].kind
            if (kind in MADE or kind in HARM) and group.replies[p.better].kind not in MADE:
                right[kind].append(float(score[p.better] > score[p.worse]))
                right[f"{kind} longer"] += [right[kind][-1]] if p.log_words < -0.2 else []
    return {k: (float(np.mean(v)), len(v)) for k, v in sorted(right.items()) if v}


def thresholds(groups: Sequence[Group], flags: Sequence[Sequence[Sequence[float]]]) -> list[float]:
    """For each fault the log odds that `FALSE_ALARMS` of honest replies exceed, on origins that were fitted on."""
    honest = [
        odds for g, rows in zip(groups, flags, strict=True) for r, odds in zip(g.replies, rows, strict=True) if is_honest(g, r)
    ]
    return [float(np.quantile([odds[n] for odds in honest], 1 - FALSE_ALARMS)) for n in range(len(FAULTS))]


def flagged(groups: Sequence[Group], flags: Sequence[Sequence[Sequence[float]]], above: Sequence[float]) -> dict[str, object]:
    """For each fault, how many that have it are flagged and how many honest replies are."""
    found: dict[str, object] = {}
    each = [(g, r, odds) for g, rows in zip(groups, flags, strict=True) for r, odds in zip(g.replies, rows, strict=True)]
    for n, fault in enumerate(FAULTS):
        hit = [odds[n] > above[n] for g, r, odds in each if fault_of(g, r) == fault]
        false = [odds[n] > above[n] for g, r, odds in each if is_honest(g, r)]
        found[fault] = {"seen": sum(hit), "of": len(hit), "false": sum(false), "honest": len(false)}
    return found


if __name__ == "__main__":
    main()
