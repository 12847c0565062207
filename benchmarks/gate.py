"""How often `harness check` is wrong, undecided or of two minds, against a simulated truth.

The world: conversations differ (`CONTEXT_SD`, on the log of a latency and on the log-odds of every event), turns differ within
them, and each of two agents has ten figures made of the very same turns, so that the twenty limits of the suite hang together
as they do in a run. `seeded` conversations have one turn, `replay` ones have four. The truth of each figure is what half a
million conversations give; a limit stands at that truth times one plus a margin.

Worst for false alarms is an agent that stands exactly on all of its limits: it is within all of
them, and each is as easily called the other as it can be. Far from its limits a sound agent fails more rarely still.

    python benchmarks/gate.py errors --draws 2000 --seed 1
    python benchmarks/gate.py power --draws 400 --seed 2
    python benchmarks/gate.py looks --draws 1000 --seed 3
    python benchmarks/gate.py elo --draws 1000 --seed 4
    python benchmarks/gate.py alike --draws 4000 --seed 5
    python benchmarks/gate.py invalid --draws 500 --seed 6

`alike` asks of one limit how its promise fares when turns of a conversation resemble each other: an intraclass
correlation (ICC) of 0 to 0.9, by a beta law for events and a normal one for latencies, also with unequal numbers of turns.
`invalid` asks what becomes of a gate where the harness is at fault in a share of the sessions, played again or not.

Each prints the rows of a table of docs/evidence/gate-errors.md or gate-power.md.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from scipy import stats
from scipy.special import expit

from harness.gate.decide import Rule, Verdict, overall, tail_of, verdict_of
from harness.ranking.elo_bounds import EloOverReference
from harness.ranking.leaderboard import leaderboard
from harness.ranking.scale import ELO_PER_LOGIT
from harness.statistics.arrays import Floats
from harness.statistics.bounds import Percentile, Share
from harness.statistics.share_bounds import stays_under
from harness.store.judgment import Judgment

CONTEXT_SD: Final = 0.3
TTFA_P50_MS, TTFA_SD = 480.0, 0.35
EVENTS: Final = {"within": 0.55, "cut_in": 0.08, "no_reply": 0.02, "win": 0.5}
PAUSES, PAUSE_CUT = 3, 0.12
WORDS, WER, LOST_CONTEXTS = 25, 0.10, 0.02
"""Words a turn, the share of them misheard, and the share of turns that are misheard from end to end."""
TURNS: Final = {"seeded": 1, "replay": 4}
TRUTH_CONTEXTS: Final = 500_000
LOOKS: Final = 10
ICCS: Final = (0.0, 0.3, 0.6, 0.9)
JUDGES: Final = ("j1", "j2", "j3")
FALTERS: Final = (0.005, 0.02, 0.05)
"""The share of sessions in which the harness or its machine is at fault."""
RARE: Final = ("cut-ins", "no reply", "pauses cut", "WER")
MARGINS: Final = ((0.1, 0.2, 0.3), (0.5, 1.0, 2.0))
"""By how much of the figure its limit lies off, ordinary figures and shares of what is rare."""


@dataclass(frozen=True, slots=True)
class Played:
    """One agent's turns: arrays of (contexts, turns)."""

    ttfa_ms: Floats
    ttft_ms: Floats
    events: Mapping[str, Floats]
    pauses_cut: Floats
    word_errors: Floats

    def first(self, contexts: int) -> "Played":
        """What there was after so many conversations."""
        return Played(
            self.ttfa_ms[:contexts],
            self.ttft_ms[:contexts],
            {name: values[:contexts] for name, values in self.events.items()},
            self.pauses_cut[:contexts],
            self.word_errors[:contexts],
        )


def play(contexts: int, turns: int, rng: np.random.Generator) -> Played:
    """One agent on so many conversations."""
    shape = (contexts, turns)

    def lean() -> Floats:
        return rng.normal(0, CONTEXT_SD, (contexts, 1))

    def chance(share: float) -> Floats:
        return np.asarray(expit(np.log(share / (1 - share)) + lean() + np.zeros(shape)), dtype=np.float64)

    silent = rng.random(shape) < chance(EVENTS["no_reply"])
    ttfa = TTFA_P50_MS * np.exp(lean() + rng.normal(0, TTFA_SD, shape))
    events = {name: (rng.random(shape) < chance(share)).astype(np.float64) for name, share in EVENTS.items()}
    return Played(
        ttfa_ms=np.where(silent, np.inf, ttfa),
        ttft_ms=ttfa * 0.6 * np.exp(rng.normal(0, 0.2, shape)),
        events={**events, "no_reply": silent.astype(np.float64)},
        pauses_cut=rng.binomial(PAUSES, chance(PAUSE_CUT)).astype(np.float64),
        word_errors=np.where(rng.random(shape) < LOST_CONTEXTS, WORDS, rng.binomial(WORDS, chance(WER))).astype(np.float64),
    )


def figures(played: Played) -> dict[str, tuple[Share | Percentile, Rule]]:
    """The ten figures of one agent, and which side of a limit each should keep."""
    contexts, turns = played.ttfa_ms.shape
    of = np.full(contexts, float(turns))

    def percentile(values: Floats, share: float) -> Percentile:
        return Percentile(tuple(values), share)

    def share_of(name: str) -> Share:
        return Share(played.events[name].sum(axis=1), of)

    return {
        "ttfa p50": (percentile(played.ttfa_ms, 0.50), "at_most"),
        "ttfa p95": (percentile(played.ttfa_ms, 0.95), "at_most"),
        "ttft p50": (percentile(played.ttft_ms, 0.50), "at_most"),
        "ttft p95": (percentile(played.ttft_ms, 0.95), "at_most"),
        "within budget": (share_of("within"), "at_least"),
        "cut-ins": (share_of("cut_in"), "at_most"),
        "no reply": (share_of("no_reply"), "at_most"),
        "win rate": (share_of("win"), "at_least"),
        "pauses cut": (Share(played.pauses_cut.sum(axis=1), PAUSES * of), "at_most"),
        "WER": (Share(played.word_errors.sum(axis=1), WORDS * of), "at_most"),
    }


@lru_cache
def truth(turns: int) -> dict[str, float]:
    """Each figure on conversations without end."""
    played = play(TRUTH_CONTEXTS, turns, np.random.default_rng(99))
    flat = Played(
        played.ttfa_ms.reshape(1, -1), played.ttft_ms.reshape(1, -1),
        {name: values.reshape(1, -1) for name, values in played.events.items()},
        played.pauses_cut.reshape(1, -1), played.word_errors.reshape(1, -1),
    )  # fmt: skip
    return {name: evidence.value for name, (evidence, _) in figures(flat).items()}


def limit_at(rule: Rule, true: float, margin: float) -> float:
    """A limit that the figure is within by `margin` of itself (under 0: outside by it)."""
    return true * (1 + margin) if rule == "at_most" else true * (1 - margin)


@dataclass(frozen=True, slots=True)
class Asked:
    """A limit as a question about shares: hits of trials by conversation, and the share that is allowed."""

    hits: Floats
    of: Floats
    allowed: float

    def verdict(self, tail: float) -> Verdict:
        """What the bounds at `tail` would say, without finding them."""
        if stays_under(self.allowed, self.hits, self.of, tail):
            return "pass"
        return "fail" if stays_under(1 - self.allowed, self.of - self.hits, self.of, tail) else "cannot tell"


def asked_of(evidence: Share | Percentile, rule: Rule, limit: float) -> Asked:
    """A limit on a figure; on a percentile it is one on the share of turns beyond it."""
    if isinstance(evidence, Percentile):
        over = evidence.under(limit).missed
        return Asked(over.hits, over.of, 1 - evidence.share)
    if rule == "at_most":
        return Asked(evidence.hits, evidence.of, limit)
    return Asked(evidence.missed.hits, evidence.of, 1 - limit)


def suite(agents: list[Played], turns: int, margin: float, tail: float) -> dict[tuple[int, str], Verdict]:
    """The verdict on every limit of a suite."""
    return {
        (k, name): asked_of(evidence, rule, limit_at(rule, truth(turns)[name], margin)).verdict(tail)
        for k, played in enumerate(agents)
        for name, (evidence, rule) in figures(played).items()
    }


def flaps(verdicts: list[Verdict]) -> int:
    """How often a clear verdict contradicts the last clear one before it, however many that cannot tell lie between."""
    clear = [v for v in verdicts if v != "cannot tell"]
    return sum(one != two for one, two in pairwise(clear))


def errors(draws: int, seed: int) -> Iterator[str]:
    """False alarms, false passes and flaps of 20 limits and of one, by how far the truth is from all limits."""
    yield "| conversations | limits | truth | any limit fails | any limit passes | gate passes | cannot tell | flaps in 100 |"
    for mode, contexts in (("seeded", 60), ("seeded", 240), ("replay", 60)):
        turns = TURNS[mode]
        truth(turns)
        for margin in (0.0, 0.05, 0.15, -0.15):
            rng = np.random.default_rng((seed, contexts, turns))
            found = [suite([play(contexts, turns, rng) for _ in "ab"], turns, margin, tail_of(20, None)) for _ in range(draws)]
            yield _errors_row(f"{contexts} {mode}", "20", margin, [list(f.values()) for f in found])
        for margin in (0.0, 0.05):
            rng = np.random.default_rng((seed, contexts, turns, 1))
            alone = []
            for _ in range(draws):
                evidence, rule = figures(play(contexts, turns, rng))["ttfa p50"]
                limit = limit_at(rule, truth(turns)["ttfa p50"], margin)
                alone.append([asked_of(evidence, rule, limit).verdict(tail_of(1, None))])
            yield _errors_row(f"{contexts} {mode}", "1 (ttfa p50)", margin, alone)


def _errors_row(where: str, limits: str, margin: float, found: list[list[Verdict]]) -> str:
    n = len(found)
    whole = [overall(v) for v in found]
    count = Counter(whole)
    any_fail, any_pass = (sum(kind in v for v in found) for kind in ("fail", "pass"))
    at = "on every limit" if margin == 0 else f"{'within' if margin > 0 else 'outside'} by {abs(margin):.0%}"
    shares = (any_fail / n, any_pass / n, count["pass"] / n, count["cannot tell"] / n, flaps(whole) / n)
    return f"| {where} | {limits} | {at} | {' | '.join(f'{100 * s:.2f} %' for s in shares[:-1])} | {100 * shares[-1]:.2f} |"


def power(draws: int, seed: int) -> Iterator[str]:
    """The share of limits that pass with a figure within by a margin: of 20 limits, and of one alone."""
    sizes = (60, 120, 240, 480)
    yield f"| figure | limits | {' | '.join(f'{n} conversations' for n in sizes)} |"
    for limits in (20, 1):
        passed: Counter[tuple[str, int, float]] = Counter()
        for contexts in sizes:
            rng = np.random.default_rng((seed, contexts))
            for _ in range(draws):
                for name, (evidence, rule) in figures(play(contexts, 1, rng)).items():
                    for margin in MARGINS[name in RARE]:
                        limit = limit_at(rule, truth(1)[name], margin)
                        passed[name, contexts, margin] += (
                            asked_of(evidence, rule, limit).verdict(tail_of(limits, None)) == "pass"
                        )
        for name in truth(1):
            shown = [" / ".join(f"{100 * passed[name, n, m] / draws:.0f}" for m in MARGINS[name in RARE]) for n in sizes]
            yield f"| {name} | {limits} | {' | '.join(shown)} |"


def looks(draws: int, seed: int) -> Iterator[str]:
    """Playing on until it is clear: any false verdict over all looks of an agent on its limits."""
    yield "| analyses | conversations | any limit fails in any analysis | any limit passes in any analysis |"
    sizes = [60]
    while len(sizes) < LOOKS:
        sizes.append(int(np.ceil(1.5 * sizes[-1])))
    rng = np.random.default_rng(seed)
    failed = passed = 0
    truth(1)
    for _ in range(draws):
        agents = [play(sizes[-1], 1, rng) for _ in "ab"]
        seen: set[Verdict] = set()
        for look, size in enumerate(sizes, start=1):
            seen |= set(suite([a.first(size) for a in agents], 1, 0.0, tail_of(20, look)).values())
        failed, passed = failed + ("fail" in seen), passed + ("pass" in seen)
    yield f"| {LOOKS} | {sizes[0]} to {sizes[-1]} | {100 * failed / draws:.2f} % | {100 * passed / draws:.2f} % |"


def elo(draws: int, seed: int) -> Iterator[str]:
    """One limit on Elo over a reference, three judges a conversation: an agent that stands on it, and one 100 Elo above."""
    yield "| conversations | ICC | gap | fails | passes |"
    for contexts in (30, 60, 120):
        for icc in ICCS:
            for gap in (0.0, 100.0):
                rng = np.random.default_rng((seed, contexts, int(10 * icc)))
                found: Counter[Verdict] = Counter()
                for _ in range(draws):
                    board = leaderboard(_judged(contexts, gap, icc, rng), seed=1)
                    bounds = EloOverReference(board, "agent", "ref:good", contexts).bounds(tail_of(1, None))
                    # Of the ordinal fit: what it gives on conversations without end is the truth, and at a gap of 0 that is 0.
                    found[verdict_of(bounds, "at_least", 0.0)] += 1
                shares = f"{100 * found['fail'] / draws:.1f} % | {100 * found['pass'] / draws:.1f} %"
                yield f"| {contexts} | {icc:.1f} | {gap:.0f} | {shares} |"


def _judged(contexts: int, gap: float, icc: float, rng: np.random.Generator) -> list[Judgment]:
    """`icc`: of the log-odds of two verdicts on one pair of one conversation."""
    systems = {"agent": gap / ELO_PER_LOGIT, "ref:good": 0.0, "ref:plain": -0.5}
    sd = np.sqrt(icc / (1 - icc) * np.pi**2 / 3 / 2)
    rows = []
    for c in range(contexts):
        lean = {name: theta + rng.normal(0, sd) for name, theta in systems.items()}
        for one, two in (("agent", "ref:good"), ("agent", "ref:plain"), ("ref:good", "ref:plain")):
            for judge in JUDGES:
                y = lean[one] - lean[two] + rng.logistic()
                rows.append(
                    Judgment(
                        context=f"c{c}", subset="regular", system_a=one, system_b=two, source="judge", judge=judge,
                        winner="a" if y > 0 else "b", strength=1 + int(np.searchsorted([0.5, 1.0, 1.8, 3.0], abs(y))),
                        shown_first="a" if rng.random() < 0.5 else "b",
                    )
                )  # fmt: skip
    return rows


def alike(draws: int, seed: int) -> Iterator[str]:
    """How often a limit passes or fails, by ICC: with the truth on it, each promised at 1 %, and with it far within."""
    yield "| figure | conversations | turns | ICC | passes on its limit | fails on its limit | passes where far within |"
    for name, true, kept in (("2 % no reply, limit 10 %", 0.02, 0.10), ("8 % cut-ins, limit 24 %", 0.08, 0.24)):
        for contexts, ends in ((24, (4, 4)), (60, (4, 4)), (60, (1, 8)), (240, (4, 4))):
            for icc in ICCS:
                rng = np.random.default_rng((seed, contexts, int(10 * icc)))
                found = [_events(true, kept, icc, contexts, ends, rng) for _ in range(draws)]
                yield _alike_row(name, contexts, ends, icc, found)
    for share in (0.5, 0.95):
        for contexts in (60, 240):
            for icc in ICCS:
                rng = np.random.default_rng((seed, contexts, int(10 * icc), int(100 * share)))
                found = [_latencies(icc, contexts, share, rng) for _ in range(draws)]
                yield _alike_row(f"p{100 * share:.0f}, limit at 1.3 of it", contexts, (4, 4), icc, found)


def _events(
    true: float, kept: float, icc: float, contexts: int, ends: tuple[int, int], rng: np.random.Generator
) -> tuple[Asked, Asked]:
    of = rng.integers(ends[0], ends[1] + 1, contexts)
    lean = rng.beta(true * (1 / icc - 1), (1 - true) * (1 / icc - 1), contexts) if icc else np.full(contexts, true)
    hits = rng.binomial(of, lean).astype(np.float64)
    return Asked(hits, of.astype(np.float64), true), Asked(hits, of.astype(np.float64), kept)


def _latencies(icc: float, contexts: int, share: float, rng: np.random.Generator) -> tuple[Asked, Asked]:
    common, own = np.sqrt(icc) * rng.normal(size=(contexts, 1)), np.sqrt(1 - icc) * rng.normal(size=(contexts, 4))
    ms = np.exp(TTFA_SD * (common + own))
    true = float(np.exp(TTFA_SD * stats.norm.ppf(share)))
    on, within = ((ms > limit).sum(axis=1).astype(np.float64) for limit in (true, 1.3 * true))
    of = np.full(contexts, 4.0)
    return Asked(on, of, 1 - share), Asked(within, of, 1 - share)


def _alike_row(what: str, contexts: int, turns: tuple[int, int], icc: float, found: Sequence[tuple[Asked, Asked]]) -> str:
    tail = tail_of(1, None)
    count = Counter(on.verdict(tail) for on, _ in found)
    kept = sum(stays_under(far.allowed, far.hits, far.of, tail) for _, far in found)
    shares = " | ".join(f"{100 * n / len(found):.2f} %" for n in (count["pass"], count["fail"], kept))
    return f"| {what} | {contexts} | {'–'.join(str(n) for n in dict.fromkeys(turns))} | {icc:.1f} | {shares} |"


def invalid(draws: int, seed: int) -> Iterator[str]:
    """Runs in which the harness falters in some sessions, as they stand and when those are played again.

    Faltering hangs on the machine and not on the agent, so a session that is played again is one more of the same kind.
    """
    yield "| conversations | sessions at fault | rounds played again | agent | fails | passes | cannot tell |"
    for contexts in (60, 240):
        for share in FALTERS:
            for rounds in (0, 1, 2):
                for name, margin in (("sound", 0.3), ("outside its limit", -0.25)):
                    rng = np.random.default_rng((seed, contexts, int(1000 * share)))
                    found = Counter(_faltering(contexts, share, rounds, margin, rng) for _ in range(draws))
                    shares = " | ".join(f"{100 * found[verdict] / draws:.1f} %" for verdict in ("fail", "pass", "cannot tell"))
                    yield f"| {contexts} | {100 * share:.1f} % | {rounds} | {name} | {shares} |"


def _faltering(contexts: int, share: float, rounds: int, margin: float, rng: np.random.Generator) -> Verdict:
    faults = rng.binomial(contexts, share)
    for _ in range(rounds):
        faults = rng.binomial(faults, share)
    evidence, rule = figures(play(contexts, 1, rng))["ttfa p50"]
    verdict = asked_of(evidence, rule, limit_at(rule, truth(1)["ttfa p50"], margin)).verdict(tail_of(1, None))
    return "cannot tell" if faults else verdict


TABLES: Final[dict[str, Callable[[int, int], Iterator[str]]]] = {
    "errors": errors, "power": power, "looks": looks, "elo": elo, "alike": alike, "invalid": invalid,
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for line in TABLES[asked.table](asked.draws, asked.seed):
        print(line, flush=True)
