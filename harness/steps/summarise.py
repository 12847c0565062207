"""From a store to the run in one object: every figure that is shown anywhere is put together here, once.

Figures that a run is too small or too damaged to give are None, and what weakens the others is said in `warnings`, in
plain sentences that travel with the figures to the terminal, the page and the JSON.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from harness.ranking import Board, JointPoint
from harness.steps.judge import HEARD, NO_REPLY_RULE, reply_of
from harness.steps.latency import summarise_latency
from harness.steps.rank import counted_rows, rank_target
from harness.steps.summary import (
    AgentSummary,
    Cell,
    Failure,
    JudgeSummary,
    PacingSummary,
    ReferenceSummary,
    RunSummary,
    WithinBudget,
)
from harness.steps.word_errors import heard_wer, understood_wer
from harness.store.judgment import Judgment, Presentation
from harness.store.manifest import Pacing, RunManifest
from harness.store.run_store import RunStore, Session
from harness.store.step_failure import StepFailure, attempt
from harness.timing.figures import TurnTiming, crosses_clocks_unsurely
from harness.timing.pacing import errors_ms, out_of_bounds
from harness.timing.words import opening_words

REFERENCE_PREFIX = "ref:"
IDLE_PERCENT = 1.0
"""An agent that waits has nothing to do; more than this is work that could slow the one being timed."""


def with_pacing(store: RunStore) -> RunManifest:
    """The store's manifest with how exactly the frames of all its sessions left, and whether that makes the run invalid."""
    errors: list[NDArray[np.float64]] = []
    ratios: list[float] = []
    lags: list[float] = []
    for session in store.sessions():
        if session.key.agent not in _spoken(store.manifest) or not (session.folder / "recording.json").exists():
            continue
        recording = attempt(session.id, "pacing", partial(store.recording, session))
        if isinstance(recording, StepFailure):
            store.set_step_failure(recording)
            continue
        store.clear_step_failure(session.id, "pacing")
        errors.append(np.abs(errors_ms(recording.caller)))
        lags += recording.loop_lag_ms
        if session.timing is not None and session.timing.realtime_ratio is not None:
            ratios.append(session.timing.realtime_ratio)
    frames = np.concatenate(errors) if errors else np.empty(0)
    if not frames.size:
        return store.manifest
    # The ratio furthest from 1 speaks for the run: an average would let a fast call hide a slow one.
    ratio = max(ratios, key=lambda r: abs(r - 1)) if ratios else None
    pacing = Pacing(
        p99_error_ms=float(np.percentile(frames, 99)),
        max_error_ms=float(frames.max()),
        realtime_ratio=ratio,
        frames=int(frames.size),
        loop_lag_max_ms=max(lags) if lags else None,
    )
    problems = out_of_bounds(pacing.p99_error_ms, ratio, pacing.loop_lag_max_ms)
    return store.manifest.model_copy(update={"pacing": pacing, "invalid": list(problems)})


def summarise(store: RunStore) -> RunSummary:
    """Every figure of a run, from what its store holds now."""
    manifest, sessions = store.manifest, store.sessions()
    rows = ranked_rows(counted_rows(store), HEARD)
    ranking = rank_target(store.folder, presentation=HEARD, seed=manifest.seed) if rows else None
    board = ranking.board if ranking else None
    points = {point.system: point for point in ranking.joint.points} if ranking and ranking.joint else {}
    agents = {
        entry.name: _agent(entry.name, [s for s in sessions if s.key.agent == entry.name], manifest, store, board, points)
        for entry in manifest.agents
    }
    return RunSummary(
        run=str(store.folder),
        valid=not manifest.invalid,
        invalid=list(manifest.invalid),
        warnings=_warnings(store, manifest, sessions, rows, board),
        budgets_ms=manifest.budgets_ms,
        pacing=_pacing(manifest),
        calibration=manifest.calibration,
        judges=_judges(store, rows),
        agents=agents,
        references=_references(board),
        cells=_cells(manifest, sessions, store) if len(manifest.conditions) > 1 else None,
        failures=[
            Failure(context=s.key.context_id, agent=s.key.agent, kind=s.failure_kind, detail=s.failure_detail)
            for s in sessions
            if s.failure_kind is not None
        ]
        + _step_failures(store, sessions),
    )


def _step_failures(store: RunStore, sessions: Sequence[Session]) -> list[Failure]:
    """Sessions that a step after the call could not be done for: missing through no fault of their agent."""
    by_id = {s.id: s.key for s in sessions}
    return [
        Failure(context=key.context_id, agent=key.agent, kind=f.kind, detail=f"{f.step}: {f.detail}")
        for f in store.step_failures()
        if (key := by_id.get(f.session)) is not None
    ]


def ranked_rows(judgments: Iterable[Judgment], presentation: Presentation) -> list[Judgment]:
    """The verdicts a board is made of: one presentation, without the audits (swapped and repeated questions)."""
    return [j for j in judgments if j.presentation == presentation and j.purpose == "main"]


def turns_of(sessions: Iterable[Session]) -> dict[str, list[TurnTiming]]:
    """Context → every timed turn of its finished sessions."""
    turns: dict[str, list[TurnTiming]] = {}
    for session in sessions:
        if session.status == "finished" and session.turn_timings:
            turns.setdefault(session.key.context_id, []).extend(session.turn_timings)
    return turns


def _agent(
    name: str,
    sessions: Sequence[Session],
    manifest: RunManifest,
    store: RunStore,
    board: Board | None,
    points: Mapping[str, JointPoint],
) -> AgentSummary:
    entry = next(a for a in manifest.agents if a.name == name)
    first = [s for s in sessions if s.key.condition == manifest.conditions[0]]
    summary = _figures(first, manifest, store, spoken=entry.kind != "text")
    rating = next((r for r in board.systems if r.system == name), None) if board else None
    point = points.get(name)
    return summary.model_copy(
        update={
            "kind": entry.kind,
            "family": entry.family,
            "elo": rating.elo if rating else None,
            "elo_method": board.method if board and rating else None,
            "elo_interval": rating.interval if rating else None,
            "win_rate": rating.win_rate if rating else None,
            "axes": dict(rating.axes) if rating else {},
            "p_frontier": point.p_frontier if point else None,
            "p_best_within_budget": point.p_best_within_budget if point else None,
        }
    )


def _figures(sessions: Sequence[Session], manifest: RunManifest, store: RunStore, *, spoken: bool) -> AgentSummary:
    figures = summarise_latency(turns_of(sessions), budgets_ms=manifest.budgets_ms, seed=manifest.seed)
    contexts = {c.id: c for c in store.contexts()}
    openings = Counter(opening_words(text) for s in sessions if (text := reply_of(s, HEARD)))
    return AgentSummary(
        turns=figures.turns,
        no_reply=figures.no_reply,
        failed=sum(s.status == "failed" for s in sessions),
        discarded=dict(figures.discarded),
        ttft_ms=figures.quantiles["ttft"],
        ttft_from_spoken_end_ms=figures.quantiles["ttft_from_spoken_end"],
        ttfa_ms=figures.quantiles["ttfa"],
        first_byte_ms=figures.quantiles["first_byte"],
        first_sound_ms=figures.quantiles["first_sound"],
        first_speech_ms=figures.quantiles["first_speech"],
        first_word_ms=figures.quantiles["first_word"],
        first_substance_ms=figures.quantiles["first_substance"],
        within_budget=WithinBudget(
            ttft=figures.within_ttft,
            ttfa=figures.within_ttfa if spoken else None,
            ttft_interval=figures.within_ttft_interval,
            ttfa_interval=figures.within_ttfa_interval if spoken else None,
        ),
        cut_in_rate=figures.cut_in_rate if spoken else None,
        false_start_rate=figures.false_start_rate if spoken else None,
        pauses_cut=figures.pauses_cut,
        short_pauses_cut=figures.short_pauses_cut,
        underruns=figures.underruns,
        unexplained_p95_ms=figures.unexplained_p95_ms,
        yield_ms=figures.yield_ms,
        tokens_per_s=figures.tokens_per_s,
        inter_token_gap_p95_ms=figures.inter_token_gap_p95_ms,
        tts_real_time_factor=figures.tts_real_time_factor,
        common_opening=(openings.most_common(1)[0][1], openings.total()) if openings else None,
        understood_wer=understood_wer(sessions, contexts),
        heard_wer=heard_wer(sessions),
    )


def _cells(manifest: RunManifest, sessions: Sequence[Session], store: RunStore) -> list[Cell]:
    cells = []
    for entry in manifest.agents:
        for condition in manifest.conditions:
            mine = [s for s in sessions if s.key.agent == entry.name and s.key.condition == condition]
            figures = _figures(mine, manifest, store, spoken=entry.kind != "text").model_dump(exclude={"kind", "family"})
            cells.append(
                Cell(
                    agent=entry.name,
                    condition=condition,
                    mode=manifest.mode,
                    kind=entry.kind,
                    family=entry.family,
                    **figures,
                )
            )
    return cells


def _judges(store: RunStore, rows: Sequence[Judgment]) -> list[JudgeSummary]:
    counts = Counter(row.judge for row in rows)
    own = Counter(row.judge for row in rows if row.own_family)
    return [
        JudgeSummary(
            id=check.judge,
            accuracy=check.accuracy,
            accuracy_interval=check.accuracy_interval,
            flip_rate=check.flip_rate,
            trusted=check.trusted and not own[check.judge],
            judgments=counts[check.judge],
            own_family_judgments=own[check.judge],
            note=check.note,
        )
        for check in store.judge_checks()
    ]


def _references(board: Board | None) -> dict[str, ReferenceSummary]:
    if board is None:
        return {}
    return {
        r.system: ReferenceSummary(elo=r.elo, elo_interval=r.interval, win_rate=r.win_rate, axes=dict(r.axes))
        for r in board.systems
        if r.system.startswith(REFERENCE_PREFIX)
    }


def _pacing(manifest: RunManifest) -> PacingSummary:
    if manifest.pacing is None:
        return PacingSummary()
    return PacingSummary(p99_error_ms=manifest.pacing.p99_error_ms, realtime_ratio=manifest.pacing.realtime_ratio)


def _spoken(manifest: RunManifest) -> frozenset[str]:
    return frozenset(a.name for a in manifest.agents if a.kind != "text")


def _warnings(
    store: RunStore,
    manifest: RunManifest,
    sessions: Sequence[Session],
    rows: Sequence[Judgment],
    board: Board | None,
) -> list[str]:
    notes = [_in_words(judge) for judge in _judges(store, rows)]
    if board is not None:
        notes += board.warnings
    silent = sum(row.judge == NO_REPLY_RULE for row in rows)
    if silent:
        notes.append(f"{silent} comparisons were decided by silence: nothing was heard from one side.")
    busy = {n: p for n, p in manifest.idle_cpu_percent.items() if p > IDLE_PERCENT}
    notes += [f"{name} used up to {percent:.0f} % of a core while it waited." for name, percent in sorted(busy.items())]
    notes += _uncertain_clocks(sessions)
    missing = {f.session for f in store.step_failures()}
    if missing:
        notes.append(
            f"{len(missing)} sessions could not be analysed, through no fault of their agents: `harness retime {store.folder}` "
            f"times them again, `harness run --resume --out {store.folder}` does the rest."
        )
    unfinished = len(manifest.context_ids) * len(manifest.agents) * len(manifest.conditions) * manifest.repeats - len(
        [s for s in sessions if s.status == "finished"]
    )
    if unfinished > 0:
        notes.append(
            f"{unfinished} of the planned sessions are not finished; `harness run --resume --out {store.folder}` plays them."
        )
    return notes


def _uncertain_clocks(sessions: Sequence[Session]) -> list[str]:
    """Agents elsewhere of whose figures some are smaller than what is known of their clock."""
    notes = []
    for name in sorted({s.key.agent for s in sessions}):
        doubtful = [t for s in sessions if s.key.agent == name for t in s.turn_timings if crosses_clocks_unsurely(t)]
        if doubtful:
            worst = max(t.waterfall.clock_uncertainty_ms for t in doubtful if t.waterfall is not None)
            notes.append(
                f"{name}: on {len(doubtful)} turns its clock is known to ±{worst:,.0f} ms at worst, more than what was measured "
                "across the two clocks (TTFT from the spoken end, endpointing): those figures say nothing. TTFA and TTFT are "
                "not concerned."
            )
    return notes


def _in_words(judge: JudgeSummary) -> str:
    accuracy = f"{judge.accuracy:.0%}" if judge.accuracy is not None else "an unknown share"
    lower = judge.accuracy_interval[0] if judge.accuracy_interval else None
    if lower is None or lower <= 0.5:
        verdict = "near chance, so its Elo says next to nothing"
    elif not judge.trusted:
        verdict = "not trusted"
    else:
        verdict = "trusted"
    flips = f"{judge.flip_rate:.0%}" if judge.flip_rate is not None else "unknown"
    return (
        f"Judge {judge.id}: right on {accuracy} of pairs with known answers, "
        f"changes its mind with the order on {flips}: {verdict}."
    )
