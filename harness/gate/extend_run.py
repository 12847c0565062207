"""Play more conversations of a run's own pack, until a question about it is settled or the time is up.

A run is grown, and not played again: the further conversations follow those it has in the order of the pack, and every finished
session stays. They are played in batches, because each look at the figures costs a part of the error that the gate may make;
each batch is half as large as the run, or as large as the question seems to need. The pace so far says how many conversations
the time that is left has room for, so a batch is not begun that would not end in it.

Sessions in which the harness was at fault (frames left late, others held the machine) are the one exception: they make a run
invalid, so that nothing could ever be told from it, and are played again before anything else.
"""

import time
from collections.abc import Callable, Collection
from itertools import pairwise, takewhile
from typing import Final

import numpy as np

from harness.errors import AgentError, UserError
from harness.figures.validity import sessions_at_fault
from harness.gate.check import CheckResult
from harness.progress import RunProgress
from harness.run.phases import RunRequest, Votes, no_votes, run
from harness.run.plan import RunPlan, asked_of, make_plan, refuse_changes
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.wording import command, counted

GROWTH: Final = 0.5
"""Of the conversations so far, in a batch of which it is not known how many are needed: ten looks then grow it 38-fold."""
RESERVE: Final = 1.25
"""Starting agents, transcribing and judging come on top of the calls; with small models they took under a quarter of the
time."""


def plan_to_grow(store: RunStore) -> RunPlan:
    """The run's own plan on the whole of its pack.

    Raises:
        UserError: the pack, an agent or a setting is not what the run began with.
    """
    manifest = store.manifest
    if manifest.fleet is not None:
        raise UserError(f"{store.folder}: is of a plan for many machines, and only a run of its own can grow")
    began, _ = asked_of(manifest)
    refuse_changes(make_plan(began), manifest, store.contexts_as_played())
    return make_plan(began.model_copy(update={"limit": None}))


def seconds_a_conversation(store: RunStore) -> float | None:
    """How long one conversation of the run took with all its agents, conditions and repeats; None with too few to say."""
    manifest = store.manifest
    began = sorted(s.started_ns for s in Selection(store).sessions if s.started_ns is not None)
    gaps = [(later - earlier) / 1e9 for earlier, later in pairwise(began)]
    if not gaps:
        return None
    # The median leaves out the breaks of a run that was stopped and resumed.
    return float(np.median(gaps)) * len(manifest.agents) * len(manifest.conditions) * manifest.repeats


def next_batch(result: CheckResult, left_in_pack: int, room_for: float | None) -> int:
    """How many conversations to play before the next look. `room_for`: those that the time has room for, None: not known."""
    wanted = max(result.more_needed or 0, int(np.ceil(GROWTH * result.contexts)), 1)
    return min(wanted, left_in_pack, *([] if room_for is None else [int(room_for)]))


def play_until_clear(
    store: RunStore,
    look_again: Callable[[RunStore, int], CheckResult],
    *,
    minutes: float,
    judges: tuple[str, ...],
    progress: RunProgress,
    votes: Votes = no_votes,
    only: Collection[str] | None = None,
) -> tuple[RunStore, CheckResult, str]:
    """Look, play on, look again. Returns the store that is open, the last look, and why it ended there.

    Args:
        only: conversations that may be played (those that a baseline has too); None: all of the pack.

    Raises:
        UserError: the run cannot be gone on with.
        AgentError: no session of a batch could be finished; what was played is kept.
    """
    ends_s = time.monotonic() + 60 * minutes
    look, result = 1, look_again(store, 1)
    if result.verdict != "cannot tell":
        return store, result, "it is clear"
    pack = plan_to_grow(store)
    while result.verdict == "cannot tell":
        if result.invalid:
            again, why_not = _to_play_again(store, ends_s - time.monotonic(), votes)
            if not again:
                return store, result, why_not
            progress.note(f"Playing {counted(len(again), 'session')} again: the harness was at fault in them, not the agent")
            store = _grown(store, pack, 0, judges, progress, votes, again)
            # An invalid run decides nothing, so this look has spent nothing.
            result = look_again(store, look)
            continue
        have = len(store.manifest.context_ids)
        more = tuple(takewhile(lambda c: only is None or c.id in only, pack.contexts[have:]))
        if not more:
            whose = f"pack {pack.pack.name}" if have == len(pack.contexts) else "the baseline"
            return store, result, f"{whose} has no further conversation"
        if all(c.decision is None for c in result.checked if c.verdict == "cannot tell"):
            return store, result, "more conversations would not give it the figures that it lacks"
        pace_s = seconds_a_conversation(store)
        left_s = ends_s - time.monotonic()
        batch = next_batch(result, len(more), left_s / (RESERVE * pace_s) if pace_s else None)
        if batch < 1 or left_s <= 0:
            return store, result, f"the {minutes:g} minutes have no room for another conversation"
        progress.note(f"Cannot tell yet; playing {batch} more of {len(more)} conversations (look {look + 1} follows)")
        store = _grown(store, pack, batch, judges, progress, votes)
        look += 1
        result = look_again(store, look)
    return store, result, "it is clear"


def _to_play_again(store: RunStore, left_s: float, votes: Votes) -> tuple[frozenset[str], str]:
    """Sessions in which the harness was at fault, as many as the time has room for; and why there is none.

    A reply that people have voted on stays: their votes are about that very sound.
    """
    voted = {(row.context, side) for row in (*votes(store), *store.judgments()) if row.source == "human"
             for side in (row.system_a, row.system_b)}  # fmt: skip
    sessions = {s.id: s for s in Selection(store).sessions}
    at_fault = sorted(i for i in sessions_at_fault(store) if (sessions[i].key.context_id, sessions[i].key.agent) not in voted)
    if not at_fault:
        return frozenset(), "the run is invalid, and no session of it can be played again"
    pace_s = seconds_a_conversation(store)
    a_conversation = len(store.manifest.agents) * len(store.manifest.conditions) * store.manifest.repeats
    room = len(at_fault) if pace_s is None else int(left_s * a_conversation / (RESERVE * pace_s))
    if left_s <= 0 or room < 1:
        return frozenset(), (
            f"the time has no room to play again {counted(len(at_fault), 'session')} in which the harness was at fault"
        )
    return frozenset(at_fault[:room]), ""


def _grown(
    store: RunStore,
    pack: RunPlan,
    batch: int,
    judges: tuple[str, ...],
    progress: RunProgress,
    votes: Votes,
    again: frozenset[str] = frozenset(),
) -> RunStore:
    have, folder = len(store.manifest.context_ids), store.folder
    if batch:
        with store.lock():
            store.add_contexts(pack.contexts[have : have + batch])
    store.close()
    options = pack.options.model_copy(update={"limit": have + batch, "judges": judges})
    request = RunRequest(options, out=folder, resume=True, again=again)
    grown, summary = run(request, progress, votes)
    if len(summary.failures) and all(c.failed == c.turns for c in summary.whole):
        raise AgentError(f"{folder}: no session could be finished; see: {command('report', folder)}")
    return grown
