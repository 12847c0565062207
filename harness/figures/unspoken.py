"""The planned turns of a cell that were spoken, those that were not and why, and the share that the agent left unspoken.

The share is over the planned turns of the sessions that say how many they had. Turns that are ours are in neither number of it:
they say nothing about the agent. Its chances are turns, and those of a conversation stop together, so conversations are the
observations of its interval, as for every other share.
"""

from collections.abc import Iterator, Sequence

from harness.figures.cells import UNSPOKEN, AgentSummary, Failure
from harness.store.session import Session
from harness.store.unspoken import OURS, reasons_words, summed, unspoken_of


def unspoken_chances(sessions: Sequence[Session]) -> dict[str, list[bool]]:
    """Context → each planned turn that is not ours, and whether the agent left it unspoken. Empty where nobody planned."""
    found: dict[str, list[bool]] = {}
    for session in sessions:
        if session.planned_turns is None:
            continue
        left = unspoken_of(session)
        turns = left.turns if left is not None else 0
        ours = left is not None and left.why == OURS
        flags = [False] * (session.planned_turns - turns) + ([] if ours else [True] * turns)
        if flags:
            found.setdefault(session.key.context_id, []).extend(flags)
    return found


def spoken_of(sessions: Sequence[Session]) -> tuple[int, int] | None:
    """Turns that were spoken, and turns that were planned; None where nobody planned."""
    planned = [s for s in sessions if s.planned_turns is not None]
    of = sum(s.planned_turns or 0 for s in planned)
    return (of - sum(summed(map(unspoken_of, planned)).values()), of) if planned else None


def unspoken_share(sessions: Sequence[Session]) -> float | None:
    """The share of the planned turns that the agent left unspoken; None where nobody planned."""
    flags = [flag for group in unspoken_chances(sessions).values() for flag in group]
    return sum(flags) / len(flags) if flags else None


def cut_short(sessions: Sequence[Session]) -> Iterator[Failure]:
    """A row for each finished session with unspoken turns; a failed session has a row of its own already."""
    for session in sessions:
        left = unspoken_of(session) if session.status == "finished" else None
        if left is not None:
            key = session.key
            yield Failure(context=key.context_id, agent=key.agent, condition=key.condition, kind=UNSPOKEN, detail=left.words)


def unspoken_words(cell: AgentSummary) -> str:
    """The unspoken turns of a cell in a clause, with their reasons; empty where every planned turn was spoken."""
    if cell.spoken is None or not cell.unspoken:
        return ""
    spoken, of = cell.spoken
    return f"{spoken} of {of} turns spoken; unspoken: {reasons_words(cell.unspoken)}"
