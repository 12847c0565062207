"""More conversations of a run's own pack, played until its limits are decided or the time is up.

The new conversations follow the existing ones in the order of the pack, in batches, because each check costs a part of the
error that the gate may make; a batch is half as large as the run, or as large as the open limits seem to need and the time
allows.

Sessions in which the harness was at fault are played again before the figures are checked; that depends on no figure, so it
uses up no error. Before that the run may fail already, whatever those sessions hide. Sessions that others delayed are not
played again: the slow turns would be drawn anew until they come out quick.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Final

import numpy as np

from harness.errors import AgentError, UserError
from harness.figures.validity import sessions_at_fault
from harness.gate.check import CheckResult
from harness.progress import RunProgress
from harness.run.phases import RunRequest, Votes, no_votes, run
from harness.run.plan import RunPlan, make_plan
from harness.run.resuming import asked_of, refuse_another_version, refuse_changes
from harness.scenarios.context import Context
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

    Raises UserError: the pack, an agent or a setting has changed since the run began.
    """
    manifest = store.manifest
    if manifest.fleet is not None:
        raise UserError(f"{store.folder}: belongs to a plan for many machines; only a run of one machine can be extended")
    began, _ = asked_of(manifest)
    refuse_changes(make_plan(began), manifest, store.contexts_as_played())
    refuse_another_version(store, False, "install that again, or play a new run")
    return make_plan(began.model_copy(update={"limit": None}))


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


@dataclass(frozen=True, slots=True)
class Extension:
    """The way in which a run is extended."""

    minutes: float
    judges: tuple[str, ...]
    progress: RunProgress
    votes: Votes = no_votes
    only: Collection[str] | None = None
    """Conversations that may be played (those of the baseline); None: all of the pack."""
    wait_s: float | None = None
    """Longest wait for other programs to become idle before each batch, as in `RunRequest`."""
    words: bool = True
    """False if nothing asks for the words of the replies, as in `RunRequest`."""


def play_until_clear(
    store: RunStore, look_again: Callable[[RunStore, int | None, bool], CheckResult], how: Extension
) -> tuple[RunStore, CheckResult, str]:
    """Check, play more and check again, until clear. Returns the open store, the last result, and why it ended.

    `look_again`: the check of the run, from its number, and whether that look can fail the run twice (`check_run`).

    Raises UserError: the run cannot be resumed; AgentError: no session of a batch could be finished; finished sessions are
    saved.
    """
    ends_s = time.monotonic() + 60 * how.minutes
    pack = plan_to_grow(store)

    def left() -> tuple[Context, ...]:
        """The conversations that can follow."""
        following = pack.contexts[len(store.manifest.context_ids) :]
        return tuple(takewhile(lambda c: how.only is None or c.id in how.only, following))

    look = first_look(len(left()))
    twice = bool(sessions_at_fault(store, Selection(store)))
    if twice and (already := look_again(store, look, twice)).verdict == "fail":
        return store, already, "it is clear"
    store, at_fault = _without_faults(store, pack, how, ends_s)
    result = look_again(store, look, twice)
    while result.verdict == "cannot tell":
        if result.invalid:
            return store, result, at_fault or "the run is invalid, and no session of it can be played again"
        if hopeless := _no_use_of_more(result):
            return store, result, hopeless
        more = left()
        if not more:
            whole = len(store.manifest.context_ids) == len(pack.contexts)
            whose = f"pack {pack.pack.name}" if whole else "the baseline"
            return store, result, at_fault or f"{whose} has no further conversation"
        pace_s = seconds_a_conversation(store)
        left_s = ends_s - time.monotonic()
        batch = next_batch(result, len(more), left_s / (RESERVE * pace_s) if pace_s else None)
        if batch < 1 or left_s <= 0:
            return store, result, f"the {how.minutes:g} minutes are too short for another conversation"
        look = (look or 1) + 1
        how.progress.note(f"Cannot tell yet; playing {batch} more of {len(more)} conversations (then check {look})")
        store = _grown(store, pack, how, batch)
        store, at_fault = _without_faults(store, pack, how, ends_s)
        result = look_again(store, look, False)
    return store, result, "it is clear"


def _no_use_of_more(result: CheckResult) -> str:
    """Why more conversations would settle none of the open limits, in words; empty if they may settle one."""
    still_open = [c for c in result.checked if c.verdict == "cannot tell"]
    if not all(c.decision is None or c.undecided or c.decision.by_others for c in still_open):
        return ""
    needed = []
    if any(c.undecided for c in still_open):
        needed.append("add people's votes")
    if any(c.decision is None and not c.undecided for c in still_open):
        needed.append("add the missing figures")
    if any(c.decision is not None and c.decision.by_others for c in still_open):
        needed.append("make this machine the agent's own")
    return f"more conversations would not {' or '.join(needed)}"


def first_look(left: int) -> int | None:
    """The number of the first check; None if it is the only one, because no conversation is left that could follow."""
    return 1 if left else None


def _without_faults(store: RunStore, pack: RunPlan, how: Extension, ends_s: float) -> tuple[RunStore, str]:
    """The store after its sessions at fault were played again, while the time allows; and why some were not, or empty."""
    while True:
        again, why_not = _to_play_again(store, ends_s - time.monotonic(), how.votes)
        if not again:
            return store, why_not
        how.progress.note(f"Playing {counted(len(again), 'session')} again: the harness was at fault, not the agent")
        store = _grown(store, pack, how, 0, again)


def _to_play_again(store: RunStore, left_s: float, votes: Votes) -> tuple[frozenset[str], str]:
    """The sessions at fault, as many as fit into the time; and the reason why none is played again, empty if none need be.

    A reply with votes by people stays: they are about exactly that sound.
    """
    voted = {(row.context, side) for row in (*votes(store), *store.judgments()) if row.source == "human"
             for side in (row.system_a, row.system_b)}  # fmt: skip
    selection = Selection(store)
    sessions = {s.id: s for s in selection.sessions}
    faulty = sessions_at_fault(store, selection)
    again = sorted(i for i in faulty if (sessions[i].key.context_id, sessions[i].key.agent) not in voted)
    if not again:
        return frozenset(), "people have voted on every session in which the harness was at fault" if faulty else ""
    pace_s = seconds_a_conversation(store)
    a_conversation = len(store.manifest.played) * len(store.manifest.conditions) * store.manifest.repeats
    room = int(left_s * a_conversation / (RESERVE * pace_s)) if pace_s else len(again)
    if left_s <= 0 or room < 1:
        many = counted(len(again), "session")
        return frozenset(), f"the time is too short to play again {many} in which the harness was at fault"
    return frozenset(again[:room]), ""


def _grown(store: RunStore, pack: RunPlan, how: Extension, batch: int, again: frozenset[str] = frozenset()) -> RunStore:
    have, folder = len(store.manifest.context_ids), store.folder
    if batch:
        with store.lock():
            store.add_contexts(pack.contexts[have : have + batch])
    store.close()
    options = pack.options.model_copy(update={"limit": have + batch, "judges": how.judges})
    request = RunRequest(options, out=folder, resume=True, again=again, wait_for_quiet_s=how.wait_s, words=how.words)
    grown, summary = run(request, how.progress, how.votes)
    if summary.failed_sessions and all(c.failed == c.turns for c in summary.whole):
        raise AgentError(f"{folder}: no session could be finished; see: {command('report', folder)}")
    return grown
