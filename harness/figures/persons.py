"""Which person gave which reply: one system `people` is as many persons as sat there, known by their sittings' pseudonyms."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from harness.recording.sitting import Sitting
from harness.store.judgment import Judgment
from harness.store.manifest import PEOPLE
from harness.store.selection import Selection
from harness.store.session import Session

PERSON: Final = "human:"
"""Prefix of a person's name among systems."""
Given = tuple[tuple[Session, Sitting], ...]


def given_by(selection: Selection, agent: str, condition: str) -> Given:
    """The replies of one of the seat's agents in a condition, each with its sitting."""
    sittings = ((session, selection.store.sitting(session)) for session in selection.of(agent, condition))
    return tuple((session, sitting) for session, sitting in sittings if sitting is not None)


def persons_of(given: Given) -> dict[tuple[str, int], str]:
    """(context, repeat) → the person whose reply that is."""
    return {(session.key.context_id, session.key.repeat): sitting.person for session, sitting in given}


def by_person(selection: Selection, condition: str, agents: Iterable[str] | None = None) -> Callable[[Judgment], Judgment]:
    """A function that gives a verdict with each person as a system of their own. `agents`: default, people alone."""
    names = [name for name in selection.manifest.seated if name == PEOPLE] if agents is None else list(agents)
    known: Mapping[str, Mapping[tuple[str, int], str]] = {
        name: persons_of(given_by(selection, name, condition)) for name in names
    }

    def named(row: Judgment) -> Judgment:
        place = row.context, row.replicate
        sides = {
            side: PERSON + known[system][place]
            for side in ("system_a", "system_b")
            if (system := getattr(row, side)) in known and place in known[system]
        }
        return row.model_copy(update=sides) if sides else row

    return named
