"""The replies of a run that are judged together: each repeat of each condition is a batch of its own.

A reply over a bad line is never compared with one over a good line, and a context has one reply of each agent in a batch. A
further person who answered in the supporter's seat meets the agents' replies again, and there only pairs with people are new.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from harness.judging import Completion, reference_completions
from harness.scenarios.context import Context
from harness.store.judgment import Presentation
from harness.store.run_store import RunStore
from harness.store.selection import Reply, Selection
from harness.store.step_failure import StepFailure, attempt
from harness.verdicts.conversations import conversation_of
from harness.verdicts.heard import clip_of, pairs


@dataclass(frozen=True, slots=True)
class Batch:
    """The replies judged together: one repeat of one condition, in which a context has one reply of each agent."""

    condition: str
    replicate: int
    competing: tuple[Completion, ...]
    sessions: Mapping[tuple[str, str], str]
    """(context, agent) → the session of the reply."""
    unfit: tuple[StepFailure, ...] = ()
    """Sessions that cannot be shown to a judge."""
    between: frozenset[str] = frozenset()
    """Systems of which each pair has exactly one; none: every pair is asked."""
    without_sound: int = 0
    """Pairs left out because a judge that hears needs two sounds."""


def batches_of(store: RunStore, presentation: Presentation) -> list[Batch]:
    """The batches of a run. Conditions are separate: a reply over a bad line is never compared with one over a good line.

    Empty if no agent answered anywhere: references alone need no comparison.
    """
    selection = Selection(store)
    references = reference_completions(store.contexts())
    found, answered = [], False
    for condition in selection.conditions:
        for n in selection.replicates:
            competing, sessions, unfit = _put_up(selection, condition, n, presentation)
            if between := selection.seat_alone(n):
                # A lent reply was judged in its own repeat; what became of it there stays.
                sessions = {place: session for place, session in sessions.items() if place[1] in between}
                unfit = [failure for failure in unfit if failure.session in sessions.values()]
            answered |= any(not c.lost for c in competing)
            if competing:
                played = {c.context_id for c in competing}
                rivals = (r for r in references if r.context_id in played)
                found.append(Batch(condition, n, (*competing, *rivals), sessions, tuple(unfit), between))
    if presentation == "audio":
        speaks = frozenset(agent.name for agent in selection.manifest.agents if agent.kind != "text")
        found = [_heard(batch, speaks) for batch in found]
        answered = any(pairs(batch.competing, batch.between) for batch in found)
    return found if answered else []


def _heard(batch: Batch, speaks: frozenset[str]) -> Batch:
    """The batch without the replies that have no sound. A speaking agent's that was lost stays: a rule decides its pairs."""
    heard = tuple(c for c in batch.competing if c.system in speaks and (c.lost or c.sound is not None))
    without = pairs(batch.competing, batch.between) - pairs(heard, batch.between)
    return replace(batch, competing=heard, without_sound=without)


def competitors(selection: Selection, condition: str, replicate: int, presentation: Presentation) -> list[Completion]:
    """The agents' replies in one condition and repeat, with those that were lost. A replayed reply comes
    with the conversation that it really answers; a session that cannot be shown to a judge is left out."""
    return _put_up(selection, condition, replicate, presentation)[0]


def _put_up(
    selection: Selection, condition: str, replicate: int, presentation: Presentation
) -> tuple[list[Completion], dict[tuple[str, str], str], list[StepFailure]]:
    """The replies, their sessions by (context, agent), and the sessions that cannot be shown to a judge."""
    contexts = {context.id: context for context in selection.store.contexts()}
    families = {agent.name: agent.family for agent in selection.manifest.agents}
    competing: list[Completion] = []
    sessions: dict[tuple[str, str], str] = {}
    unfit: list[StepFailure] = []
    for reply in selection.replies(condition, replicate, presentation):
        key = reply.session.key
        if reply.fate == "missing" or contexts[key.context_id].timing_alone:
            continue
        found = attempt(reply.session.id, "judging", partial(_laid_out, reply, contexts, families.get(key.agent)))
        sessions[key.context_id, key.agent] = reply.session.id
        if isinstance(found, StepFailure):
            unfit.append(found)
        else:
            sound = clip_of(selection.store, reply.session) if presentation == "audio" and not found.lost else None
            competing.append(replace(found, sound=sound))
    return competing, sessions, unfit


def _laid_out(reply: Reply, contexts: Mapping[str, Context], family: str | None) -> Completion:
    key = reply.session.key
    turns = conversation_of(reply.session, contexts[key.context_id]) if reply.fate == "answered" else None
    return Completion(key.context_id, key.agent, reply.text, family, turns, lost=reply.why)
