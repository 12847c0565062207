"""An invented run of any size, for tests, benchmarks and screenshots of the report.

A page must stay quick at 20 agents and 300 conversations, and such a run takes days to play; so its view is made up here
from a seed, with the same shapes a real one has: log-normal latencies, cut pauses, silence, failures, long transcripts.
Everything in it says that it is invented, and nothing here is ever mixed into a real report.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from harness.figures.cells import AgentSummary, Cell, Failure, JudgeSummary
from harness.figures.circumstances import Circumstances, OnsetError
from harness.figures.endpointing import BANDS_MS, EVERY_LENGTH, Delay, EndpointingSummary, OpenPause, PauseShare, cut_by_law
from harness.figures.head_to_head import Preferred
from harness.figures.in_a_sentence import found, how_sure
from harness.figures.latency import WithinBudget
from harness.figures.quality_state import QUOTED
from harness.figures.summary import RunSummary
from harness.ranking.board import QualityState
from harness.reports.head import title
from harness.reports.session_view import SessionView, Span, TurnView
from harness.reports.view import (
    AXIS_NAMES,
    METRICS,
    SUBSETS,
    UNKNOWN,
    AgentView,
    ContextView,
    Estimate,
    Finding,
    JudgmentView,
    PageView,
    Preference,
    RatingView,
    ReferenceView,
    SliceView,
    StrategiesView,
    Subset,
)
from harness.statistics.interval import TAIL
from harness.statistics.share_bounds import clopper_pearson
from harness.timing.figures import TurnTiming
from harness.timing.quantiles import Quantiles
from harness.turns import TurnTable
from harness.turns.bounded import Bounded
from harness.turns.table import TurnKey

_SAYINGS = (
    "that sounds like a heavy week",
    "it makes sense that you feel worn out by it",
    "what would feel like a small relief tonight",
    "I hear how much you wanted them to notice",
    "you are allowed to be angry about this",
    "maybe we can look at one piece of it together",
    "when did it start, and who knows about it besides you",
)
_WORDS = [word for saying in _SAYINGS for word in saying.split()]
_MEDIANS_MS = (430.0, 620.0, 980.0, 1_450.0, 2_300.0, 3_900.0)
_SHARES = (0.3, 0.08, 0.04, 0.1, 0.17, 0.06, 0.15, 0.03, 0.07)
_REFERENCES = {"careful": 1_560.0, "hasty": 1_395.0}
_STAGES = (
    "endpointing",
    "asr",
    "turn_score",
    "turn_decision",
    "llm",
    "first_clause",
    "tts",
    "transport",
    "unexplained",
)

LONG_NAMES: Final = tuple(
    f"{('acme-voice', 'polaris-like', 'eager', 'baseline-streaming', 'omni-realtime-voice')[k % 5]}-"
    f"{('eu-west-streaming-v2', 'us-east-long-context-2030', 'mini', 'patient-endpointing-900ms')[k % 4]}-{k:02d}"
    for k in range(20)
)
"""Names as long as those of real profiles, alike at their beginnings."""

OTHERS: Final = (("chromium", 0.4), ("python3", 0.2))
"""Programs beside an agent, with their cores."""
EXACT = OnsetError(within_ms=6.2, trials=64)


def invented_view(
    *,
    agents: int = 4,
    contexts: int = 12,
    seed: int = 7,
    names: Sequence[str] | None = None,
    pairs_per_context: int | None = None,
    audio: str | None = None,
) -> PageView:
    """A whole page view. `audio` is a path that every turn plays; `names` replace the invented agent names."""
    rng = np.random.default_rng(seed)
    labels = list(names) if names else [f"invented-{chr(97 + k % 26)}{k // 26 or ''}" for k in range(agents)]
    medians = [_MEDIANS_MS[k % 6] * (1 + 0.07 * (k // 6)) for k in range(len(labels))]
    ratings = [float(1_500 + 28 * np.log(m / 900) + rng.normal(0, 28)) for m in medians]
    made = [_context(rng, n, labels, medians, ratings, pairs_per_context, audio) for n in range(contexts)]
    return in_sentences(PageView(
        run="invented-run",
        title=title(labels, ["invented"]),
        finding="",
        sure="",
        setting="spoken over an invented line",
        created="2030-01-01 (invented)",
        valid=True,
        invalid_reasons=(),
        pacing_p99_error_ms=0.8,
        realtime_ratio=1.0,
        elo_method="invented numbers, not a measurement",
        agents=tuple(_agent(rng, n, labels, medians, ratings, made) for n in range(len(labels))),
        references=tuple(_reference(rng, name, elo) for name, elo in _REFERENCES.items()),
        judges=(
            JudgeSummary(
                id="invented-judge@1",
                pairs=64,
                accuracy=0.58,
                accuracy_interval=(0.46, 0.69),
                flip_rate=0.31,
                trusted=False,
                judgments=400,
                note="invented",
            ),
        ),
        failures=(
            Failure(
                context=made[0].id, agent=labels[-1], kind="agent_closed", detail="the line closed in mid-reply (invented)"
            ),
        )
        if made
        else (),
        contexts=tuple(made),
        timed={label: TurnTable.of(_rows(label, made)) for label in labels},
        agreement=(Finding("Fleiss κ, judges", Estimate(0.41, 0.33, 0.5), 120, "coefficient", "invented"),),
        audits=(Finding("First reply shown wins", Estimate(0.62, 0.55, 0.7), 400, "share", "invented"),),
        strategies=_strategies(rng, labels),
        provenance=(("Pack", "invented"), ("Machine", "none"), ("Seed", str(seed))),
        onset_error=EXACT,
        cautions=_summary(labels, contexts).cautions,
    ))  # fmt: skip


def _summary(labels: Sequence[str], contexts: int) -> RunSummary:
    """As much of a summary as the cautions are made from."""
    judge = JudgeSummary(
        id="invented-judge@1", pairs=64, accuracy=0.58, accuracy_interval=(0.46, 0.69), flip_rate=0.31, trusted=False,
        trust="near_chance",
    )  # fmt: skip
    played = frozenset(f"invented-{n:03d}" for n in range(contexts))
    return RunSummary(
        run="invented-run",
        judges=[judge],
        cells=[
            Cell(
                agent=label,
                condition="clean",
                mode="seeded",
                presentation="heard_text",
                subset="all",
                turns=contexts,
                no_reply=0,
            )
            for label in labels
        ],
        circumstances=Circumstances(contexts=played, played=played, judged=played, verdicts=400, onset_error=EXACT),
    )


def _strategies(rng: np.random.Generator, labels: Sequence[str]) -> StrategiesView:
    names = ("emotional validation", "clarification", "suggest options", "reflective statements")
    return StrategiesView(
        strategies=names,
        rates={label: {name: float(rng.uniform(0.05, 0.9)) for name in names} for label in labels},
        per_reply={label: float(rng.uniform(1, 3)) for label in labels},
        entropy_bits={label: float(rng.uniform(1.2, 2)) for label in labels},
        labeller="an invented labeller",
        checked="never checked against people",
    )


def _rows(label: str, made: Sequence[ContextView]) -> Iterator[tuple[TurnKey, TurnTiming]]:
    for context in made:
        for turn in (one.last for one in context.sessions if one.agent == label and one.status == "finished"):
            end_ms = turn.spoken_end_ms or 0.0
            yield (
                TurnKey(agent=label, context=context.id),
                TurnTiming(method="invented", spoken_end_ms=end_ms, ttfa_ms=turn.ms("ttfa"), no_reply=turn.no_reply),
            )


def _text(rng: np.random.Generator, words: int) -> str:
    return " ".join(rng.choice(_WORDS, size=words)).capitalize() + "."


def _context(
    rng: np.random.Generator,
    number: int,
    labels: Sequence[str],
    medians: Sequence[float],
    ratings: Sequence[float],
    pairs: int | None,
    audio: str | None,
) -> ContextView:
    adversarial = number % 4 == 3
    before = [("seeker" if k % 2 == 0 else "supporter", _text(rng, int(rng.integers(12, 40)))) for k in range(6)]
    history = (*before, ("seeker", _text(rng, 14) + " <pause 650> " + _text(rng, 18)))
    sessions = tuple(_session(rng, number, k, label, medians[k], audio) for k, label in enumerate(labels))
    systems = [*labels, "ref:careful", "ref:hasty"]
    strength = dict(zip(systems, [*ratings, *_REFERENCES.values()], strict=True))
    every = [(a, b) for k, a in enumerate(systems) for b in systems[k + 1 :]]
    chosen = every if pairs is None else [every[k] for k in rng.choice(len(every), min(pairs, len(every)), replace=False)]
    return ContextView(
        id=f"invented-{number:03d}",
        subset="adversarial" if adversarial else "regular",
        escalation="mid-spike" if adversarial else "",
        emotion=("anger", "sadness", "anxiety", "shame")[number % 4],
        problem=("work", "family", "loneliness")[number % 3],
        situation=_text(rng, 12),
        history=history,
        references=(
            ("ref:careful", "authored", _text(rng, 30)),
            ("ref:hasty", "authored", _text(rng, 8)),
        ),
        sessions=sessions,
        judgments=tuple(_judgment(rng, a, b, strength) for a, b in chosen),
        source="invented",
        licence="none needed",
    )


def _session(rng: np.random.Generator, number: int, k: int, label: str, median: float, audio: str | None) -> SessionView:
    session = f"s{number}-{k}"
    if number == 0 and k == len(_MEDIANS_MS):
        return SessionView(agent=label, session=session, status="failed", failure="agent_closed: invented")
    spoken_end = 9_000.0 + float(rng.uniform(-900, 900))
    caller = (Span("speech", 500.0, 4_200.0), Span("speech", 4_850.0, spoken_end))
    started = number * 30.0 + k * 4
    if rng.random() < 0.02:
        never = dict.fromkeys(("ttfa", "answer"), Bounded(np.inf, np.inf))
        silence = TurnView(spoken_end_ms=spoken_end, no_reply=True, times_ms=never)
        return SessionView(
            agent=label, session=session, status="finished", caller=caller, audio=audio, started_s=started, turns=(silence,)
        )
    ttfa = float(median * np.exp(rng.normal(0, 0.22)))
    edges = np.concatenate([[0.0], np.cumsum(_SHARES)]) * ttfa
    text = _text(rng, int(rng.integers(16, 44)))
    end = spoken_end + ttfa + 90.0 * len(text.split())
    cut = bool(rng.random() < 0.06)
    heard, understood = text.lower().rstrip("."), _text(rng, 20)
    times = {
        "ttfa": ttfa, "ttft": ttfa * 0.25, "first_byte": ttfa * 0.95, "first_sound": ttfa * 0.98,
        "first_speech": ttfa, "first_word": ttfa + 25, "first_substance": ttfa + 300,
    }  # fmt: skip
    turn = TurnView(
        spoken_end_ms=spoken_end,
        times_ms={name: Bounded(at, at) for name, at in times.items()},
        stages=tuple(Span(name, float(a), float(b)) for name, a, b in zip(_STAGES, edges, edges[1:], strict=False)),
        pacing_p99_error_ms=float(rng.gamma(4, 0.15)),
        loop_lag_max_ms=float(rng.gamma(3, 0.4)),
        marked_pauses=(int(cut), 1),
    )
    return SessionView(
        agent=label,
        session=session,
        status="finished",
        written=text,
        heard=heard,
        understood=understood,
        audio=audio,
        caller=caller,
        pauses=(Span("cut" if cut else "kept", 4_200.0, 4_850.0),),
        agent_spans=(Span("speech", spoken_end + ttfa, end),),
        marks=tuple(Span(name, spoken_end + float(at), spoken_end + float(at)) for name, at in
                    zip(("silence_seen", "asr_done", "turn_decided", "llm_first_token"), edges[1:5], strict=True)),
        started_s=started,
        turns=(turn,),
    )  # fmt: skip


def _endpointing(number: int, median: float, turns: int) -> EndpointingSummary:
    """The faster the agent, the more it cuts, short pauses least; every second one tells its decisions."""
    rows: list[PauseShare] = []
    single: list[OpenPause] = []
    for k, kind in enumerate(("all", "mid_sentence", "after_sentence")):
        parts = []
        for band, long, often in zip(BANDS_MS, (0.1, 0.5, 1.0, 1.5), (0.5, 0.3, 0.15, 0.05), strict=True):
            of = max(1, round(1.8 * turns * often / (1 if kind == "all" else 2)))
            cut = min(of, round(of * min(0.95, long * (0.7 + 0.2 * k) * 430 / median)))
            parts.append(_pause_share(band, kind, cut, of, tells=number % 2 == 0))
            if kind == "all":
                single += [OpenPause(f"c{7 * n % max(1, turns)}", band[0], n < cut) for n in range(of)]
        rows += [_pause_share(EVERY_LENGTH, kind, sum(p.cut for p in parts), sum(p.of for p in parts), number % 2 == 0), *parts]
    decision = Delay(mean=median * 0.55, mean_interval=(median * 0.5, median * 0.61), p50=median * 0.5, n=turns)
    return EndpointingSummary(
        dead_air_ms=Delay(mean=median * 1.15, mean_interval=(median * 1.05, median * 1.27), p50=median, n=turns),
        decision_delay_ms=decision if number % 2 == 0 else Delay(),
        inner_pauses_cut=(rows[0].cut, rows[0].of),
        pauses_cut_share=rows[0].share,
        pauses_cut_interval=rows[0].interval,
        talking_at_end=(number % 3, turns),
        endpointing=rows,
        pauses_cut_by_law=cut_by_law(single),
    )


def _pause_share(band: tuple[float, float | None], kind: str, cut: int, of: int, tells: bool) -> PauseShare:
    between = clopper_pearson(cut, of, TAIL)
    return PauseShare.model_validate(
        {
            "pause_ms": band, "kind": kind, "cut": cut, "of": of, "share": cut / of, "interval": between,
            "decided": cut if tells else None, "decided_share": cut / of if tells else None,
            "decided_interval": between if tells else None,
        }
    )  # fmt: skip


def _judgment(rng: np.random.Generator, a: str, b: str, strength: dict[str, float]) -> JudgmentView:
    wins = rng.random() < 1 / (1 + 10 ** ((strength[b] - strength[a]) / 400))
    winner = "a" if wins else "b"
    return JudgmentView(
        system_a=a, system_b=b, judge="invented-judge@1", human=False, winner=winner,
        strength=int(rng.integers(1, 6)), shown_first="a" if rng.random() < 0.5 else "b", presentation="heard_text",
        rationale=_text(rng, 16), axes={axis: (winner, int(rng.integers(1, 6))) for axis in AXIS_NAMES},
        own_family=False,
    )  # fmt: skip


def _estimate(value: float, half: float) -> Estimate:
    return Estimate(value, value - half, value + half)


def _rating(rng: np.random.Generator, elo: float) -> RatingView:
    win = 1 / (1 + 10 ** ((1_500 - elo) / 400))
    axes = {axis: float(np.clip(win + rng.normal(0, 0.05), 0.02, 0.98)) for axis in AXIS_NAMES}
    over = {f"ref:{name}": _estimate(elo - level, 30) for name, level in _REFERENCES.items()}
    return RatingView(elo=_estimate(elo, 24), win_rate=win, axes=axes, judgments=300, over=over)


def _against(elo: float, contexts: int) -> dict[str, Preference]:
    shares = {f"ref:{name}": 1 / (1 + 10 ** ((level - elo) / 400)) for name, level in _REFERENCES.items()}
    return {name: Preference(_estimate(won, 0.06), contexts) for name, won in shares.items()}


IN_WORDS: Final[dict[QualityState, tuple[str, ...]]] = {
    "people": ("Quality is people's: 120 votes by 3 people, as good as 180: invented@1 saved 60.",),
    "borne_out": ("Quality is a judge's, borne out by people elsewhere (invented@1).",),
    "opinion": (
        "Quality is a judge's opinion (invented@1: right on 58–81 % of strangers' clear pairs, no better than counting words).",
        "Vote on the page, or run harness listen runs/invented: 24 votes, about 12 minutes, say which of each two is "
        "preferred if people agree; 96 if four of five do; a rating within ± 100 Elo takes 89.",
    ),
    "none": (),
}
"""The sentences on the page, by state of the quality axis."""


def of_an_invalid_run(agent: AgentView) -> AgentView:
    """The agent as of a run whose frames left late and whose replies raters heard, so that no figure of it may be quoted."""
    unsound = {
        subset: replace(part, cell=part.cell.model_copy(update={"valid": False, "quality_valid": False}))
        for subset, part in agent.slices.items()
    }
    return replace(agent, valid=False, slices=unsound)


def in_state(view: PageView, state: QualityState) -> PageView:
    """The view with its quality in another state; an opinion has no chances."""

    def changed(part: SliceView) -> SliceView:
        chances: dict[str, object] = {} if state in QUOTED else {"p_frontier": None, "p_best_within_budget": None}
        return replace(part, cell=part.cell.model_copy(update={"quality_state": state, **chances}))

    agents = (replace(a, slices={name: changed(part) for name, part in a.slices.items()}) for a in view.agents)
    preferred = _preferred([agent.name for agent in view.agents]) if state == "people" else ()
    stated = replace(view, agents=tuple(agents), quality=IN_WORDS[state], ways=IN_WORDS[state][1:], head_to_head=preferred)
    return in_sentences(stated)


def in_sentences(view: PageView) -> PageView:
    """The view with the sentences of what was found and how sure that is, of its own figures."""
    cells = [
        Cell.model_validate({**dict(agent.whole.cell), "agent": agent.name, "condition": agent.condition, "mode": "seeded",
                             "presentation": "heard_text", "subset": "all", "elo": agent.whole.rating.elo.value,
                             "kind": "cascade" if agent.spoken else "text",
                             "elo_interval": (agent.whole.rating.elo.low, agent.whole.rating.elo.high),
                             "elo_over": {name: {"value": over.value, "interval": (over.low, over.high)}
                                          for name, over in agent.whole.rating.over.items()}})
        for agent in view.agents
    ]  # fmt: skip
    played = frozenset(context.id for context in view.contexts)
    known = Circumstances(contexts=played, played=played, judged=played, onset_error=view.onset_error)
    summary = RunSummary(run=view.run, valid=view.valid, cells=cells, circumstances=known, head_to_head=list(view.head_to_head))
    return replace(view, finding=found(summary), sure=how_sure(summary))


def _preferred(names: Sequence[str]) -> tuple[Preferred, ...]:
    """A preference between each two agents."""
    pairs = list(combinations(names, 2))
    least = "at least 58 % of votes (95 % sure)"
    whose = f"by 48 votes of 3 raters; corrected for {len(pairs)} pairs"
    figures = {
        "condition": "clean",
        "presentation": "heard_text", "preferred": 14, "conversations": 16, "tied": 1, "votes": 48,
        "votes_for": 41, "votes_tied": 3, "share": 0.88, "at_least": 0.58, "interval": (0.57, 0.97),
        "compared": len(pairs), "raters": 3, "effective_raters": 2.8,
    }  # fmt: skip
    return tuple(
        Preferred.model_validate({
            **figures, "agent": one, "over": other,
            "in_words": f"{one} preferred to {other} in 14 of 16 conversations, 1 tied: {least}, {whose}",
        })
        for one, other in pairs
    )  # fmt: skip


def beside_others(view: PageView, part: float = 0.12) -> PageView:
    """The view, had others been able to cause this part of every latency."""

    def of_turn(turn: TurnView) -> TurnView:
        times = {name: Bounded(at.high_ms * (1 - part) if at.high_ms < np.inf else np.inf, at.high_ms)
                 for name, at in turn.times_ms.items()}  # fmt: skip
        return replace(turn, times_ms=times, watched=True, others=OTHERS)

    def of_slice(shown: SliceView) -> SliceView:
        owed: dict[str, object] = {"others": list(OTHERS), "undecided": 2}
        for metric in METRICS:
            found = shown.latency(metric)
            ranges = {f"{which}_range": (at * (1 - part), at) for which in ("p50", "p95")
                      if (at := getattr(found, which)) is not None}  # fmt: skip
            owed[f"{metric}_ms"] = found.model_copy(update=ranges)
        within = shown.cell.within_budget.ttfa or 0.0
        ends = (within, min(1.0, within + part))
        owed["within_budget"] = shown.cell.within_budget.model_copy(update={"ttfa_range": ends})
        return replace(shown, cell=shown.cell.model_copy(update=owed))

    contexts = (
        replace(c, sessions=tuple(replace(s, turns=tuple(map(of_turn, s.turns))) for s in c.sessions)) for c in view.contexts
    )
    agents = (replace(a, slices={name: of_slice(shown) for name, shown in a.slices.items()}) for a in view.agents)
    return replace(view, contexts=tuple(contexts), agents=tuple(agents))


def quantiles(p50: Estimate, p95: Estimate = UNKNOWN, n: int = 9) -> Quantiles:
    """Percentiles as a run gives them, of two estimates; a median without a value falls on a turn without reply."""
    ends = [(e.low, e.high) if e.low is not None and e.high is not None else None for e in (p50, p95)]
    return Quantiles(
        p50=p50.value, p50_interval=ends[0], p50_at_least=p50.low if p50.value is None else None,
        p50_over_limit=p50.value is None, p95=p95.value, p95_interval=ends[1], n=n,
    )  # fmt: skip


def _reference(rng: np.random.Generator, name: str, elo: float) -> ReferenceView:
    return ReferenceView(f"ref:{name}", "authored", {subset: _rating(rng, elo + rng.normal(0, 9)) for subset in SUBSETS})


def _agent(
    rng: np.random.Generator,
    number: int,
    labels: Sequence[str],
    medians: Sequence[float],
    ratings: Sequence[float],
    contexts: Sequence[ContextView],
) -> AgentView:
    slices: dict[Subset, SliceView] = {}
    for subset in SUBSETS:
        shown = [c.sessions[number] for c in contexts if subset in ("all", c.subset)]
        values = np.array([at for s in shown if (at := s.last.ms("ttfa")) is not None])
        cut = sum(p.name == "cut" for s in shown for p in s.pauses)
        shift = {"all": 0.0, "regular": 6.0, "adversarial": -15.0}[subset]
        slower = {"all": 1.0, "regular": 0.97, "adversarial": 1.12}[subset]
        ratio: dict[str, float] = {
            "ttfa": 1.0, "ttft": 0.25, "first_sound": 0.98, "first_speech": 1.0, "first_word": 1.03, "first_substance": 1.3,
        }  # fmt: skip
        latency: dict[str, Any] = {
            f"{metric}_ms": quantiles(
                _estimate(medians[number] * slower * r, medians[number] * r * 0.07),
                _estimate(medians[number] * slower * r * 1.5, medians[number] * r * 0.16),
                n=len(shown),
            )
            for metric, r in ratio.items()
        }
        faster = [r for m, r in zip(medians, ratings, strict=True) if m < medians[number]]
        best = ratings[number] > max(faster, default=0.0)
        cell = AgentSummary(
            turns=len(shown),
            no_reply=sum(s.last.no_reply for s in shown),
            failed=sum(s.status == "failed" for s in shown),
            within_budget=WithinBudget(
                ttft=float((values * 0.25 <= 500).mean()) if len(values) else None,
                ttfa=float((values <= 500).mean()) if len(values) else None,
            ),
            cut_in_rate=0.0,
            false_start_rate=cut / max(len(shown), 1),
            pauses_cut=(cut, sum(len(s.pauses) for s in shown)),
            quality_state="borne_out",
            p_frontier=0.8 if best else 0.1,
            p_best_within_budget=(0.9 if number == 0 else 0.1) if medians[number] < 500 else 0.0,
            **latency,
            **dict(_endpointing(number, medians[number], len(shown))),
        )
        slices[subset] = SliceView(cell, _rating(rng, ratings[number] + shift))
    return AgentView(
        name=labels[number], family="invented", spoken=True, slices=slices, against=_against(ratings[number], len(contexts))
    )


def unrated(view: PageView) -> PageView:
    """The view, had nobody rated any reply."""

    def of_slice(part: SliceView) -> SliceView:
        chances = {"p_frontier": None, "p_best_within_budget": None}
        return replace(part, rating=RatingView(), cell=part.cell.model_copy(update={"quality_state": "none", **chances}))

    agents = (replace(a, against={}, slices={name: of_slice(part) for name, part in a.slices.items()}) for a in view.agents)
    contexts = (replace(context, judgments=()) for context in view.contexts)
    quality = (
        "Quality is not known: nothing was judged.",
        "Vote on the page, or run harness listen RUN: 7 votes, about 4 minutes.",
    )
    bare = replace(
        view, agents=tuple(agents), contexts=tuple(contexts), references=(), judges=(), quality=quality, ways=quality[1:],
        cautions=(), agreement=(), audits=(),
    )  # fmt: skip
    return in_sentences(bare)


def written(view: PageView) -> PageView:
    """The view of the same agents, had they been sent text: their first words are timed, and no sound."""

    def of_slice(part: SliceView) -> SliceView:
        spoken = {name: getattr(AgentSummary(turns=0, no_reply=0), name) for name in EndpointingSummary.model_fields}
        latencies = {f"{metric}_ms": Quantiles() for metric in METRICS} | {"ttft_ms": part.cell.ttfa_ms}
        within = WithinBudget(ttft=part.cell.within_budget.ttfa)
        more = {"kind": "text", "within_budget": within, "pauses_cut": (0, 0), "cut_in_rate": None}
        return replace(part, cell=part.cell.model_copy(update={**spoken, **latencies, **more}))

    agents = (replace(a, spoken=False, slices={name: of_slice(part) for name, part in a.slices.items()}) for a in view.agents)
    return in_sentences(replace(view, agents=tuple(agents), onset_error=None, setting="sent as text"))


def not_to_be_quoted(view: PageView) -> PageView:
    """The view of an invalid run."""
    invalid = replace(
        view, valid=False, invalid_reasons=("pacing p99 9 ms",), agents=tuple(map(of_an_invalid_run, view.agents))
    )
    return in_sentences(invalid)
