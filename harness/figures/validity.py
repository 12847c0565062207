"""Validity of a run's figures: how exactly its frames left, and whether others used its machine.

Each session is compared with the bounds of pacing separately: an average would let quiet calls hide a bad one. A failed session
has no figure that could be wrong, so a flooding agent does not make the others invalid.

Contended turns (harness/timing/contention.py) are left out one by one. Where they are more than half of an agent's, what is
left is the sample that happened to get through, and the whole run is invalid. Half and not less, because a virtual machine on
a busy host loses a turn in three to its neighbours (docs/performance.md), and the turns that are left are sound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.store.manifest import RunManifest
from harness.store.pacing import Pacing
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.store.session import Session
from harness.store.step_failure import StepFailure, attempt
from harness.timing.pacing import errors_ms, out_of_bounds
from harness.wording import counted

MOST_PROBLEMS_TOLD: Final = 5
MOST_CONTENDED: Final = 0.5
FEW_CONTENDED: Final = 0.1
"""The share of contended turns that a gate can spare: without a tenth of the conversations an interval is a twentieth wider."""


@dataclass(frozen=True, slots=True)
class _Paced:
    """Pacing of the frames of one session."""

    session: Session
    errors_ms: NDArray[np.float64]
    lags_ms: Sequence[float]
    realtime_ratio: float | None
    wrong: Sequence[str]


def with_validity(store: RunStore) -> RunManifest:
    """The store's manifest with how exactly the frames of its finished sessions left, and why the run is invalid, if it is."""
    selection = Selection(store)
    paced = list(_paced(store, selection))
    problems = [f"{p.session.key.context_id} · {p.session.key.agent}: {problem}" for p in paced for problem in p.wrong]
    more = len(problems) - MOST_PROBLEMS_TOLD
    told = [*problems[:MOST_PROBLEMS_TOLD], *([f"and {more} more"] if more > 0 else [])]
    invalid = [*_too_contended(selection), *told]
    frames = np.concatenate([p.errors_ms for p in paced]) if paced else np.empty(0)
    if not frames.size:
        return selection.manifest.model_copy(update={"invalid": invalid})
    ratios = [p.realtime_ratio for p in paced if p.realtime_ratio is not None]
    pacing = Pacing(
        p99_error_ms=float(np.percentile(frames, 99)),
        max_error_ms=float(frames.max()),
        # The ratio furthest from 1 represents the run: an average would let a fast call hide a slow one.
        realtime_ratio=max(ratios, key=lambda r: abs(r - 1)) if ratios else None,
        frames=int(frames.size),
        loop_lag_max_ms=max((lag for p in paced for lag in p.lags_ms), default=None),
    )
    return selection.manifest.model_copy(update={"pacing": pacing, "invalid": invalid})


def disturbed_sessions(store: RunStore) -> frozenset[str]:
    """Ids of the finished sessions that say too little of their agent: those in which the harness was at fault, and the
    contended ones of a cell that has more than `FEW_CONTENDED` of them. Played again on a quieter machine, they would say more.
    """
    selection = Selection(store)
    found = set(sessions_at_fault(store, selection))
    for agent, condition, _, _ in _contended_cells(selection, FEW_CONTENDED):
        mine = (s for s in selection.of(agent, condition) if s.status == "finished")
        found |= {s.id for s in mine if any(t.contended for t in s.turn_timings)}
    return frozenset(found)


def sessions_at_fault(store: RunStore, selection: Selection) -> frozenset[str]:
    """Ids of the finished sessions in which the harness was at fault: frames left late, or its event loop stopped."""
    return frozenset(p.session.id for p in _paced(store, selection) if p.wrong)


def _paced(store: RunStore, selection: Selection) -> Iterator[_Paced]:
    spoken = {a.name for a in selection.manifest.played if a.kind != "text"}
    for session in selection.sessions:
        if session.status != "finished" or session.key.agent not in spoken or not (session.folder / "recording.json").exists():
            continue
        recording = attempt(session.id, "pacing", partial(store.recording, session))
        if isinstance(recording, StepFailure):
            store.set_step_failure(recording)
            continue
        store.clear_step_failure(session.id, "pacing")
        errors = np.abs(errors_ms(recording.caller))
        ratio = session.timing.realtime_ratio if session.timing is not None else None
        p99_ms = float(np.percentile(errors, 99)) if errors.size else None
        wrong = out_of_bounds(p99_ms, ratio, max(recording.loop_lag_ms, default=None))
        yield _Paced(session, errors, recording.loop_lag_ms, ratio, tuple(wrong))


def _contended_cells(selection: Selection, most: float = MOST_CONTENDED) -> Iterator[tuple[str, str, int, int]]:
    """Agent, condition, contended turns and all turns, of each cell with a larger share of contended ones than `most`."""
    for condition in selection.conditions:
        for agent in selection.manifest.played:
            turns = [t for group in selection.turns(agent.name, condition).values() for t in group]
            contended = sum(t.contended for t in turns)
            if contended > most * len(turns):
                yield agent.name, condition, contended, len(turns)


def _too_contended(selection: Selection) -> Iterator[str]:
    told = [f"{agent} on {contended} of {counted(turns, 'turn')}" for agent, _, contended, turns in _contended_cells(selection)]
    if told:
        yield f"others used the processor that an agent needed ({', '.join(told)}); quiet the machine and run again"
