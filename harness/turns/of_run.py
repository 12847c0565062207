"""The table of a run's turns, from its selection. No other module makes rows of a stored run."""

from collections.abc import Iterator

from harness.scenarios.speakers import speaker_of
from harness.store.selection import Selection
from harness.timing.figures import TurnTiming
from harness.turns.table import TurnKey, TurnTable


def table_of_run(selection: Selection) -> TurnTable:
    """Every timed turn of a run, a lost session as one turn that ranks slowest."""
    return TurnTable.of(_rows(selection), selection.manifest.budgets_ms)


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
                    mode=session.key.mode,
                    repeat=str(session.key.repeat),
                    speaker=speakers.get(session.key.context_id, ""),
                    machine=session.machine,
                    session=session.id,
                    began_ns=session.started_ns or 0,
                )
                yield from ((key, turn) for turn in turns)


def bunch_of(context: str, source: str) -> str:
    """The name of the cluster of a context: its speaker if its source names one, else the context itself."""
    speaker = speaker_of(source)
    if speaker is None:
        return context
    # No context's id has a space, so no speaker is taken for one.
    return f"automatic speaker {speaker.name}" if speaker.automatic else f"speaker {speaker.name}"
