"""More conversations of a run's own pack, played until its limits are decided or the time is up.

A run is extended, not played again: the new conversations follow the existing ones in the order of the pack, and every finished
session stays. They are played in batches, because each check of the figures costs a part of the error that the gate may make;
each batch is half as large as the run, or as large as the open limits seem to need. The pace so far gives the number of
conversations that fit into the time left, so no batch is begun that would not end in time.

Sessions in which the harness was at fault (late frames, a machine busy with other programs) are the exception: they make a run
invalid, so that it could decide nothing, and are played again before anything else.
"""

import time
from collections.abc import Callable, Collection
from itertools import pairwise, takewhile
from typing import Final

import numpy as np

from harness.errors import AgentError, UserError
from harness.experiment import Experiment
from harness.figures.validity import sessions_at_fault
from harness.gate.check import CheckResult
from harness.progress import RunProgress
from harness.run.phases import RunRequest, Votes, no_votes, run
from harness.run.plan import RunPlan, make_plan
from harness.run.resuming import asked_of, refuse_changes
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.wording import command, counted

GROWTH: Final = 0.5
"""Share of the conversations so far in a batch if the number needed is unknown: ten batches grow the run 38-fold."""
RESERVE: Final = 1.25
"""Share of the time for calls: starting agents, transcribing and judging come on top; with small models they took under a
quarter of the time."""


def plan_to_grow(store: RunStore) -> RunPlan:
    """The run's own plan, extended to its whole pack.

    Raises:
        UserError: the pack, an agent or a setting has changed since the run began.
    """
    manifest = store.manifest
    if manifest.fleet is not None:
        raise UserError(f"{store.folder}: belongs to a plan for many machines; only a run of one machine can be extended")
    began, _ = asked_of(manifest)
    refuse_changes(make_plan(began), manifest, store.contexts_as_played())
    return make_plan(began.model_copy(update={"limit": None}))


def first_look(asked: Experiment) -> int | None:
    """The number of the first check of a run; None if it is the only one, because the run has the whole pack already.

    An invalid run decides nothing, so the checks before its faulty sessions were played again are none.
    """
    return None if asked.limit is None else 1


def seconds_a_conversation(store: RunStore) -> float | None:
    """The duration of one conversation with all agents, conditions and repeats; None if there are too few."""
    manifest = store.manifest
    began = sorted(s.started_ns for s in Selection(store).sessions if s.started_ns is not None)
    gaps = [(later - earlier) / 1e9 for earlier, later in pairwise(began)]
    if not gaps:
        return None
    # The median ignores the breaks of a run that was stopped and resumed.
    return float(np.median(gaps)) * len(manifest.played) * len(manifest.conditions) * manifest.repeats


def next_batch(result: CheckResult, left_in_pack: int, room_for: float | None) -> int:
    """The number of conversations to play before the next check. `room_for`: as many as the time allows, None: unknown."""
    wanted = max(result.more_needed or 0, int(np.ceil(GROWTH * result.contexts)), 1)
    return min(wanted, left_in_pack, *([] if room_for is None else [int(room_for)]))


def play_until_clear(
    store: RunStore,
    look_again: Callable[[RunStore, int | None], CheckResult],
    *,
    minutes: float,
    judges: tuple[str, ...],
    progress: RunProgress,
    votes: Votes = no_votes,
    only: Collection[str] | None = None,
    wait_s: float | None = None,
) -> tuple[RunStore, CheckResult, str]:
    """Check, play more and check again, until clear. Returns the open store, the last result, and why it ended.

    Args:
        only: conversations that may be played (those of the baseline); None: all of the pack.
        wait_s: longest wait for other programs to become idle before each batch, as in `RunRequest`.

    Raises:
        UserError: the run cannot be resumed.
        AgentError: no session of a batch could be finished; finished sessions are saved.
    """
    ends_s = time.monotonic() + 60 * minutes
    look: int | None = first_look(asked_of(store.manifest)[0])
    result = look_again(store, look)
    if result.verdict != "cannot tell":
        return store, result, "it is clear"
    pack = plan_to_grow(store)
    while result.verdict == "cannot tell":
        if result.invalid:
            again, why_not = _to_play_again(store, ends_s - time.monotonic(), votes)
            if not again:
                return store, result, why_not
            progress.note(f"Playing {counted(len(again), 'session')} again: the harness was at fault in them, not the agent")
            store = _grown(store, pack, 0, judges, progress, votes, wait_s, again)
            # An invalid run decides nothing, so this check has used up no error.
            result = look_again(store, look)
            continue
        have = len(store.manifest.context_ids)
        more = tuple(takewhile(lambda c: only is None or c.id in only, pack.contexts[have:]))
        if not more:
            whose = f"pack {pack.pack.name}" if have == len(pack.contexts) else "the baseline"
            return store, result, f"{whose} has no further conversation"
        still_open = [c for c in result.checked if c.verdict == "cannot tell"]
        if all(c.decision is None or c.undecided for c in still_open):
            needed = "people's votes" if any(c.undecided for c in still_open) else "the missing figures"
            return store, result, f"more conversations would not add {needed}"
        pace_s = seconds_a_conversation(store)
        left_s = ends_s - time.monotonic()
        batch = next_batch(result, len(more), left_s / (RESERVE * pace_s) if pace_s else None)
        if batch < 1 or left_s <= 0:
            return store, result, f"the {minutes:g} minutes are too short for another conversation"
        look = (look or 1) + 1
        progress.note(f"Cannot tell yet; playing {batch} more of {len(more)} conversations (then check {look})")
        store = _grown(store, pack, batch, judges, progress, votes, wait_s)
        result = look_again(store, look)
    return store, result, "it is clear"


def _to_play_again(store: RunStore, left_s: float, votes: Votes) -> tuple[frozenset[str], str]:
    """The sessions in which the harness was at fault, as many as fit into the time; and the reason if there are none.

    A reply with votes by people stays: they are about exactly that sound.
    """
    voted = {(row.context, side) for row in (*votes(store), *store.judgments()) if row.source == "human"
             for side in (row.system_a, row.system_b)}  # fmt: skip
    sessions = {s.id: s for s in Selection(store).sessions}
    at_fault = sorted(i for i in sessions_at_fault(store) if (sessions[i].key.context_id, sessions[i].key.agent) not in voted)
    if not at_fault:
        return frozenset(), "the run is invalid, and no session of it can be played again"
    pace_s = seconds_a_conversation(store)
    a_conversation = len(store.manifest.played) * len(store.manifest.conditions) * store.manifest.repeats
    room = len(at_fault) if pace_s is None else int(left_s * a_conversation / (RESERVE * pace_s))
    if left_s <= 0 or room < 1:
        return frozenset(), (
            f"the time is too short to play again {counted(len(at_fault), 'session')} in which the harness was at fault"
        )
    return frozenset(at_fault[:room]), ""


def _grown(
    store: RunStore,
    pack: RunPlan,
    batch: int,
    judges: tuple[str, ...],
    progress: RunProgress,
    votes: Votes,
    wait_s: float | None,
    again: frozenset[str] = frozenset(),
) -> RunStore:
    have, folder = len(store.manifest.context_ids), store.folder
    if batch:
        with store.lock():
            store.add_contexts(pack.contexts[have : have + batch])
    store.close()
    options = pack.options.model_copy(update={"limit": have + batch, "judges": judges})
    request = RunRequest(options, out=folder, resume=True, again=again, wait_for_quiet_s=wait_s)
    grown, summary = run(request, progress, votes)
    if len(summary.failures) and all(c.failed == c.turns for c in summary.whole):
        raise AgentError(f"{folder}: no session could be finished; see: {command('report', folder)}")
    return grown
