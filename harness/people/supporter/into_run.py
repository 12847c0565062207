"""People's replies as sessions of the run whose callers they answered.

A run of their own would need to be matched with the agents' conversation by conversation, by every step from timing to the
chart. As sessions of the run itself they go through the very same code: one agent `people`, whose repeats are different
persons. What a program said in the seat goes under another agent, `rehearsal`, and is nowhere called people.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from harness.audio.vocal import VocalDetector, silero
from harness.errors import UserError
from harness.measuring.timings import keep_timings, timings_of
from harness.measuring.transcribe import Transcribe, transcribe_all
from harness.progress import RunProgress
from harness.recording.files import save
from harness.recording.from_seat import SeatTake, recording_of
from harness.recording.sitting import Sitting, save_sitting
from harness.scenarios.pack import context_hash
from harness.store.manifest import SEAT_KINDS, AgentEntry
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.store.session import Session, SessionKey

CONDITION: Final = "clean"
"""The seat has headphones and no line."""
MOST_CONTEXTS: Final = 3
"""Conversations that one person answers (HEART 9.3: three of twelve)."""


@dataclass(frozen=True, slots=True)
class PersonsReply:
    """One reply that its speaker chose to keep. `sitting.lost_ms` is taken from the take."""

    context: str
    take: SeatTake
    sitting: Sitting


def refuse_run(store: RunStore) -> None:
    """Check that people can answer the callers of a run.

    Raises:
        UserError: they cannot; one line with the reason.
    """
    manifest = store.manifest
    if manifest.mode != "seeded":
        raise UserError(
            f"{store.folder}: is a replay, in which every agent has a conversation of its own, and people answer the same one; "
            "play the pack with --mode seeded"
        )
    if CONDITION not in manifest.conditions:
        raise UserError(
            f"{store.folder}: was played in {', '.join(manifest.conditions)}, and people answer over no line; play it with "
            f"--condition {CONDITION} too"
        )
    taken = [agent.name for agent in manifest.played if agent.name in SEAT_KINDS.values()]
    if taken:
        raise UserError(f"{store.folder}: has an agent named {taken[0]}, which is people's name; play it under another name")


def add_people(
    store: RunStore,
    replies: Iterable[PersonsReply],
    progress: RunProgress,
    *,
    transcribe: Transcribe | None = None,
    vocal: VocalDetector | None = None,
) -> tuple[Session, ...]:
    """Add replies to the run, time and transcribe them as agents' replies are; returns the sessions of those that are new.

    A take that the run has already is not added again, so this may be repeated after a kill at any time. `replies` are read
    under the run's lock, which a withdrawal takes too, so that nobody who withdrew meanwhile is added. `transcribe`: the run's
    own transcriber unless another is given.

    Raises:
        UserError: the run can have no people, another process is writing it, or a reply is to none of its contexts, by a person
            who answered that context before, or beyond a person's `MOST_CONTEXTS`; nothing of these replies was added.
    """
    refuse_run(store)
    with store.lock():
        every = tuple(replies)
        if not every:
            return ()
        given = _new(store, every)
        _enter(store, {reply.sitting.automatic for reply in given})
        ids = [_commit(store, reply) for reply in given]
        detector = vocal or silero()
        waiting = [s for s in Selection(store).of_the_seat if s.timing is None]
        for session in waiting:
            found = timings_of(
                session.id, partial(store.recording, session), lambda: None, detector, partial(store.sitting, session)
            )
            keep_timings(store, session.id, found)
        transcribe_all(store, progress, transcribe)
    return tuple(store.session(name) for name in ids)


def _new(store: RunStore, replies: Sequence[PersonsReply]) -> list[PersonsReply]:
    """The replies whose takes the run does not have.

    Raises UserError: one that it cannot have.
    """
    known = {context.id for context in store.contexts_as_played()}
    sittings = [(s.key.context_id, sitting) for s in Selection(store).of_the_seat if (sitting := store.sitting(s)) is not None]
    takes = {sitting.take for _, sitting in sittings}
    answered = {(sitting.automatic, sitting.person, context) for context, sitting in sittings}
    found = []
    for reply in replies:
        seat = reply.sitting
        if seat.take in takes:
            continue
        if reply.context not in known:
            raise UserError(f"{store.folder}: has no conversation {reply.context}; name the run whose callers were answered")
        mine = {context for automatic, person, context in answered if (automatic, person) == (seat.automatic, seat.person)}
        if reply.context in mine:
            raise UserError(f"{seat.person} has answered {reply.context} in {store.folder}; nobody answers one twice")
        if len(mine) >= MOST_CONTEXTS:
            raise UserError(f"{seat.person} has answered {MOST_CONTEXTS} conversations of {store.folder}, the most for one")
        answered.add((seat.automatic, seat.person, reply.context))
        takes.add(seat.take)
        found.append(reply)
    return found


def _enter(store: RunStore, kinds: Collection[bool]) -> None:
    """Add the seat's agents to the manifest. Before their sessions, so that a kill leaves no session of an unknown agent."""
    manifest = store.manifest
    new = [_entry(automatic) for automatic in sorted(kinds) if _entry(automatic).name not in manifest.seated]
    if new:
        store.set_manifest(manifest.model_copy(update={"agents": [*manifest.agents, *new]}))


def _entry(automatic: bool) -> AgentEntry:
    kind = "automatic" if automatic else "person"
    # A hash in the place of a profile's: it says only which of the two this is, and is the same in every run.
    kind_hash = hashlib.sha256(kind.encode()).hexdigest()
    return AgentEntry(name=SEAT_KINDS[kind], kind=kind, profile_hash=kind_hash, profile_text="", runs_here=False)


def _commit(store: RunStore, reply: PersonsReply) -> str:
    entry = _entry(reply.sitting.automatic)
    context = next(c for c in store.contexts_as_played() if c.id == reply.context)
    mine = (s.key for s in Selection(store).of_the_seat)
    taken = {key.repeat for key in mine if (key.agent, key.context_id) == (entry.name, reply.context)}
    key = SessionKey(
        context_id=reply.context,
        context_hash=context_hash(context),
        agent=entry.name,
        profile_hash=entry.profile_hash,
        mode=store.manifest.mode,
        condition=CONDITION,
        repeat=next(number for number in range(len(taken) + 1) if number not in taken),
    )
    folder = store.partial_folder(key)
    # First, or a kill could leave a voice without the name by which its speaker withdraws it.
    save_sitting(replace(reply.sitting, lost_ms=reply.take.lost_ms), folder)
    save(recording_of(reply.take), folder)
    return store.commit_session(key, partial=folder).id
