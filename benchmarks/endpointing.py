"""How much waiting does it cost not to talk over a caller? Endpoint policies over spoken turns with marked pauses.

    python -m benchmarks.endpointing_observe seen.jsonl            # observe every pause once
    python -m benchmarks.endpointing seen.jsonl --plot curve.svg   # seconds: every policy over what was seen

Endpointing depends on audio time and on scores, not on how fast a machine is; so each pause is observed once, and every policy
is then worked out on what was seen. A pause is *cut* if the policy would have ended the turn before the tracker heard speech
resume. The time to first audio is the later of endpoint and prepared audio (`--ready-ms`, measured on a live agent). Settings
are chosen on the contexts of one half and reported on those of the other. The waits of the profiles that ship were chosen with
both halves in view, so their rows are no test on unseen callers.
"""

import argparse
import asyncio
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from agents.cascade.endpoint_choice import make_policy
from agents.cascade.endpoint_policies import (
    AdaptiveSilence,
    BlendedScorer,
    EndpointPolicy,
    FixedSilence,
    PauseEvidence,
    ScoredSilence,
    TurnScorer,
)
from agents.cascade.settings import CascadeSettings, StreamingEndpoint
from agents.cascade.turn_scorers import HesitationVeto, LengthScorer
from agents.cascade.turn_tracker import WINDOW_SAMPLES

_FINAL_FROM_MS = -150.0
"""A silence that begins this close to the spoken end is the end of the turn: a voice's last consonant can be inaudible."""
_TRANSPORT_MS = 10.0
_VOICED_AFTER_MS = WINDOW_SAMPLES / 16
"""The window in which speech resumes is known to be voiced only once it has passed; an endpoint within it still comes."""
_P95_FROM = 60
"""Fewer turns give no 95th percentile worth printing."""
SHIPPED = ("polaris-like", "patient")


@dataclass(frozen=True, slots=True)
class SeenPause:
    """A silence as the tracker saw it. Times in ms after the spoken end of the turn; `length_ms` None: nobody resumed."""

    context: str
    voice: str
    condition: str
    start_ms: float
    length_ms: float | None
    marked_ms: float | None
    text: str
    scores: dict[str, float]

    @property
    def final(self) -> bool:
        return self.length_ms is None or self.start_ms >= _FINAL_FROM_MS

    @property
    def key(self) -> tuple[str, str, str]:
        return self.context, self.voice, self.condition


@dataclass(frozen=True, slots=True)
class Outcome:
    """A policy over a set of turns. Shares are None where there was nothing to count."""

    short_cut: tuple[int, int]
    """Marked pauses under 800 ms that were cut, and how many there were."""
    all_cut: tuple[int, int]
    other_cut: tuple[int, int]
    """Silences that nobody marked (between words and sentences) and that were taken for the end."""
    ttfa_p50_ms: float | None
    ttfa_p95_ms: float | None
    unanswered: int
    """Turns whose end was never seen: the line did not fall silent enough."""


@dataclass(slots=True)
class Recall:
    """Scorers that give back what was observed of the pause in hand; what needs only the words is worked out."""

    scores: dict[str, float] = field(default_factory=dict)

    def scorer(self, name: str) -> TurnScorer:
        return _Recalled(self, name)


@dataclass(frozen=True, slots=True)
class _Recalled:
    recall: Recall
    name: str

    async def probability_complete(self, _evidence: PauseEvidence) -> float:
        return self.recall.scores[self.name]


MakePolicy = Callable[[Recall], EndpointPolicy]


async def evaluate(make: MakePolicy, seen: Sequence[SeenPause], ready_ms: float) -> Outcome:
    """Work out a policy. `make` builds a fresh policy, because an adaptive one learns within a conversation."""
    cuts: list[tuple[float | None, bool]] = []
    ttfa: list[float] = []
    for _, pauses in _by_turn(seen):
        recall = Recall()
        policy = make(recall)
        answered = False
        for pause in pauses:
            recall.scores = pause.scores
            needed_ms = await policy.silence_needed_ms(PauseEvidence(pause.text, np.zeros(0, np.float32)))
            ends = pause.length_ms is None or pause.length_ms + _VOICED_AFTER_MS > needed_ms
            if pause.final and ends and not answered:
                answered = True
                ttfa.append(pause.start_ms + max(needed_ms, ready_ms) + _TRANSPORT_MS)
            elif not pause.final:
                cuts.append((pause.marked_ms, ends))
                policy.observe_pause(pause.length_ms or 0.0)
    marked = [(length, cut) for length, cut in cuts if length is not None]
    short = [cut for length, cut in marked if length < 800]
    unmarked = [cut for length, cut in cuts if length is None]
    return Outcome(
        (sum(short), len(short)),
        (sum(cut for _, cut in marked), len(marked)),
        (sum(unmarked), len(unmarked)),
        float(np.median(ttfa)) if ttfa else None,
        float(np.percentile(ttfa, 95)) if len(ttfa) >= _P95_FROM else None,
        len({pause.key for pause in seen}) - len(ttfa),
    )


def _fixed(silence_ms: int) -> MakePolicy:
    return lambda _: FixedSilence(silence_ms)


def _adaptive(inner: MakePolicy) -> MakePolicy:
    return lambda recall: AdaptiveSilence(inner(recall), 0.8, 1.1, 850)


def policies() -> Iterator[tuple[str, str, MakePolicy]]:
    """Every policy that is compared: (family, setting, maker)."""
    for silence in range(300, 951, 50):
        yield "fixed", f"{silence}", _fixed(silence)
    for short in (350, 410, 450, 500, 550, 600, 700, 760, 800):
        for long in (700, 800, 900, 1000, 1300, 1900):
            if long > short:
                yield from _scored_policies(short, long)


def _scored_policies(short: int, long: int) -> Iterator[tuple[str, str, MakePolicy]]:
    for name in ("smart-turn", "last-word"):
        yield f"two-speed, {name}", f"{short}/{long}", _two_speed(short, long, 0.5, ((name, 1.0),))
    for threshold in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        at = f"{short}/{long} at {threshold}"
        yield "two-speed, llm", at, _two_speed(short, long, threshold, (("llm", 1.0),))
        yield "two-speed, llm + smart-turn", at, _two_speed(short, long, threshold, (("llm", 1.0), ("smart-turn", 0.5)))
        inner = _two_speed(short, long, threshold, (("llm", 1.0),))
        yield "two-speed, llm, adaptive", at, _adaptive(inner)
    for low, high in ((0.05, 0.9), (0.1, 0.8), (0.1, 0.7)):
        for words, spread, weight in product((44, 48), (2, 4), (1.0, 3.0, 5.0)):
            yield (
                "graded, llm + length, hesitations waited out",
                f"{short}/{long} from {low} to {high}, {words} ± {spread} words times {weight:.0f}",
                _graded_by_length(short, long, (low, high), LengthScorer(words, spread), weight),
            )


def _two_speed(short: int, long: int, threshold: float, weights: tuple[tuple[str, float], ...]) -> MakePolicy:
    def make(recall: Recall) -> EndpointPolicy:
        scorer = BlendedScorer([(recall.scorer(name), weight) for name, weight in weights])
        return ScoredSilence(scorer, short, long, threshold, threshold)

    return make


def _graded_by_length(short: int, long: int, grade: tuple[float, float], length: LengthScorer, weight: float) -> MakePolicy:
    def make(recall: Recall) -> EndpointPolicy:
        scorer = BlendedScorer([(recall.scorer("llm"), 1.0), (length, weight)])
        return ScoredSilence(HesitationVeto(scorer), short, long, *grade)

    return make


def shipped(name: str) -> MakePolicy:
    """The policy of a profile that ships."""
    from agents.profile import load_profile

    settings = CascadeSettings.model_validate(load_profile(name).model_dump()["cascade"])
    endpoint = settings.endpoint
    assert isinstance(endpoint, StreamingEndpoint)

    return lambda recall: make_policy(endpoint, recall.scorer)


async def report(seen: Sequence[SeenPause], ready_ms: float, most_cut: float, plot: Path | None) -> str:
    """Markdown: for each family the setting with the lowest p50 that cut at most `most_cut` of the short pauses."""
    halves = [[p for p in seen if p.condition == "clean" and _half(p.context) == half] for half in (0, 1)]
    best: dict[str, tuple[float, str, MakePolicy]] = {}
    curve: list[Point] = []
    for family, setting, make in policies():
        tried = await evaluate(make, halves[0], ready_ms)
        if _share(tried) <= most_cut and tried.ttfa_p50_ms is not None:
            best[family] = min(best.get(family, (math.inf, "", make)), (tried.ttfa_p50_ms, setting, make), key=_by_p50)
        if plot is not None:
            curve.append(_point(family, await evaluate(make, halves[1], ready_ms)))
    rows = [(family, setting, make) for family, (_, setting, make) in sorted(best.items(), key=lambda kv: kv[1][0])]
    rows += [(f"`{name}`", "as shipped", shipped(name)) for name in SHIPPED]
    lines = [
        f"At most {most_cut:.0%} of pauses under 800 ms cut on the half that chose; figures of the other half "
        f"({len({p.key for p in halves[1]})} clean turns). TTFA with audio ready {ready_ms:.0f} ms after the silence begins.",
        "",
        "| policy | setting | condition | TTFA p50 | p95 | cut < 800 ms | cut, all marked | unmarked taken for the end "
        "| never ended |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for family, setting, make in rows:
        for condition in sorted({pause.condition for pause in seen}):
            part = [p for p in seen if p.condition == condition and _half(p.context) == 1]
            got = await evaluate(make, part, ready_ms)
            lines.append(
                f"| {family} | {setting} | {condition} | {_ms(got.ttfa_p50_ms)} | {_ms(got.ttfa_p95_ms)} | "
                f"{_of(got.short_cut)} | {_of(got.all_cut)} | {_of(got.other_cut)} | {got.unanswered} |"
            )
    if plot is not None:
        ships = [_point(name, await evaluate(shipped(name), halves[1], ready_ms)) for name in SHIPPED]
        draw(frontiers(curve), ships, plot)
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Point:
    """One policy in the plane of the plot: share of short pauses cut, and TTFA p50 in ms."""

    family: str
    cut: float
    ttfa_ms: float


def _point(family: str, got: Outcome) -> Point:
    return Point(family, _share(got), got.ttfa_p50_ms if got.ttfa_p50_ms is not None else math.nan)


def _share(got: Outcome) -> float:
    return got.short_cut[0] / max(got.short_cut[1], 1)


def _by_p50(candidate: tuple[float, str, MakePolicy]) -> float:
    return candidate[0]


def frontiers(points: Sequence[Point]) -> list[Point]:
    """Of each family the points that no other of it beats on both counts, from fewest cuts to fastest."""
    kept: list[Point] = []
    for family in sorted({point.family for point in points}):
        fastest = math.inf
        for point in sorted((p for p in points if p.family == family), key=lambda p: (p.cut, p.ttfa_ms)):
            if point.ttfa_ms < fastest:
                fastest = point.ttfa_ms
                kept.append(point)
    return kept


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def _of(counted: tuple[int, int]) -> str:
    return f"{counted[0]} of {counted[1]}"


def _half(context: str) -> int:
    return zlib.crc32(context.encode()) % 2


def _by_turn(seen: Iterable[SeenPause]) -> Iterator[tuple[tuple[str, str, str], list[SeenPause]]]:
    turns: dict[tuple[str, str, str], list[SeenPause]] = {}
    for pause in seen:
        turns.setdefault(pause.key, []).append(pause)
    yield from turns.items()


def draw(curve: Sequence[Point], ships: Sequence[Point], path: Path) -> None:
    """The frontier of every family, and the profiles that ship."""
    import altair as alt

    x = alt.X("cut:Q", title="share of pauses under 800 ms cut").axis(format="%")
    y = alt.Y("ttfa_ms:Q", title="time to first audio, p50, ms").scale(zero=False)
    lines = (
        alt.Chart({"values": [asdict(p) for p in curve]}, title="Endpoint policies: waiting against cutting in")
        .mark_line(point=True, interpolate="step-before")
        .encode(x, y, color=alt.Color("family:N", title="policy").legend(labelLimit=320))
    )
    named = alt.Chart({"values": [asdict(p) for p in ships]}).encode(x, y)
    shown = lines + named.mark_point(size=120, shape="diamond", filled=True, color="black")
    shown += named.mark_text(align="left", dx=9, dy=-9).encode(text="family:N")
    shown.properties(width=560, height=360).save(str(path))


def load(path: Path) -> list[SeenPause]:
    """What `benchmarks.endpointing_observe` wrote."""
    return [SeenPause(**json.loads(line)) for line in path.read_text().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description="Endpoint policies over spoken turns with marked pauses.")
    parser.add_argument("seen", type=Path)
    parser.add_argument("--ready-ms", type=float, default=380.0, help="from the silence's beginning to prepared audio")
    parser.add_argument("--most-cut", type=float, default=0.05)
    parser.add_argument("--plot", type=Path, help="SVG or PNG")
    given = parser.parse_args()
    print(asyncio.run(report(load(given.seen), given.ready_ms, given.most_cut, given.plot)))


if __name__ == "__main__":
    main()
