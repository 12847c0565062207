"""From a run on disk to the view: the only module of this room that knows how a store and a summary are laid out.

Figures over the whole run are taken from the summary, so that the page, the terminal and `--json` cannot disagree; what the
summary does not hold (subsets, single turns, verdicts) is read from the store.
"""

import base64
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from harness.errors import UserError
from harness.judgment import Judgment
from harness.ranking import JointPoint
from harness.store import RunStore, Session
from harness.summary import AgentSummary, Quantiles, RunSummary
from harness.turn_timing import HiddenWork, Stage, TurnTiming
from reports import audits, drawing, latencies, ratings, strategies, telemetry
from reports.drawing import Drawing
from reports.listening.section import listening_views
from reports.provenance import provenance
from reports.view import (
    METRICS,
    SUBSETS,
    UNKNOWN,
    AgentView,
    ContextView,
    Estimate,
    FailureView,
    JudgeView,
    JudgmentView,
    LatencyView,
    Metric,
    PageView,
    RatingView,
    ReferenceView,
    SliceView,
    Span,
    Subset,
    TurnView,
)
from scenarios.context import Context

_BESIDE = ("first_byte", "ttft_from_spoken_end", "signed", "yield")
"""Shown with a turn, not offered as an axis of the joint chart."""

Boards = Mapping[Subset, Mapping[str, RatingView]]
Frontiers = Mapping[Subset, Mapping[str, JointPoint]]


def assemble(
    store: RunStore, summary: RunSummary, page_folder: Path, *, audio: bool = True, bundle: bool = False
) -> PageView:
    """The whole view of a run.

    With `audio`, writes each session's stereo file under `page_folder/report-audio`; with `bundle`, the view carries the sound
    itself instead of its path.
    """
    manifest, contexts, sessions = store.manifest, store.contexts(), store.sessions()
    judgments = store.judgments()
    rows = ratings.joint_rows(judgments)
    boards = {subset: ratings.ratings(ratings.of_subset(rows, subset)) for subset in SUBSETS}
    subset_of = {context.id: context.subset for context in contexts}
    frontiers = {
        subset: ratings.points(
            ratings.of_subset(rows, subset), _ttfa(sessions, subset_of, subset), summary.budgets_ms.get("ttfa", 500.0)
        )
        for subset in SUBSETS[1:]
    }
    texts = _texts(contexts, sessions)
    first_ns = min((s.started_ns for s in sessions if s.started_ns is not None), default=None)
    turns = defaultdict(list)
    for session in sessions:
        drawn = _drawing(store, session, page_folder) if audio else None
        sound = _address(drawn, page_folder, bundle)
        turns[session.key.context_id].append(_turn(session, drawn, sound, first_ns))
    verdicts = defaultdict(list)
    for row in judgments:
        verdicts[row.context].append(row)
    calibration = summary.calibration or manifest.calibration or {}
    error = calibration.get("ttfa_p95_error_ms")
    return PageView(
        run=store.folder.name,
        created=manifest.created,
        valid=summary.valid,
        invalid_reasons=tuple(dict.fromkeys([*summary.invalid, *manifest.invalid])),
        pacing_p99_error_ms=summary.pacing.p99_error_ms,
        realtime_ratio=summary.pacing.realtime_ratio,
        elo_method=next((a.elo_method for a in summary.agents.values() if a.elo_method), ""),
        agents=tuple(
            _agent(name, agent, [s for s in sessions if s.key.agent == name], subset_of, rows, boards, frontiers)
            for name, agent in summary.agents.items()
        ),
        references=_references(contexts, boards, summary),
        judges=_judges(store, summary),
        failures=tuple(FailureView(f.context, f.agent, f.kind, f.detail) for f in summary.failures),
        contexts=tuple(_context(context, turns[context.id], verdicts[context.id]) for context in contexts),
        warnings=tuple(summary.warnings),
        agreement=audits.agreements(rows),
        audits=audits.audits(rows, texts),
        strategies=strategies.used(store.folder, texts),
        listening=listening_views(store),
        telemetry=telemetry.series(store.folder, first_ns),
        provenance=provenance(manifest, summary),
        onset_error_ms=float(error) if isinstance(error, int | float) else None,
        budget_ttft_ms=summary.budgets_ms.get("ttft", 500.0),
        budget_ttfa_ms=summary.budgets_ms.get("ttfa", 500.0),
    )


def _texts(contexts: Sequence[Context], sessions: Sequence[Session]) -> dict[tuple[str, str], str]:
    """Each reply as judged: heard where it was transcribed, else as written."""
    found = {(c.id, f"ref:{r.id}"): r.text for c in contexts for r in c.references}
    for session in sessions:
        text = session.heard_text if session.heard_text is not None else session.written_text
        found[session.key.context_id, session.key.agent] = text or ""
    return found


def _drawing(store: RunStore, session: Session, page_folder: Path) -> Drawing | None:
    file = page_folder / "report-audio" / f"{session.id}.flac"
    known = drawing.drawn_before(file)
    if known is not None or not (session.folder / "recording.json").exists():
        return known
    try:
        return drawing.draw(store.recording(session), file)
    except UserError:
        return None


def _address(drawn: Drawing | None, page_folder: Path, bundle: bool) -> str | None:
    """Where the page finds a session's sound: beside it, or in itself."""
    if drawn is None:
        return None
    if bundle:
        return "data:audio/flac;base64," + base64.b64encode(drawn.file.read_bytes()).decode("ascii")
    return quote(drawn.file.relative_to(page_folder).as_posix())


def _turn(session: Session, drawn: Drawing | None, sound: str | None, first_ns: int | None) -> TurnView:
    timing = session.timing
    origin = timing.spoken_end_ms if timing is not None else 0.0
    failure = ": ".join(part for part in (session.failure_kind, session.failure_detail) if part)
    started = (session.started_ns - first_ns) / 1e9 if session.started_ns is not None and first_ns is not None else None
    base = TurnView(
        agent=session.key.agent,
        session=session.id,
        status=session.status,
        failure=failure,
        written=session.written_text,
        heard=session.heard_text,
        understood=session.understood_text,
        audio=sound,
        figures_ms=_figures(timing),
        spoken_end_ms=timing.spoken_end_ms if timing is not None else None,
        caller=drawn.caller if drawn is not None else (),
        pauses=_pauses(drawn, timing),
        marks=drawn.marks if drawn is not None else (),
        envelope=drawn.envelope if drawn is not None else None,
        length_ms=drawn.length_ms if drawn is not None else None,
        started_s=started,
        repeat=session.key.repeat,
        condition=session.key.condition,
        mode=session.key.mode,
    )
    if timing is None:
        return base
    waterfall = timing.waterfall
    return replace(
        base,
        agent_spans=tuple(Span(u.kind, origin + u.start_ms, origin + u.end_ms) for u in timing.utterances),
        stages=_stages(waterfall.stages) if waterfall else (),
        hidden=_stages(waterfall.hidden) if waterfall else (),
        refused=(*timing.refused, *(waterfall.refused if waterfall else ())),
        cut_in=timing.cut_in,
        no_reply=timing.no_reply,
        discarded=timing.discarded or "",
        labels=timing.labels,
        pacing_p99_error_ms=timing.pacing_p99_error_ms,
        loop_lag_max_ms=timing.loop_lag_max_ms,
        pauses_marked=timing.pauses_marked,
        pauses_cut=timing.pauses_cut,
    )


def _figures(timing: TurnTiming | None) -> dict[str, float]:
    if timing is None:
        return {}
    found = {name: getattr(timing, f"{name}_ms") for name in (*METRICS, *_BESIDE)}
    return {name: float(value) for name, value in found.items() if value is not None}


def _pauses(drawn: Drawing | None, timing: TurnTiming | None) -> tuple[Span, ...]:
    """The marked pauses, each `cut` or `kept`; unknown counts as kept only where the turn was timed at all."""
    if drawn is None or timing is None:
        return ()
    cut = timing.pause_was_cut
    return tuple(
        Span("cut" if k < len(cut) and cut[k] else "kept", start, end) for k, (start, end) in enumerate(drawn.pauses)
    )


def _stages(stages: Iterable[Stage | HiddenWork]) -> tuple[Span, ...]:
    return tuple(Span(s.name, s.start_ms, s.start_ms + s.duration_ms) for s in stages)


def _agent(
    name: str,
    agent: AgentSummary,
    sessions: Sequence[Session],
    subset_of: Mapping[str, str],
    rows: Sequence[Judgment],
    boards: Boards,
    frontiers: Frontiers,
) -> AgentView:
    mine = [row for row in rows if name in (row.system_a, row.system_b)]
    return AgentView(
        name=name,
        family=agent.family or "",
        spoken=agent.kind != "text",
        turns=agent.turns,
        no_reply=agent.no_reply,
        failed=agent.failed,
        discarded=sum(agent.discarded.values()),
        within_ttft=agent.within_budget.ttft,
        within_ttfa=agent.within_budget.ttfa,
        cut_in_rate=agent.cut_in_rate,
        false_start_rate=agent.false_start_rate,
        pauses_cut=agent.pauses_cut[0],
        pauses_marked=agent.pauses_cut[1],
        slices={
            "all": _whole(agent, boards["all"].get(name, RatingView())),
            "regular": _slice(name, "regular", sessions, subset_of, boards, frontiers),
            "adversarial": _slice(name, "adversarial", sessions, subset_of, boards, frontiers),
        },
        profile_hash=next((s.key.profile_hash for s in sessions), ""),
        underruns=agent.underruns,
        own_family_judgments=sum(row.own_family for row in mine),
        total_judgments=len(mine),
    )


def _whole(agent: AgentSummary, board: RatingView) -> SliceView:
    rating = RatingView(
        elo=Estimate(agent.elo, *(agent.elo_interval or (None, None))),
        win_rate=agent.win_rate,
        axes={axis: value for axis, value in agent.axes.items() if value is not None},
        judgments=board.judgments,
        contexts=board.contexts,
    )
    latency: dict[Metric, LatencyView] = {metric: _quantiles(getattr(agent, f"{metric}_ms")) for metric in METRICS}
    return SliceView(agent.turns, latency, rating, agent.p_frontier)


def _quantiles(found: Quantiles) -> LatencyView:
    return LatencyView(
        p50=UNKNOWN if found.p50_over_limit else Estimate(found.p50, *(found.p50_interval or (None, None))),
        p95=UNKNOWN if found.p95_over_limit else Estimate(found.p95, *(found.p95_interval or (None, None))),
        p50_over=found.p50_over_limit,
        p95_over=found.p95_over_limit,
        n=found.n,
    )


def _slice(
    name: str,
    subset: Subset,
    sessions: Sequence[Session],
    subset_of: Mapping[str, str],
    boards: Boards,
    frontiers: Frontiers,
) -> SliceView:
    timed = [
        (s.key.context_id, s.timing)
        for s in sessions
        if subset_of.get(s.key.context_id) == subset and s.timing is not None and s.timing.discarded is None
    ]
    latency: dict[Metric, LatencyView] = {}
    for metric in METRICS:
        seen: list[latencies.Observation] = []
        for context, timing in timed:
            value = getattr(timing, f"{metric}_ms")
            if value is not None or timing.no_reply:
                seen.append((context, None if timing.no_reply else value))
        latency[metric] = latencies.over_turns(seen)
    point = frontiers[subset].get(name)
    return SliceView(
        len(timed), latency, boards[subset].get(name, RatingView()), point.p_frontier if point is not None else None
    )


def _ttfa(
    sessions: Sequence[Session], subset_of: Mapping[str, str], subset: Subset
) -> dict[str, dict[str, float | None]]:
    """Agent → conversation → TTFA, None for no reply; of repeats the last."""
    found: dict[str, dict[str, float | None]] = defaultdict(dict)
    for session in sessions:
        timing = session.timing
        if subset_of.get(session.key.context_id) != subset or timing is None or timing.discarded is not None:
            continue
        if timing.no_reply or timing.ttfa_ms is not None:
            found[session.key.agent][session.key.context_id] = None if timing.no_reply else timing.ttfa_ms
    return found


def _references(contexts: Sequence[Context], boards: Boards, summary: RunSummary) -> tuple[ReferenceView, ...]:
    authors: dict[str, list[str]] = defaultdict(list)
    for context in contexts:
        for reference in context.references:
            if reference.author not in authors[f"ref:{reference.id}"]:
                authors[f"ref:{reference.id}"].append(reference.author)
    found = []
    for system, row in summary.references.items():
        whole = RatingView(
            elo=Estimate(row.elo, *(row.elo_interval or (None, None))),
            win_rate=row.win_rate,
            axes={axis: value for axis, value in row.axes.items() if value is not None},
        )
        subsets = {subset: boards[subset][system] for subset in SUBSETS[1:] if system in boards[subset]}
        found.append(
            ReferenceView(system, ", ".join(authors.get(system, ["unknown author"])), {"all": whole, **subsets})
        )
    return tuple(found)


def _judges(store: RunStore, summary: RunSummary) -> tuple[JudgeView, ...]:
    checks = {check.judge: check for check in store.judge_checks()}
    found = []
    for judge in summary.judges:
        check = checks.get(judge.id)
        flips = check.flip_interval if check is not None else None
        found.append(
            JudgeView(
                name=judge.id,
                pairs=check.pairs if check is not None else None,
                accuracy=Estimate(judge.accuracy, *(judge.accuracy_interval or (None, None))),
                flip_rate=Estimate(judge.flip_rate, *(flips or (None, None))),
                trusted=judge.trusted,
                judgments=judge.judgments,
                note=judge.note,
            )
        )
    return tuple(found)


def _context(context: Context, turns: Sequence[TurnView], rows: Sequence[Judgment]) -> ContextView:
    return ContextView(
        id=context.id,
        subset=context.subset,
        escalation=context.escalation or "",
        emotion=context.emotion,
        problem=context.problem,
        situation=context.situation,
        history=tuple((turn.role, turn.text) for turn in context.turns),
        references=tuple((f"ref:{r.id}", r.author, r.text) for r in context.references),
        turns=tuple(turns),
        judgments=tuple(_judgment(row) for row in rows if row.purpose == "main"),
        source=context.source,
        licence=context.licence,
    )


def _judgment(row: Judgment) -> JudgmentView:
    return JudgmentView(
        system_a=row.system_a,
        system_b=row.system_b,
        judge=row.judge,
        human=row.source == "human",
        winner=row.winner,
        strength=row.strength,
        shown_first=row.shown_first or "",
        presentation=row.presentation,
        rationale=row.rationale,
        axes={axis: (mark.winner, mark.strength) for axis, mark in row.axes.items()},
        own_family=row.own_family,
    )
