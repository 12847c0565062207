"""The table of a run's turns, from its selection. No other module makes rows of a stored run."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from harness.scenarios.speakers import speaker_of
from harness.store.selection import Selection
from harness.timeline import NS_PER_MS
from harness.timing.figures import TurnTiming
from harness.turns.table import TurnKey, TurnTable


def table_of_run(selection: Selection) -> TurnTable:
    """Every timed turn of a run, a lost session as one turn that ranks slowest."""
    table = TurnTable.of(_rows(selection), selection.manifest.budgets_ms)
    return table.in_stretches() if selection.manifest.load is not None else table


def _rows(selection: Selection) -> Iterator[tuple[TurnKey, TurnTiming]]:
    speakers = {context.id: bunch_of(context.id, context.source) for context in selection.contexts}
    for entry in selection.manifest.agents:
        for condition in selection.conditions:
            for session, turns in selection.timed(entry.name, condition):
                key = TurnKey(
                    agent=entry.name,
                    context=session.key.context_id,
                    run=str(selection.store.folder),
                    condition=condition,
                    step=session.key.step,
                    mode=session.key.mode,
                    repeat=str(session.key.repeat),
                    speaker=speakers.get(session.key.context_id, ""),
                    machine=session.machine,
                    session=session.id,
                )
                yield from at_their_ends(key, session.started_ns, turns)


def at_their_ends(key: TurnKey, started_ns: int | None, turns: Iterable[TurnTiming]) -> Iterator[tuple[TurnKey, TurnTiming]]:
    """The rows of a session that started then, each at the end of its caller's words."""
    for turn in turns:
        yield replace(key, began_ns=(started_ns or 0) + round(turn.spoken_end_ms * NS_PER_MS)), turn


def bunch_of(context: str, source: str) -> str:
    """The name of the cluster of a context: its speaker if its source names one, else the context itself."""
    speaker = speaker_of(source)
    if speaker is None:
        return context
    # No context's id has a space, so no speaker is taken for one.
    return f"automatic speaker {speaker.name}" if speaker.automatic else f"speaker {speaker.name}"
