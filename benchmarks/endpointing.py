"""What waiting costs and cutting in saves, in eot-bench's terms: every policy over pauses that were seen once.

    python -m benchmarks.completeness_fit utterances.csv --without day4_ --out no4.npz      # one for each day that is observed
    python -m benchmarks.endpointing_observe open.jsonl --packs heart-open --turns all      # a quarter of an hour
    python -m benchmarks.endpointing_observe day4.jsonl --packs day4.yaml --spoken no4.npz  # benchmarks.primock_pack
    python -m benchmarks.holding_cues_fit hear heard.npz heart-open day4.yaml
    python -m benchmarks.holding_cues_fit fit scored/ open.jsonl day4.jsonl --heard heard.npz   # the ear
    python -m benchmarks.endpointing_fit scored/open.jsonl scored/day4.jsonl                # the head
    python -m benchmarks.endpointing_choice scored/open.jsonl scored/day4.jsonl             # the waits
    python -m benchmarks.endpointing --chosen-on scored/open.jsonl --reported-on scored/held.jsonl --plot curve.svg

Endpointing depends on audio time and on scores, not on how fast a machine is; so each pause is observed once, and every
policy is then worked out on what was seen. A policy is a rule for the silence that ends a turn; its settings (threshold,
least silence, time-out; or the price of waiting) are swept on the first files, and the best at each share of pauses cut is
reported on the second, which took no part. Beside it stands the best in hindsight on the second file itself, which is how
eot-bench reports.

An inner pause is a silence of 200 ms and more that is not the last; it is *cut* if the rule would have ended the turn
before speech was heard to resume. *Dead air* is from the spoken end to the decision, or to prepared audio if that comes
later (`--ready-ms`, measured on a live agent). Intervals are bootstraps over contexts.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from harness.agents.cascade import spoken_completeness
from harness.agents.cascade.endpoint_policies import PauseEvidence, TurnScorer
from harness.agents.cascade.hazard import HazardSilence, Head, load_head, log_odds
from harness.agents.cascade.pipeline import make_policy
from harness.agents.cascade.settings import CascadeSettings, HazardEndpoint
from harness.agents.cascade.streaming_stt import NEWEST_SAMPLES

Floats = NDArray[np.float64]

_FINAL_FROM_MS: Final = -150.0
"""A silence that begins this close to the spoken end is the end of the turn: a voice's last consonant can be inaudible."""
VOICED_AFTER_MS: Final = NEWEST_SAMPLES / 16
"""The agent ends no turn while its newest audio has sound; a caller who goes on with the very last of it is still cut."""
PAUSE_FROM_MS: Final = 200.0
TARGETS: Final = {"polaris-like": 0.05, "eager": 0.10, "patient": 0.02}
"""Shares of inner pauses cut that the profiles promise, at which policies are compared."""
BUDGET_MS: Final = 500.0
DRAWS: Final = 400
SCORERS: Final = ("llm", "smart-turn", "last-word", "holding-cues")
"""Scorers of which a silence may have no score; it then counts as undecided."""


@dataclass(frozen=True, slots=True)
class SeenPause:
    """A silence as the tracker saw it. Times in ms after the spoken end of the turn; `length_ms` None: nobody resumed."""

    context: str
    turn: int
    voice: str
    condition: str
    start_ms: float
    length_ms: float | None
    marked_ms: float | None
    kind: str
    text: str
    spoke_ms: float
    scores: dict[str, float]
    cues: Sequence[str] = ()
    """The caller's cues at this silence; for one that nobody marked and is no end, those of the turn's end."""

    @property
    def final(self) -> bool:
        return self.length_ms is None or self.start_ms >= _FINAL_FROM_MS


@dataclass(frozen=True, slots=True)
class Seen:
    """Pauses as arrays: which are ends, their starts and lengths (ms), their turn and context, and log odds by scorer."""

    final: NDArray[np.bool_]
    start_ms: Floats
    length_ms: Floats
    turn: NDArray[np.int64]
    context: NDArray[np.int64]
    kind: NDArray[np.str_]
    odds: Mapping[str, Floats]
    marked_ms: Floats = field(default_factory=lambda: np.empty(0))
    """Lengths of the pauses as they were marked; NaN for silences that nobody marked."""
    cues: Sequence[Sequence[str]] = ()

    @property
    def turns(self) -> int:
        return int(self.turn.max()) + 1 if self.turn.size else 0

    def of(self, contexts: Sequence[int]) -> "Seen":
        """Those of some contexts, one as often as it is named (a bootstrap draw)."""
        picked = [np.flatnonzero(self.context == c) for c in contexts]
        rows = np.concatenate(picked)
        copies = np.concatenate([np.full(p.size, k) for k, p in enumerate(picked)])
        _, turn = np.unique(np.stack([copies, self.turn[rows]]), axis=1, return_inverse=True)
        odds = {name: values[rows] for name, values in self.odds.items()}
        return Seen(
            self.final[rows], self.start_ms[rows], self.length_ms[rows], turn, self.context[rows], self.kind[rows], odds,
            self.marked_ms[rows] if self.marked_ms.size else self.marked_ms, [self.cues[row] for row in rows if self.cues],
        )  # fmt: skip


def load(*paths: Path, condition: str = "clean") -> Seen:
    """What `benchmarks.endpointing_observe` wrote of one line condition."""
    rows = [SeenPause(**json.loads(line)) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return arrays([row for row in rows if row.condition == condition])


def arrays(pauses: Sequence[SeenPause]) -> Seen:
    """Pauses that a policy is asked about: 200 ms and more, and every end."""
    asked = [p for p in pauses if p.scores]
    turns = {key: k for k, key in enumerate(dict.fromkeys((p.context, p.turn, p.voice) for p in asked))}
    contexts = {name: k for k, name in enumerate(dict.fromkeys(p.context for p in asked))}
    odds = {name: np.array([log_odds(p.scores.get(name, 0.5)) for p in asked]) for name in SCORERS}
    odds["spoken"] = np.array([log_odds(p.scores.get("spoken", spoken(p.text))) for p in asked])
    return Seen(
        np.array([p.final for p in asked]),
        np.array([p.start_ms for p in asked]),
        np.array([np.inf if p.length_ms is None else p.length_ms for p in asked]),
        np.array([turns[p.context, p.turn, p.voice] for p in asked]),
        np.array([contexts[p.context] for p in asked]),
        np.array(["end" if p.final else p.kind for p in asked]),
        odds,
        np.array([math.nan if p.marked_ms is None else p.marked_ms for p in asked]),
        [p.cues for p in asked],
    )


def spoken(text: str, weights_at: Path = spoken_completeness.WEIGHTS) -> float:
    """What `spoken_completeness` says of a text, as a probability."""
    return float(1 / (1 + np.exp(-max(spoken_completeness.log_odds(text, weights_at), -30.0))))


def joined(seen: Seen, head: Head) -> Floats:
    """Every pause's log odds under a head."""
    return head.intercept + sum((w * seen.odds[name] for name, w in head.weights.items()), np.zeros(seen.final.size))


Rule = Callable[[Seen], Floats]
"""The silence that each pause would need to end the turn, in ms."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A rule over a set of turns: inner pauses cut of how many, and dead air of each turn (inf: never ended)."""

    cut: int
    pauses: int
    dead_ms: Floats

    @property
    def share(self) -> float:
        return self.cut / self.pauses if self.pauses else math.nan

    @property
    def mean_ms(self) -> float:
        return float(self.dead_ms.mean())

    @property
    def p50_ms(self) -> float:
        return float(np.median(self.dead_ms))

    @property
    def p95_ms(self) -> float:
        return float(np.percentile(self.dead_ms, 95))

    @property
    def within(self) -> float:
        return float((self.dead_ms <= BUDGET_MS).mean())


def evaluate(rule: Rule, seen: Seen, ready_ms: float = 0.0) -> Outcome:
    """Work a rule out on what was seen."""
    needed = rule(seen)
    ends = seen.length_ms + VOICED_AFTER_MS > needed
    inner = ~seen.final & (seen.length_ms >= PAUSE_FROM_MS)
    dead = np.full(seen.turns, np.inf)
    last = seen.final & ends
    np.minimum.at(dead, seen.turn[last], (seen.start_ms + np.maximum(needed, ready_ms))[last])
    return Outcome(int((ends & inner).sum()), int(inner.sum()), dead)


def threshold_rule(scorer: str, odds: float, least_ms: float, longest_ms: float) -> Rule:
    """Least silence from a score on, the time-out below it: how eot-bench sweeps a detector."""
    return lambda seen: np.where(seen.odds[scorer] >= odds, least_ms, longest_ms)


def silence_rule(silence_ms: float) -> Rule:
    """The same silence always."""
    return lambda seen: np.full(seen.final.size, silence_ms)


def hazard_rule(head: Head, price: float, least_ms: float, longest_ms: float, sure_from: float) -> Rule:
    """`harness.agents.cascade.hazard`."""
    return rule_of(HazardSilence({}, {}, head, price, least_ms, longest_ms, sure_from))


def rule_of(policy: HazardSilence) -> Rule:
    """A policy of the agent as a rule."""
    return lambda seen: policy.silences_ms(joined(seen, policy.head))


def shipped(name: str) -> Rule:
    """The rule of a profile that ships."""
    from harness.agents.profile import load_profile

    endpoint = CascadeSettings.model_validate(load_profile(name).model_dump()["cascade"]).endpoint
    assert isinstance(endpoint, HazardEndpoint)
    policy = make_policy(endpoint, lambda _: _Silent())
    assert isinstance(policy, HazardSilence)
    return rule_of(policy)


class _Silent(TurnScorer):
    async def probability_complete(self, _evidence: PauseEvidence) -> float:
        raise AssertionError("scores come from what was seen")


_ODDS: Final = tuple(np.arange(-5.0, 5.1, 0.5))
_LEAST_MS: Final = (250.0, 300.0, 350.0, 400.0, 430.0, 470.0, 520.0, 600.0, 700.0, 800.0, 950.0, 1_100.0)
_LONGEST_MS: Final = (800.0, 1_000.0, 1_300.0, 1_600.0, 1_900.0, 2_200.0, 2_400.0, 2_800.0, 3_200.0, 4_000.0)
_PRICES: Final = tuple(np.arange(-2.0, 9.1, 0.25))
_SURE: Final = (*np.arange(-1.0, 3.6, 0.25), math.inf)


def families() -> Iterator[tuple[str, str, Rule]]:
    """Every rule that is compared: (family, setting, rule)."""
    for silence in (*_LEAST_MS, *_LONGEST_MS):
        yield "silence alone", f"{silence:.0f} ms", silence_rule(silence)
    for name in ("smart-turn", "holding-cues", "spoken"):
        for odds, least, longest in product(_ODDS, _LEAST_MS, _LONGEST_MS):
            if least < longest:
                setting = f"{least:.0f} ms from {1 / (1 + math.exp(-odds)):.2f}, else {longest:.0f}"
                yield f"{name}, threshold", setting, threshold_rule(name, odds, least, longest)
    for label, without in (("all", None), ("without smart-turn", "smart-turn"), ("without holding cues", "holding-cues")):
        head = load_head(without)
        for price, longest, sure in product(_PRICES, (1_800.0, 2_400.0, 3_000.0), _SURE):
            setting = f"price {price:.2f}, at most {longest:.0f} ms" + (f", sure from {sure:.2f}" if sure < math.inf else "")
            yield f"hazard, {label}", setting, hazard_rule(head, price, 430.0 if sure < math.inf else 250.0, longest, sure)


def best_at(target: float, seen: Seen, ready_ms: float) -> dict[str, tuple[str, Rule]]:
    """Of each family the setting with the least mean dead air among those that cut at most `target` of the pauses."""
    best: dict[str, tuple[float, str, Rule]] = {}
    for family, setting, rule in families():
        got = evaluate(rule, seen, ready_ms)
        if got.share <= target and (family not in best or got.mean_ms < best[family][0]):
            best[family] = (got.mean_ms, setting, rule)
    return {family: (setting, rule) for family, (_, setting, rule) in best.items()}


def interval(seen: Seen, figure: Callable[[Seen], float]) -> tuple[float, float] | None:
    """95 %, by drawing whole contexts; None under eight."""
    contexts = np.unique(seen.context)
    if contexts.size < 8:
        return None
    rng = np.random.default_rng(0)
    drawn = [figure(seen.of(list(rng.choice(contexts, contexts.size)))) for _ in range(DRAWS)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def area(seen: Seen, score: Floats, kinds: Sequence[str] | None = None) -> float:
    """Area under the curve of ends against inner pauses (of some kinds)."""
    inner = ~seen.final & (np.isin(seen.kind, kinds) if kinds else True)
    ends, pauses = score[seen.final], score[inner]
    if not ends.size or not pauses.size:
        return math.nan
    ranks = rankdata(np.concatenate([ends, pauses]))
    return float((ranks[: ends.size].sum() - ends.size * (ends.size + 1) / 2) / (ends.size * pauses.size))


def report(chosen_on: Seen, seen: Seen, ready_ms: float) -> str:
    """Markdown tables: areas, each family at its settings of `chosen_on`, and the profiles that ship."""
    inner = int((~seen.final & (seen.length_ms >= PAUSE_FROM_MS)).sum())
    lines = [
        f"{seen.turns} turns of {np.unique(seen.context).size} contexts, {inner} inner pauses of 200 ms and more.",
        "",
        "| score | area, all | in mid-sentence | after a sentence |",
        "|---|---|---|---|",
    ]
    scores = {**seen.odds, "words and voice": joined(seen, load_head())}
    for name, score in scores.items():
        whole = Seen(seen.final, seen.start_ms, seen.length_ms, seen.turn, seen.context, seen.kind, {name: score})
        bounds = interval(whole, lambda s, name=name: area(s, s.odds[name]))  # type: ignore[misc]
        shown = f"{area(seen, score):.2f}" + (f" [{bounds[0]:.2f}, {bounds[1]:.2f}]" if bounds else "")
        lines.append(
            f"| {name} | {shown} | {area(seen, score, ['mid_sentence']):.2f} | {area(seen, score, ['after_sentence']):.2f} |"
        )
    head = "| policy | setting | cut | mean dead air | p50 | p95 | within 500 ms | mean in hindsight |"
    for target in TARGETS.values():
        hindsight = best_at(target, seen, ready_ms)
        lines += ["", f"At most {target:.0%} of pauses cut where settings were chosen:", "", head, "|---" * 8 + "|"]
        for family, (setting, rule) in sorted(best_at(target, chosen_on, ready_ms).items()):
            known = f"{evaluate(hindsight[family][1], seen, ready_ms).mean_ms:,.0f} ms" if family in hindsight else "–"
            lines.append(f"| {family} | {setting} | {_row(rule, seen, ready_ms)} | {known} |")
    lines += ["", "As shipped:", "", head, "|---" * 8 + "|"]
    lines += [f"| `{name}` | | {_row(shipped(name), seen, ready_ms)} | |" for name in TARGETS]
    return "\n".join(lines)


def _row(rule: Rule, seen: Seen, ready_ms: float) -> str:
    got = evaluate(rule, seen, ready_ms)

    def cell(figure: Callable[[Outcome], float], shown: Callable[[float], str]) -> str:
        bounds = interval(seen, lambda drawn: figure(evaluate(rule, drawn, ready_ms)))
        return shown(figure(got)) + (f" [{shown(bounds[0])}, {shown(bounds[1])}]" if bounds else "")

    cells = [
        f"{got.cut} of {got.pauses}: " + cell(lambda o: o.share, lambda v: f"{v:.1%}"),
        cell(lambda o: o.mean_ms, lambda v: f"{v:,.0f} ms"),
        cell(lambda o: o.p50_ms, lambda v: f"{v:,.0f} ms"),
        f"{got.p95_ms:,.0f} ms" if seen.turns >= 60 else "–",
        cell(lambda o: o.within, lambda v: f"{v:.0%}"),
    ]
    return " | ".join(cells)


def draw(seen: Seen, ready_ms: float, path: Path) -> None:
    """Each family's frontier of mean dead air against pauses cut, and the profiles that ship."""
    import altair as alt

    points: dict[str, list[tuple[float, float]]] = {}
    for family, _, rule in families():
        got = evaluate(rule, seen, ready_ms)
        points.setdefault(family, []).append((got.share, got.mean_ms))
    values = [
        {"policy": family, "cut": cut, "mean": mean}
        for family, found in points.items()
        for cut, mean in frontier(found)
        if cut <= 0.3
    ]
    named = []
    for name in TARGETS:
        got = evaluate(shipped(name), seen, ready_ms)
        named.append({"policy": name, "cut": got.share, "mean": got.mean_ms})
    x = alt.X("cut:Q", title="share of inner pauses cut").axis(format="%")
    y = alt.Y("mean:Q", title="mean dead air after the end, ms").scale(zero=False)
    lines = (
        alt.Chart({"values": values}, title="Endpoint policies: waiting against cutting in")
        .mark_line(point=True, interpolate="step-after")
        .encode(x, y, color=alt.Color("policy:N", title="policy").legend(labelLimit=320))
    )
    marked = alt.Chart({"values": named}).encode(x, y)
    shown = lines + marked.mark_point(size=120, shape="diamond", filled=True, color="black")
    shown += marked.mark_text(align="left", dx=9, dy=-9).encode(text="policy:N")
    shown.properties(width=560, height=360).save(str(path))


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points (cut, mean) that no other beats on both counts, from fewest cuts to fastest."""
    kept: list[tuple[float, float]] = []
    for cut, mean in sorted(points):
        if not kept or mean < kept[-1][1]:
            kept.append((cut, mean))
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description="Endpoint policies in eot-bench's terms.")
    parser.add_argument("--chosen-on", type=Path, nargs="+", required=True, help="what settings are chosen on")
    parser.add_argument("--reported-on", type=Path, nargs="+", required=True, help="what they are reported on")
    parser.add_argument("--condition", default="clean")
    parser.add_argument("--ready-ms", type=float, default=330.0, help="from the silence's beginning to prepared audio")
    parser.add_argument("--plot", type=Path, help="SVG or PNG")
    given = parser.parse_args()
    seen = load(*given.reported_on, condition=given.condition)
    print(report(load(*given.chosen_on), seen, given.ready_ms))
    if given.plot:
        draw(seen, given.ready_ms, given.plot)


if __name__ == "__main__":
    main()
