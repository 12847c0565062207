"""From runs on disk to the view: the only module of this room that knows how a store and a summary are laid out.

Figures over a whole run are taken from its summary, so that the page, the terminal and `--json` cannot disagree; what the
summary does not hold (subsets, single turns, verdicts) is read from the store.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.ranking import JointPoint
from harness.steps.latency import summarise_latency
from harness.steps.summarise import turns_of
from harness.steps.summary import AgentSummary, Quantiles, RunSummary
from harness.store.judgment import Judgment, reference_name
from harness.store.manifest import RunManifest
from harness.store.run_store import Session
from reports import audits, ratings, strategies, telemetry
from reports.listening.section import listening_views
from reports.provenance import provenance
from reports.runs_differ import onset_error_ms
from reports.shown_runs import Gathered, Part, measured_on_page, reply_texts
from reports.turns import first_start_ns, turns
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
    ListeningView,
    PageView,
    RatingView,
    ReferenceView,
    SeriesView,
    SliceView,
    Subset,
    TurnView,
)
from scenarios.context import Context

Boards = Mapping[Subset, Mapping[str, RatingView]]
Frontiers = Mapping[Subset, Mapping[str, JointPoint]]


def assemble(gathered: Gathered, page_folder: Path, *, audio: bool = True, bundle: bool = False) -> PageView:
    """The whole view of a page.

    With `audio`, writes each session's stereo file under `page_folder/report-audio`; with `bundle`, the view carries the sound
    itself instead of its path.
    """
    summary, rows = gathered.summary, gathered.ranked
    sessions = [session for part in gathered.parts for session in part.sessions]
    judgments = [row for part in gathered.parts for row in part.judgments]
    manifests = [part.store.manifest for part in gathered.parts]
    boards = {subset: ratings.ratings(ratings.of_subset(rows, subset)) for subset in SUBSETS}
    subset_of = {context.id: context.subset for context in gathered.contexts}
    ttfa = measured_on_page(gathered.parts).ttfa
    frontiers = {
        subset: ratings.points(
            ratings.of_subset(rows, subset), _of_subset(ttfa, subset_of, subset), summary.budgets_ms.get("ttfa", 500.0)
        )
        for subset in SUBSETS[1:]
    }
    shown = turns(gathered, page_folder, audio=audio, bundle=bundle)
    verdicts: dict[str, list[Judgment]] = defaultdict(list)
    for row in judgments:
        verdicts[row.context].append(row)
    planned: dict[str, list[str]] = defaultdict(list)
    for part, manifest in zip(gathered.parts, manifests, strict=True):
        for context in manifest.context_ids:
            planned[context] += [part.names.get(agent.name, agent.name) for agent in manifest.agents]
    errors = [onset_error_ms(part) for part in gathered.parts]
    everything = ratings.joint_rows(row for part in gathered.parts for row in part.counted)
    return PageView(
        run=gathered.title,
        created=", ".join(dict.fromkeys(manifest.created for manifest in manifests)),
        valid=summary.valid,
        invalid_reasons=_invalid(gathered),
        pacing_p99_error_ms=summary.pacing.p99_error_ms,
        realtime_ratio=summary.pacing.realtime_ratio,
        elo_method=next((a.elo_method for a in summary.agents.values() if a.elo_method), ""),
        agents=tuple(
            _agent(name, summary.agents[name], part, subset_of, everything, boards, frontiers)
            for part in gathered.parts
            for name in (part.names.get(own, own) for own in part.summary.agents)
        ),
        references=_references(gathered.contexts, boards, summary),
        judges=_judges(gathered),
        failures=tuple(FailureView(f.context, f.agent, f.kind, f.detail) for f in summary.failures),
        contexts=tuple(
            _context(context, planned[context.id], shown[context.id], verdicts[context.id]) for context in gathered.contexts
        ),
        cautions=summary.cautions,
        agreement=audits.agreements(everything),
        audits=audits.audits(everything, reply_texts(gathered.contexts, sessions)),
        strategies=strategies.used(gathered),
        listening=_listening(gathered),
        telemetry=_telemetry(gathered),
        provenance=provenance(gathered.parts),
        differences=gathered.differences,
        onset_error_ms=None if None in errors else max(error for error in errors if error is not None),
        budget_ttft_ms=summary.budgets_ms.get("ttft", 500.0),
        budget_ttfa_ms=summary.budgets_ms.get("ttfa", 500.0),
    )


def _invalid(gathered: Gathered) -> tuple[str, ...]:
    stored = [
        f"{part.label}: {reason}" if gathered.several else reason
        for part in gathered.parts
        for reason in part.store.manifest.invalid
    ]
    return tuple(dict.fromkeys([*gathered.summary.invalid, *stored]))


def _listening(gathered: Gathered) -> tuple[ListeningView, ...]:
    return tuple(
        replace(found, title=f"{found.title} ({part.label})") if gathered.several else found
        for part in gathered.parts
        for found in listening_views(part.store)
    )


def _telemetry(gathered: Gathered) -> tuple[SeriesView, ...]:
    return tuple(
        replace(line, name=f"{part.label}: {line.name}") if gathered.several else line
        for part in gathered.parts
        for line in telemetry.series(part.store.telemetry_file, first_start_ns(part))
    )


def _agent(
    name: str,
    agent: AgentSummary,
    part: Part,
    subset_of: Mapping[str, str],
    rows: Sequence[Judgment],
    boards: Boards,
    frontiers: Frontiers,
) -> AgentView:
    mine = [row for row in rows if name in (row.system_a, row.system_b)]
    sessions = [s for s in part.sessions if s.key.agent == name and s.key.condition == part.store.manifest.conditions[0]]
    slices: dict[Subset, SliceView] = {"all": _whole(agent, boards["all"].get(name, RatingView()))}
    for subset in SUBSETS[1:]:
        point = frontiers[subset].get(name)
        slices[subset] = _slice(
            agent,
            part.store.manifest,
            [s for s in sessions if subset_of.get(s.key.context_id) == subset],
            boards[subset].get(name, RatingView()),
            point.p_frontier if point is not None else None,
        )
    return AgentView(
        name=name,
        family=agent.family or "",
        spoken=agent.kind != "text",
        slices=slices,
        profile_hash=next((s.key.profile_hash for s in sessions), ""),
        own_family_judgments=sum(row.own_family for row in mine),
        total_judgments=len(mine),
        common_opening=agent.common_opening,
    )


def _whole(agent: AgentSummary, board: RatingView) -> SliceView:
    rating = RatingView(
        elo=Estimate(agent.elo, *(agent.elo_interval or (None, None))),
        win_rate=agent.win_rate,
        axes={axis: value for axis, value in agent.axes.items() if value is not None},
        judgments=board.judgments,
        contexts=board.contexts,
    )
    return SliceView(
        agent.turns,
        {metric: _quantiles(getattr(agent, f"{metric}_ms")) for metric in METRICS},
        rating,
        agent.p_frontier,
        no_reply=agent.no_reply,
        failed=agent.failed,
        discarded=sum(agent.discarded.values()),
        within_ttft=agent.within_budget.ttft,
        within_ttfa=agent.within_budget.ttfa,
        cut_in_rate=agent.cut_in_rate,
        false_start_rate=agent.false_start_rate,
        pauses_cut=agent.pauses_cut[0],
        pauses_marked=agent.pauses_cut[1],
        underruns=agent.underruns,
    )


def _slice(
    agent: AgentSummary,
    manifest: RunManifest,
    sessions: Sequence[Session],
    rating: RatingView,
    p_frontier: float | None,
) -> SliceView:
    """A subset by the very rules of the whole run."""
    found = summarise_latency(turns_of(sessions), budgets_ms=manifest.budgets_ms, seed=manifest.seed)
    spoken = agent.kind != "text"
    return SliceView(
        found.turns,
        {metric: _quantiles(found.quantiles[metric]) for metric in METRICS},
        rating,
        p_frontier,
        no_reply=found.no_reply,
        failed=sum(s.status == "failed" for s in sessions),
        discarded=sum(found.discarded.values()),
        within_ttft=found.within_ttft,
        within_ttfa=found.within_ttfa if spoken else None,
        cut_in_rate=found.cut_in_rate if spoken else None,
        false_start_rate=found.false_start_rate if spoken else None,
        pauses_cut=found.pauses_cut[0],
        pauses_marked=found.pauses_cut[1],
        underruns=found.underruns,
    )


def _quantiles(found: Quantiles) -> LatencyView:
    return LatencyView(
        p50=UNKNOWN if found.p50_over_limit else Estimate(found.p50, *(found.p50_interval or (None, None))),
        p95=UNKNOWN if found.p95_over_limit else Estimate(found.p95, *(found.p95_interval or (None, None))),
        p50_over=found.p50_over_limit,
        p95_over=found.p95_over_limit,
        n=found.n,
    )


def _of_subset(
    latencies: Mapping[str, Mapping[str, float | None]], subset_of: Mapping[str, str], subset: Subset
) -> dict[str, dict[str, float | None]]:
    return {
        agent: {context: value for context, value in values.items() if subset_of.get(context) == subset}
        for agent, values in latencies.items()
    }


def _references(contexts: Sequence[Context], boards: Boards, summary: RunSummary) -> tuple[ReferenceView, ...]:
    authors: dict[str, list[str]] = defaultdict(list)
    for context in contexts:
        for reference in context.references:
            if reference.author not in authors[reference_name(reference.id)]:
                authors[reference_name(reference.id)].append(reference.author)
    found = []
    for system, row in summary.references.items():
        whole = RatingView(
            elo=Estimate(row.elo, *(row.elo_interval or (None, None))),
            win_rate=row.win_rate,
            axes={axis: value for axis, value in row.axes.items() if value is not None},
        )
        subsets = {subset: boards[subset][system] for subset in SUBSETS[1:] if system in boards[subset]}
        found.append(ReferenceView(system, ", ".join(authors.get(system, ["unknown author"])), {"all": whole, **subsets}))
    return tuple(found)


def _judges(gathered: Gathered) -> tuple[JudgeView, ...]:
    checks = {}
    for part in gathered.parts:
        for known in part.store.judge_checks():
            checks[known.judge] = checks[f"{known.judge} ({part.label})"] = known
    found = []
    for judge in gathered.summary.judges:
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


def _context(context: Context, planned: Sequence[str], turns: Sequence[TurnView], rows: Sequence[Judgment]) -> ContextView:
    return ContextView(
        id=context.id,
        subset=context.subset,
        escalation=context.escalation or "",
        emotion=context.emotion,
        problem=context.problem,
        situation=context.situation,
        history=tuple((turn.role, turn.text) for turn in context.turns),
        references=tuple((reference_name(r.id), r.author, r.text) for r in context.references),
        turns=tuple(turns),
        planned=tuple(planned),
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
