"""Summary of a run, made from its store: every figure that is shown anywhere is put together here, once.

Figures that a run is too small or too damaged to give are None, and what weakens the others is stated in `cautions`, which
go with the figures to the terminal, the page and the JSON.
"""

from collections.abc import Mapping, Sequence

from harness.figures.board_figures import board_summary, quality_figures, refusals, way_of
from harness.figures.cells import (
    Cell,
    Failure,
    JudgeSummary,
    MachineCell,
    PacingSummary,
    Subset,
)
from harness.figures.circumstances import circumstances_of, largest, onset_error
from harness.figures.duplex import duplex_figures
from harness.figures.endpointing import EndpointingSummary, endpointing_of
from harness.figures.events import events_of
from harness.figures.head_to_head import preferred
from harness.figures.judges import judge_summaries
from harness.figures.latency import turn_figures
from harness.figures.machine import machines_of
from harness.figures.one_reply import is_one_for_all
from harness.figures.quality_state import state_of
from harness.figures.rank import Place, Rated, contexts_of, rated
from harness.figures.rated_on import rated_on
from harness.figures.seat_figures import Seat, beside_seat, figures_over_persons, seat_summary, seats_of
from harness.figures.session_figures import cut_short, session_figures
from harness.figures.steps import by_stretch
from harness.figures.summary import RunSummary
from harness.store.judgment import Judgment
from harness.store.manifest import AgentEntry
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection, Turns
from harness.store.session import Session, SessionKey
from harness.store.step_failure import StepFailure
from harness.turns.speakers import by_speaker, speakers_of

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
    made = {place: rated_on(manifest, selection.sessions, place.condition, place.presentation) for place in boards}
    ways = {place: way_of(selection, place, rated=one.people is not None) for place, one in boards.items()}
    each = [board_summary(one, place, made[place], judges, ways[place]) for place, one in boards.items()]
    found = [board for board in each if board is not None]
    heard = Place(manifest.conditions[0], HEARD)
    seats = seats_of(selection)
    return RunSummary(
        run=str(store.folder),
        valid=not manifest.invalid,
        invalid=list(manifest.invalid),
        circumstances=circumstances_of(selection, main, {c: b.board for c, b in quoted.items() if b.board is not None}),
        budgets_ms=manifest.budgets_ms,
        pacing=PacingSummary(**manifest.pacing.model_dump(include=set(PacingSummary.model_fields)) if manifest.pacing else {}),
        calibration=manifest.calibration,
        machines=machines_of(manifest),
        judges=judges,
        cells=[cell for one in selection.by_step for cell in _cells(one, boards, judges, seats)],
        boards=found,
        head_to_head=preferred(selection),
        seats=[seat_summary(selection, seat, quoted[seat.condition]) for seat in seats],
        way_to_people="" if any(board.quotable for board in found) or manifest.calls is not None else way_of(selection, heard),
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
    manifest, groups = selection.manifest, by_speaker(turns, speakers_of(selection.contexts))
    place_of_it = {
        "agent": entry.name, "condition": place.condition, "step": selection.step, "mode": manifest.mode,
        "presentation": place.presentation, "subset": place.subset, "valid": not manifest.invalid,
        "kind": entry.kind, "family": entry.family, "duplex": duplex_figures(groups),
    }  # fmt: skip
    events = events_of(selection, entry.name, place.condition, inside) if spoken else []
    of_sessions = session_figures(sessions, turns, selection, events)
    same = is_one_for_all(of_sessions.commonest_reply)
    parts = (
        turn_figures(groups, budgets_ms=manifest.budgets_ms, seed=manifest.seed, spoken=spoken),
        endpointing_of(selection, entry.name, place.condition, inside) if spoken else EndpointingSummary(),
        quality_figures(found, entry.name, state_of(found.people, found.judges, judges), one_for_all=same),
        of_sessions,
    )
    return Cell.model_validate(place_of_it | {name: value for part in parts for name, value in part})


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
