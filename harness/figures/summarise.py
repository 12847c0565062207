"""Summary of a run, made from its store: every figure that is shown anywhere is put together here, once.

Figures that a run is too small or too damaged to give are None, and what weakens the others is stated in `cautions`, which
go with the figures to the terminal, the page and the JSON.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness.figures.board_figures import board_summary, quality_figures, refusals, way_of
from harness.figures.cells import (
    Cell,
    Failure,
    JudgeSummary,
    MachineCell,
    PacingSummary,
    SessionFigures,
    Subset,
)
from harness.figures.circumstances import Circumstances, largest, odd_sound, onset_error, other_wires, swapped_words, unwatched
from harness.figures.endpointing import EndpointingSummary, endpointing_of
from harness.figures.events import EventRow, events_of
from harness.figures.judges import judge_summaries
from harness.figures.latency import turn_figures
from harness.figures.machine import clock_sentences, machines_of, sharing_sentences
from harness.figures.quality_state import state_of
from harness.figures.rank import Place, Rated, contexts_of, rated
from harness.figures.rated_on import RatedOn, rated_on
from harness.figures.reply_flags import FLAGS, TO_JUDGE, flags_of
from harness.figures.seat_figures import Seat, beside_seat, figures_over_persons, seat_summary, seats_of
from harness.figures.server_waits import server_waits
from harness.figures.session_figures import cut_short, heard_wer, spoken_of, understood_wer, unspoken_share
from harness.figures.speakers import by_speaker, speakers_of
from harness.figures.steps import by_stretch
from harness.figures.summary import RunSummary
from harness.judging.speaks_to_judge import speaks_to_judge
from harness.replies.phrases import opening_words
from harness.scenarios.context import Context, by_a_person
from harness.store.judgment import Judgment, is_rule, reference_name
from harness.store.judgment_table import JudgmentTable
from harness.store.manifest import PEOPLE, AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection, Turns, reply_of
from harness.store.session import Session, SessionKey
from harness.store.step_failure import StepFailure
from harness.store.unspoken import summed, unspoken_of
from harness.timing.figures import StagesFrom, crosses_clocks_unsurely
from harness.turn_taking.scores import length_gives_it_away, words_separation
from harness.wording import counted

_DRAWING = "drawing: "
"""First words of the detail of a failure of that step."""


def summarise(store: RunStore, votes: Sequence[Judgment] = ()) -> RunSummary:
    """Every figure of a run, from its store and the `votes` that are stored beside it (of a listening test)."""
    selection = Selection(store, votes)
    manifest = store.manifest
    boards = {place: rated(selection, place) for place in _places(selection)}
    quoted = {p.condition: b for p, b in boards.items() if (p.subset, p.presentation) == ("all", selection.quoted(p.condition))}
    main = selection.quoted_table({condition: selection.quoted(condition) for condition in quoted})
    judges = judge_summaries(selection)
    found = [
        board
        for place, rating in boards.items()
        if (board := board_summary(rating, place, _rated_on(selection, place), judges, way_of(selection, place))) is not None
    ]
    heard = Place(manifest.conditions[0], HEARD)
    seats = seats_of(selection)
    return RunSummary(
        run=str(store.folder),
        valid=not manifest.invalid,
        invalid=list(manifest.invalid),
        circumstances=_circumstances(selection, main, quoted),
        budgets_ms=manifest.budgets_ms,
        pacing=_pacing(manifest),
        calibration=manifest.calibration,
        machines=machines_of(manifest),
        judges=judges,
        cells=[cell for one in selection.by_step for cell in _cells(one, boards, judges, seats)],
        boards=found,
        seats=[seat_summary(selection, seat, quoted[seat.condition]) for seat in seats],
        way_to_people="" if found or manifest.calls is not None else way_of(selection, heard),
        people_refused=refusals(boards),
        by_machine=_by_machine(selection),
        failures=[_failure(s.key, s.failure_kind, s.failure_detail) for s in selection.sessions if s.failure_kind is not None]
        + [*cut_short(selection.sessions), *_listed(store.step_failures(), selection.sessions)],
    )


def with_drawing(summary: RunSummary, store: RunStore, failed: Sequence[StepFailure]) -> RunSummary:
    """The summary after the sessions of its page are drawn: it lists those that could not be drawn this time, and no others."""
    others = [f for f in summary.failures if not f.detail.startswith(_DRAWING)]
    if not failed and len(others) == len(summary.failures):
        return summary
    undrawn = {f.session for f in failed}
    broken = undrawn | {f.session for f in store.step_failures() if f.step != "drawing"}
    not_analysed = {str(store.folder): len(broken)} if broken else {}
    return summary.model_copy(
        update={
            "failures": [*others, *_listed(failed, store.sessions())],
            "circumstances": summary.circumstances.model_copy(update={"not_analysed": not_analysed}),
        }
    )


def _rated_on(selection: Selection, place: Place) -> RatedOn:
    return rated_on(selection.manifest, selection.sessions, place.condition, place.presentation)


def _failure(key: SessionKey, kind: str, detail: str) -> Failure:
    return Failure(context=key.context_id, agent=key.agent, condition=key.condition, kind=kind, detail=detail)


def _listed(failures: Sequence[StepFailure], sessions: Sequence[Session]) -> list[Failure]:
    """Sessions for which a step after the call failed: missing through no fault of their agent."""
    by_id = {s.id: s.key for s in sessions}
    return [_failure(key, f.kind, f"{f.step}: {f.detail}") for f in failures if (key := by_id.get(f.session)) is not None]


def _places(selection: Selection) -> list[Place]:
    """The boards of a run: per condition the heard one and every other that was judged; with subsets, where there are both."""
    subsets = {context.subset for context in selection.contexts}
    names: tuple[Subset, ...] = ("all", "regular", "adversarial") if len(subsets) > 1 else ("all",)
    return [
        Place(condition, presentation, subset)
        for condition in selection.conditions
        for presentation in dict.fromkeys((HEARD, *selection.presentations(condition)))
        for subset in names
    ]


def _cells(
    selection: Selection, boards: Mapping[Place, Rated], judges: Sequence[JudgeSummary], seats: Sequence[Seat]
) -> list[Cell]:
    found = []
    for place, rating in boards.items():
        sat = {seat.agent: seat for seat in seats if seat.condition == place.condition}
        whole = place.subset == "all" and place.presentation == selection.quoted(place.condition)
        for entry in selection.manifest.agents:
            if entry.seated and entry.name not in sat:
                continue  # Nobody sat there in this condition.
            cell = _cell(selection, entry, place, rating, judges)
            if entry.seated:
                over_persons = figures_over_persons(selection, sat[entry.name], contexts_of(selection, place), cell)
                cell = cell.model_copy(update=over_persons)
            elif whole and sat:
                cell = cell.model_copy(update={"beside_seat": beside_seat(selection, entry, seats, rating, place.condition)})
            found.append(cell)
    return found


def _cell(selection: Selection, entry: AgentEntry, place: Place, found: Rated, judges: Sequence[JudgeSummary]) -> Cell:
    inside = contexts_of(selection, place)
    if selection.step:  # A context that an older load test named is not stored.
        inside |= {s.key.context_id for s in selection.sessions}
    sessions = [s for s in selection.of(entry.name, place.condition) if s.key.context_id in inside]
    turns: Turns = {c: g for c, g in selection.turns(entry.name, place.condition).items() if c in inside}
    if selection.step:
        turns = by_stretch(sessions)
    spoken = entry.kind != "text"
    place_of_it = {
        "agent": entry.name, "condition": place.condition, "step": selection.step, "mode": selection.manifest.mode,
        "presentation": place.presentation, "subset": place.subset, "valid": not selection.manifest.invalid,
        "kind": entry.kind, "family": entry.family,
    }  # fmt: skip
    events = events_of(selection, entry.name, place.condition, inside) if spoken else []
    manifest, groups = selection.manifest, by_speaker(turns, speakers_of(selection.contexts))
    parts = (
        turn_figures(groups, budgets_ms=manifest.budgets_ms, seed=manifest.seed, spoken=spoken),
        endpointing_of(selection, entry.name, place.condition, inside) if spoken else EndpointingSummary(),
        quality_figures(found, entry.name, state_of(found.people, found.judges, judges)),
        _session_figures(sessions, turns, selection, events),
    )
    return Cell.model_validate(place_of_it | {name: value for part in parts for name, value in part})


def _session_figures(sessions: Sequence[Session], turns: Turns, selection: Selection, events: list[EventRow]) -> SessionFigures:
    contexts = {c.id: c for c in selection.contexts}
    heard = [reply.text for s in sessions if (reply := reply_of(s, HEARD)).fate == "answered"]
    openings = Counter(opening_words(text) for text in heard)
    planned = [s for s in sessions if s.planned_turns is not None]
    return SessionFigures(
        failed=sum(s.status == "failed" for s in sessions),
        spoken=spoken_of(sessions),
        unspoken=summed(map(unspoken_of, planned)),
        unspoken_share=unspoken_share(planned),
        events=events,
        servers=server_waits(turns, selection.manifest.seed),
        common_opening=(openings.most_common(1)[0][1], openings.total()) if openings else None,
        flags=_flags(sessions, contexts),
        understood_wer=understood_wer(sessions, contexts),
        heard_wer=heard_wer(sessions),
    )


def _flags(sessions: Sequence[Session], contexts: Mapping[str, Context]) -> dict[str, int]:
    """Replies that show each flag. In replay the pack's replies are nobody's, so a reply repeats only itself."""
    found: dict[str, int] = {}
    for session in sessions:
        context, reply = contexts.get(session.key.context_id), reply_of(session, HEARD)
        if context is None or reply.fate != "answered":
            continue
        turns = tuple(t for t in context.turns if t.role == "seeker") if session.key.mode == "replay" else context.turns
        shown = set(flags_of(turns, reply.text))
        if session.written_text and speaks_to_judge(session.written_text):
            shown.add(TO_JUDGE)  # judges may read what the agent wrote, too
        found = {name: found.get(name, 0) + (name in shown) for name in FLAGS}
    return found


def _pacing(manifest: RunManifest) -> PacingSummary:
    if manifest.pacing is None:
        return PacingSummary()
    return PacingSummary(p99_error_ms=manifest.pacing.p99_error_ms, realtime_ratio=manifest.pacing.realtime_ratio)


def _circumstances(selection: Selection, rows: JudgmentTable, rated_in: Mapping[str, Rated]) -> Circumstances:
    manifest, contexts = selection.manifest, selection.contexts
    verdicts = selection.store.judged_contexts()
    merged = manifest.fleet if manifest.fleet is not None and manifest.fleet.shard is None else None
    contexts_planned = manifest.planned_contexts if merged else manifest.context_ids
    planned = len(contexts_planned) * len(manifest.played) * len(manifest.conditions) * manifest.repeats
    calls = manifest.calls
    # A call that happened cannot be measured better by trying again.
    unfinished = planned - sum(s.status == "finished" or calls is not None for s in selection.of_the_plan)
    people = {reference_name(r.id) for c in contexts for r in c.references if by_a_person(r.author)}
    quoted = {condition: found.board for condition, found in rated_in.items() if found.board is not None}
    several = len(selection.conditions) > 1
    broken = {failure.session for failure in selection.store.step_failures()}
    spoken = any(agent.kind != "text" for agent in manifest.played)
    return Circumstances(
        contexts=frozenset(context.id for context in contexts),
        played=frozenset(s.key.context_id for s in selection.sessions),
        judged=frozenset(verdicts),
        verdicts=sum(verdicts.values()),
        ranking=tuple(f"{name}: {text}" if several else text for name, board in quoted.items() for text in board.warnings),
        silent=int(np.isin(rows["judge"], [k for k, name in enumerate(rows.judges) if is_rule(name)]).sum()),
        idle_percent=manifest.idle_cpu_percent,
        unfinished={str(selection.store.folder): unfinished} if unfinished > 0 else {},
        merged=frozenset({str(selection.store.folder)}) if merged else frozenset(),
        machines_differ=len(merged.kinds) if merged and len(merged.kinds) > 1 else 0,
        machines_pooled=merged is not None and merged.pool_machines,
        length_tells=tuple(unfit_callers(contexts, [manifest.mode])) if spoken else (),
        speakers=dict(speakers_of(contexts)),
        timing_alone=frozenset(context.id for context in contexts if context.timing_alone),
        calls={str(selection.store.folder): calls.source} if calls is not None else {},
        sides_swapped=tuple(swapped_words(manifest, selection.sessions)),
        other_language=calls.other_language if calls is not None else {},
        to_judge_again={str(selection.store.folder): note.text for note in selection.store.notes()},
        not_analysed={str(selection.store.folder): len(broken)} if broken else {},
        unsure_clocks=_unsure_clocks(selection.sessions),
        reported_stages=_reported_stages(selection.sessions),
        other_wires=other_wires(selection),
        odd_sound=odd_sound(selection),
        stalled=_stalled(selection.sessions),
        why_silent=_why_silent(selection.sessions),
        throttled=Counter(
            s.key.agent
            for s in selection.sessions
            for t in s.turn_timings
            if t.contention is not None and t.contention.throttled
        ),
        gpu_clocks=clock_sentences(manifest.cards),
        gpu_shared=sharing_sentences(manifest.cards),
        unwatched=unwatched(manifest.played, selection.sessions),
        spoken=spoken,
        onset_error=onset_error(manifest.calibration),
        not_calibrated=manifest.not_calibrated,
        human_baseline=any(r.system in people or r.system == PEOPLE for board in quoted.values() for r in board.systems),
    )


def _reported_stages(sessions: Sequence[Session]) -> dict[str, tuple[StagesFrom, float]]:
    """Agents whose stages do not come from their own marks: the source, and the worst resolution of a turn in ms."""
    found: dict[str, tuple[StagesFrom, float]] = {}
    for session in sessions:
        for turn in session.turn_timings:
            if turn.stages_from not in (None, "marks"):
                _, worst_ms = found.get(session.key.agent, (turn.stages_from, 0.0))
                found[session.key.agent] = turn.stages_from, max(worst_ms, turn.stages_resolution_ms or 0.0)
    return found


def _why_silent(sessions: Sequence[Session]) -> dict[str, str]:
    """Agent → the reason that its wire named most often for a turn without a reply, with the number of such turns."""
    named = Counter((s.key.agent, t.why_silent) for s in sessions for t in s.turn_timings if t.no_reply and t.why_silent)
    return {agent: f"{why} ({counted(turns, 'turn')})" for (agent, why), turns in reversed(named.most_common())}


def _stalled(sessions: Sequence[Session]) -> dict[str, tuple[int, float]]:
    """Agent → turns in which its stream of sound stalled, and the longest stall in ms."""
    found: dict[str, list[float]] = {}
    for session in sessions:
        found.setdefault(session.key.agent, []).extend(t.stalled_ms for t in session.turn_timings if t.stalled_ms is not None)
    return {agent: (len(stalls), max(stalls)) for agent, stalls in found.items() if stalls}


def _unsure_clocks(sessions: Sequence[Session]) -> dict[str, tuple[int, float]]:
    """Agents elsewhere with figures smaller than the uncertainty of their clock: turns, worst bound in ms."""
    found: dict[str, tuple[int, float]] = {}
    for session in sessions:
        for turn in session.turn_timings:
            if turn.waterfall is not None and crosses_clocks_unsurely(turn):
                turns, worst_ms = found.get(session.key.agent, (0, 0.0))
                found[session.key.agent] = turns + 1, max(worst_ms, turn.waterfall.clock_uncertainty_ms)
    return found


def _by_machine(selection: Selection) -> list[MachineCell]:
    """One row for each agent, condition and kind of machine; none where all machines are of one kind.

    The same agent answers sooner on a faster machine, so latencies of machines that differ are two figures and not one. Each is
    shown with the calibrated error of its machines, because that differs too.
    """
    fleet, manifest = selection.manifest.fleet, selection.manifest
    if fleet is None or len(fleet.kinds) < 2:
        return []
    rows: list[MachineCell] = []
    speakers = speakers_of(selection.contexts)
    for kind, names in fleet.kinds.items():
        here = Selection(selection.store, machines=frozenset(names))
        parts = [part for name in names for part in fleet.machines[name].parts.values()]
        error = largest([onset_error(part.calibration) for part in parts])
        pacing = [part.pacing.p99_error_ms for part in parts if part.pacing is not None]
        for entry in manifest.played:
            for condition in selection.conditions:
                spoken = entry.kind != "text"
                turns = by_speaker(here.turns(entry.name, condition), speakers)
                found = turn_figures(turns, budgets_ms=manifest.budgets_ms, seed=manifest.seed, spoken=spoken)
                rows.append(
                    MachineCell(
                        agent=entry.name,
                        condition=condition,
                        machine=kind,
                        machines=len(names),
                        **{name: value for name, value in found if name in MachineCell.model_fields},
                        measurement_error_ms=error.within_ms if error is not None and spoken else None,
                        pacing_p99_error_ms=max(pacing, default=None) if spoken else None,
                    )
                )
    return sorted(rows, key=lambda row: (row.agent, row.condition, row.machine))


def unfit_callers(contexts: Sequence[Context], modes: Sequence[str]) -> Iterator[str]:
    """A sentence or two for each way of playing whose turns give their end away by length: a run that must not be compared.

    It is computed from the contexts as they were played, so that it covers a run of any pack, or of a part of one.
    """
    for mode in dict.fromkeys(modes):
        if said := length_gives_it_away(words_separation(contexts, every_turn=mode == "replay")):
            turns = "all the callers' turns" if mode == "replay" else "the last turns"
            yield f"{said} Measured on {turns} of {counted(len(contexts), 'conversation')}."
