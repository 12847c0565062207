"""The counts and the problems of a pack: the report behind `harness scenarios list`, `show` and `check`.

Every pack is checked by the safety screens and its adversarial items by the validator. Shipped packs have more rules
(pauses as people make them when they talk to agents, no phrase in three contexts, no shared opening, no tell-tale length),
because they were written for the purpose and are the default of a run.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from harness.scenarios.adversarial.validate import deviation, faults, measured_curve
from harness.scenarios.context import Context, Reference
from harness.scenarios.pack import Pack, shipped_packs
from harness.scenarios.pause_law import TO_AGENTS, distances
from harness.scenarios.pauses import mix_of, pauses_ms
from harness.scenarios.screens import FOR_WRITTEN_PACKS, screen_context

HISTORY_LENGTHS = (("short", 0, 4), ("medium", 4, 6), ("long", 6, 8), ("very long", 8, 1_000))
"""Classes of history length: name, from (inclusive) and to (exclusive), in turns before the spoken one."""
MOST_FROM_LAW = 0.08
"""Largest Kolmogorov–Smirnov distance of a shipped pack's pauses from `TO_AGENTS`: about that of 100 free draws by chance."""
TELLING_LENGTH = 0.70
"""Largest share of pairs in which length alone picks the better reference; above it a judge could be right without reason."""


@dataclass(frozen=True, slots=True)
class PackReport:
    """Counts and problems of one pack; `problems` are one line each, empty for a pack that passes."""

    counts: dict[str, Any]
    problems: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints; keys are stable, more may be added."""
        return {"schema": 1, **self.counts, "removed": {}, "problems": list(self.problems)}


def check_pack(pack: Pack, *, shipped: bool | None = None) -> PackReport:
    """The report of a pack. `shipped`: apply the rules of shipped packs (default: if it is one)."""
    strict = pack.name in shipped_packs() if shipped is None else shipped
    contexts = pack.contexts
    problems = [f"{c.id}: {f.screen}: {f.reason} ({f.words})" for c in contexts for f in screen_context(c, FOR_WRITTEN_PACKS)]
    problems += [f"{c.id}: {fault}" for c in contexts if c.escalation for fault in faults(c)]
    if strict:
        problems += _house_rules(contexts)
    return PackReport(_counts(pack), tuple(problems))


def list_packs(packs: Iterable[Pack]) -> tuple[dict[str, Any], ...]:
    """One row per pack: name, path, items, regular, adversarial, emotions, problems."""
    return tuple(
        {
            "pack": pack.name,
            "path": str(pack.path),
            "items": len(pack.contexts),
            "regular": sum(c.subset == "regular" for c in pack.contexts),
            "adversarial": sum(c.subset == "adversarial" for c in pack.contexts),
            "emotions": len({c.emotion for c in pack.contexts}),
            "problems": len({c.problem for c in pack.contexts}),
        }
        for pack in packs
    )


def show_context(context: Context) -> dict[str, Any]:
    """One context as data, with the findings of the checks."""
    return {
        "schema": 1,
        "context": context.model_dump(mode="json", exclude_defaults=True),
        "history": history_length(context),
        "pauses_ms": list(pauses_ms(context.spoken.text)),
        "hostility": list(measured_curve(context.turns)),
        "findings": [f"{f.screen}: {f.reason} ({f.words})" for f in screen_context(context, FOR_WRITTEN_PACKS)],
    }


def history_length(context: Context) -> str:
    """The class of history length (short, medium, long or very long), by the turns before the spoken one."""
    turns = len(context.history)
    return next(name for name, low, high in HISTORY_LENGTHS if low <= turns < high)


def picked_by_length(contexts: Sequence[Context]) -> float | None:
    """The share of pairs of references with different quality in which the longer is better; None without such pairs.

    One half means that length has no effect. Equal lengths count one half.
    """
    wins = [_longer_wins(a, b) for c in contexts for k, a in enumerate(c.references) for b in c.references[k + 1 :]]
    decided = [win for win in wins if win is not None]
    return sum(decided) / len(decided) if decided else None


def _longer_wins(a: Reference, b: Reference) -> float | None:
    if a.quality is None or b.quality is None or a.quality == b.quality:
        return None
    better, worse = (a, b) if a.quality > b.quality else (b, a)
    words = len(better.text.split()), len(worse.text.split())
    return 0.5 if words[0] == words[1] else float(words[0] > words[1])


def _counts(pack: Pack) -> dict[str, Any]:
    contexts = pack.contexts
    marked = [ms for c in contexts for turn in c.turns for ms in pauses_ms(turn.text)]
    recorded = [round((b - a) * 1000) for c in contexts for turn in c.turns for a, b in turn.pauses_s or ()]
    pauses = marked + recorded
    spoken_turns = sum(turn.role == "seeker" for c in contexts for turn in c.turns)
    off = distances(pauses)
    nearest = nearest_pair(contexts)
    heated = [c for c in contexts if c.escalation]
    share = picked_by_length(contexts)
    return {
        "pack": pack.name,
        "hash": pack.hash,
        "items": len(contexts),
        "regular": len(contexts) - len(heated),
        "adversarial": len(heated),
        "escalation": dict(sorted(Counter(c.escalation for c in heated if c.escalation).items())),
        "cells": _sorted(Counter(f"{c.emotion} × {c.problem}" for c in contexts)),
        "emotions": _sorted(Counter(c.emotion for c in contexts)),
        "problem_types": _sorted(Counter(c.problem for c in contexts)),
        "history": _sorted(Counter(map(history_length, contexts))),
        "voices": _sorted(Counter(c.voice for c in contexts if c.spoken.audio is None)),
        "recorded": sum(c.spoken.audio is not None for c in contexts),
        "timing_alone": sum(c.timing_alone for c in contexts),
        "references": _sorted(Counter(len(c.references) for c in contexts)),
        "picked_by_length": None if share is None else round(share, 3),
        "pauses": {
            "count": len(pauses),
            "per_turn": round(len(pauses) / max(1, spoken_turns), 2),
            "mix": {name: round(s, 3) for name, s in mix_of(pauses).items()},
            "distance_from_law": _rounded(off["to-agents"]),
            "distance_from_laws": {name: _rounded(distance) for name, distance in off.items()},
        },
        "nearest_pair": nearest and {"a": nearest.a, "b": nearest.b, "overlap": round(nearest.overlap, 3)},
        "curve_deviation": {c.id: round(deviation(c.turns, c.escalation), 2) for c in heated if c.escalation},
    }


def _rounded(distance: float | None) -> float | None:
    return None if distance is None else round(distance, 3)


def _house_rules(contexts: Sequence[Context]) -> list[str]:
    pauses = [ms for c in contexts for turn in c.turns for ms in pauses_ms(turn.text)]
    distance = TO_AGENTS.distance(pauses)
    found = []
    if distance is None:
        found.append("no pause is marked; harness scenarios build pack PACK --out FILE places them")
    elif distance > MOST_FROM_LAW:
        found.append(
            f"the lengths of pauses are {distance:.2f} from the law {TO_AGENTS.name} (KS), {MOST_FROM_LAW} at most is meant"
        )
    found += [
        f"'{phrase}' stands in {len(ids)} contexts: {', '.join(ids)}" for phrase, ids in repeated_phrases(contexts).items()
    ]
    found += [f"'{opening}' opens {', '.join(ids)}" for opening, ids in shared_openings(contexts).items()]
    share = picked_by_length(contexts)
    if share is not None and share > TELLING_LENGTH:
        found.append(f"length alone picks the better reference in {share:.0%} of pairs")
    return found


def _sorted(counts: Counter[Any]) -> dict[str, int]:
    return {str(key): n for key, n in sorted(counts.items(), key=lambda row: (-row[1], str(row[0])))}


_WORD = re.compile(r"[a-z0-9']+")
PHRASE_WORDS, OVERLAP_WORDS = 5, 3
OPENING_WORDS = 4


@dataclass(frozen=True, slots=True)
class NearestPair:
    """The two contexts with the largest overlap: ids, and overlap from 0 to 1.

    Overlap of two contexts is the share of the smaller one's word triples that the other has too, over what seeker and
    supporter say.
    """

    a: str
    b: str
    overlap: float


def words(text: str) -> list[str]:
    """The words of a text in lower case; curly apostrophes count as straight ones."""
    return _WORD.findall(text.lower().replace("’", "'"))


def runs(texts: Iterator[str] | Sequence[str], length: int) -> set[tuple[str, ...]]:
    """All runs of `length` words in the texts."""
    found: set[tuple[str, ...]] = set()
    for text in texts:
        said = words(text)
        found.update(tuple(said[k : k + length]) for k in range(len(said) - length + 1))
    return found


def repeated_phrases(contexts: Sequence[Context], least: int = 3) -> dict[str, tuple[str, ...]]:
    """The runs of five words that occur in at least `least` contexts (references included), with the ids.

    They are the sign of a set written from templates: a rater who meets the same five words in three conversations stops
    believing in the people.
    """
    where: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for context in contexts:
        texts = [turn.plain for turn in context.turns] + [reference.text for reference in context.references]
        for run in runs(texts, PHRASE_WORDS):
            where[run].append(context.id)
    return {" ".join(run): tuple(sorted(ids)) for run, ids in sorted(where.items()) if len(ids) >= least}


def nearest_pair(contexts: Sequence[Context]) -> NearestPair | None:
    """The pair with the largest overlap among contexts from different conversations; None without a pair."""
    said = [(context, runs([turn.plain for turn in context.turns], OVERLAP_WORDS)) for context in contexts]
    pairs = (
        NearestPair(a.id, b.id, len(one & other) / max(1, min(len(one), len(other))))
        for (a, one), (b, other) in combinations(said, 2)
        if a.situation != b.situation or a.turns[:2] != b.turns[:2]
    )
    return max(pairs, key=lambda pair: pair.overlap, default=None)


def shared_openings(contexts: Sequence[Context]) -> dict[str, tuple[str, ...]]:
    """The four-word openings of more than one context, with the ids."""
    where: dict[str, list[str]] = defaultdict(list)
    for context in contexts:
        where[" ".join(words(context.turns[0].plain)[:OPENING_WORDS])].append(context.id)
    return {opening: tuple(ids) for opening, ids in where.items() if len(ids) > 1}
