"""Turns for which the share of others on the agent's machine was not measured, or not as it is today.

Without this, a figure would seem to owe nothing to others. So where nothing was measured, or an older run measured the whole
machine and no quota, the run states it. An agent elsewhere cannot be watched, and nothing is stated about it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from harness.store.manifest import AgentEntry
from harness.store.selection import NOT_TIMED
from harness.store.session import Session
from harness.wording import counted


class Unwatched(NamedTuple):
    """Counts of one agent's turns."""

    turns: int
    not_watched: int
    older: int
    """Counted over all cores of the machine, and without quotas."""


def unwatched(agents: Iterable[AgentEntry], sessions: Sequence[Session]) -> dict[str, Unwatched]:
    """Agent that ran here → its turns; without agents whose turns are all measured, or whose place is not stated."""
    found: dict[str, Unwatched] = {}
    for agent in agents:
        lost = [t.contention for s in sessions if s.key.agent == agent.name for t in s.turn_timings if t.method != NOT_TIMED]
        not_watched = sum(one is None for one in lost) if agent.runs_here else 0
        older = sum(one is not None and not one.at_most_ms for one in lost)
        if not_watched or older:
            found[agent.name] = Unwatched(len(lost), not_watched, older)
    return found


def unwatched_words(known: Mapping[str, Unwatched]) -> Iterator[str]:
    """One sentence for each agent and kind."""
    for name, (turns, not_watched, older) in sorted(known.items()):
        if not_watched:
            yield (
                f"On {not_watched} of {counted(turns, 'turn')} of {name} the time that others on its machine could have caused "
                "was not measured."
            )
        if older:
            yield (
                f"On {older} of {counted(turns, 'turn')} of {name} the time that others could have caused was counted "
                "over all cores of the machine and without quotas, by an older harness."
            )
