"""The table of a run's turns, from its selection. No other module makes rows of a stored run."""

from collections.abc import Iterator
from dataclasses import replace

from harness.store.run_store import RunStore
from harness.store.selection import Selection, is_agents_fault
from harness.store.session import Session, UnrecordedCall
from harness.timeline import NS_PER_MS
from harness.timing.figures import TurnTiming
from harness.turns.speakers import bunch_of, speakers_of
from harness.turns.table import TurnKey, TurnTable


def table_of_run(selection: Selection) -> TurnTable:
    """Every timed turn of a run, a lost session as one turn that ranks slowest."""
    if selection.manifest.load is not None:
        return TurnTable.of(_rows_of_steps(selection.store), selection.manifest.budgets_ms).in_stretches()
    return TurnTable.of(_rows(selection), selection.manifest.budgets_ms)


def _rows(selection: Selection) -> Iterator[tuple[TurnKey, TurnTiming]]:
    speakers = speakers_of(selection.contexts)
    for entry in selection.manifest.agents:
        for condition in selection.conditions:
            for session, turns in selection.timed(entry.name, condition):
                key = TurnKey(
                    agent=entry.name,
                    context=session.key.context_id,
                    run=str(selection.store.folder),
                    condition=condition,
                    mode=session.key.mode,
                    repeat=str(session.key.repeat),
                    speaker=bunch_of(session.key.context_id, speakers),
                    machine=session.machine,
                    session=session.id,
                )
                yield from ((replace(key, began_ns=_end_ns(session.started_ns, turn)), turn) for turn in turns)


def _rows_of_steps(store: RunStore) -> Iterator[tuple[TurnKey, TurnTiming]]:
    part = store.manifest.load
    for step in part.steps if part is not None else ():
        for call in store.calls_of(step.name):
            yield from rows_of_call(call)


def rows_of_call(call: Session | UnrecordedCall) -> Iterator[tuple[TurnKey, TurnTiming]]:
    """The rows of a call of a load test; none of one that failed through nobody knows whose fault."""
    key = call.key
    if call.failure_kind is None or is_agents_fault(call.failure_kind):
        own = TurnKey(
            key.agent, key.context_id, condition=key.condition, step=key.step, mode=key.mode, repeat=str(key.repeat),
            session=key.session_id,
        )  # fmt: skip
        yield from ((replace(own, began_ns=_end_ns(call.started_ns, turn)), turn) for turn in call.turn_timings)


def _end_ns(started_ns: int | None, turn: TurnTiming) -> int:
    """The end of the caller's words."""
    return (started_ns or 0) + round(turn.spoken_end_ms * NS_PER_MS)
