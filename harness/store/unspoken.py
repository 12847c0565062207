"""Planned turns of a caller that were never spoken, with the reason: each planned turn of a call ends somewhere.

A call that ends early has fewer turns than its conversation. Its figures are of the turns that were spoken, so without a count
of the others an agent that hangs up after its first answer would be as good as one that carries on to the end.

A session that failed through the agent's fault has one lost turn among the figures (`Selection.turns`). That turn is the last
one that was begun, or the first one where none was; only those after it are unspoken, so that none counts twice.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from harness.store.selection import is_agents_fault
from harness.store.session import Session

Reason = Literal["agent hung up", "no reply", "length", "failed", "ours"]
OURS: Final = "ours"
"""The reason that says nothing about the agent."""
BECAUSE: Final[dict[Reason, str]] = {
    "agent hung up": "because the agent hung up",
    "no reply": "because the agent did not answer the turn before",
    "length": "because the call was over its length",
    "failed": "because the session failed",
    "ours": "through no fault of the agent",
}
"""Reason → its words, where only the number of turns is known."""
_AFTER: Final[dict[Reason, str]] = {
    "agent hung up": "the agent hung up after turn {}",
    "no reply": "the agent did not answer turn {}",
    "length": "the call was over its length in the reply to turn {}",
    "failed": "the session failed in turn {}",
    "ours": "cut short through no fault of the agent",
}
"""The same of one call, with the number of the last turn that was spoken."""
_ENDED: Final[dict[str, Reason]] = {
    "closed": "agent hung up",
    "closed_early": "agent hung up",
    "hung_up": "agent hung up",
    "agent_died": "agent hung up",
    "no_reply": "no reply",
    "limit": "length",
}


@dataclass(frozen=True, slots=True)
class Unspoken:
    """The unspoken turns of one session: their number, of so many planned ones, and the reason."""

    turns: int
    of: int
    why: Reason

    @property
    def words(self) -> str:
        """The facts in a clause: `1 of 3 turns spoken: the agent hung up after turn 1`."""
        spoken = self.of - self.turns
        return f"{spoken} of {self.of} turns spoken: {_AFTER[self.why].format(spoken)}"


def unspoken(planned: int | None, spoken: int, ended: str, failure_kind: str | None = None) -> Unspoken | None:
    """The unspoken turns of a call; None where every planned turn was spoken, or nobody planned.

    Args:
        spoken: planned turns that were begun.
        ended: `Recording.ended`. An end that is not known to be the agent's is ours.
        failure_kind: that of the session; None for one that is finished.
    """
    if planned is None:
        return None
    if is_agents_fault(failure_kind):
        spoken = max(spoken, 1)
    if spoken >= planned:
        return None
    if failure_kind is not None:
        why: Reason = _ENDED.get(failure_kind, "failed") if is_agents_fault(failure_kind) else "ours"
    else:
        why = _ENDED.get(ended, "ours")
    return Unspoken(planned - spoken, planned, why)


def summed(found: Iterable[Unspoken | None]) -> dict[Reason, int]:
    """Reason → unspoken turns, over many sessions."""
    turns: Counter[Reason] = Counter()
    for left in filter(None, found):
        turns[left.why] += left.turns
    return dict(turns)


def unspoken_of(session: Session) -> Unspoken | None:
    """The unspoken turns of a stored session; None where there are none, or it does not say.

    A turn that was not answered while others had most of the agent's processors is not certainly the agent's (`reply_of`), so
    the turns after it are not either.
    """
    found = unspoken(session.planned_turns, session.spoken_turns or 0, session.ended or "", session.failure_kind)
    if found is not None and found.why == "no reply" and session.timing is not None and session.timing.silence_may_be_others:
        return Unspoken(found.turns, found.of, "ours")
    return found


def reasons_words(turns: Mapping[Reason, int]) -> str:
    """Unspoken turns with their reasons in words: `2 because the agent hung up`."""
    return ", ".join(f"{count} {BECAUSE[why]}" for why, count in turns.items())
