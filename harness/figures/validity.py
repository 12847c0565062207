"""Validity of a run's figures: how exactly its frames left, and whether its event loop was free.

Each session is compared with the bounds of pacing separately: an average would let quiet calls hide a bad one. A failed
session has no figure that could be wrong. Only the harness's own faults make a run invalid; others on the machine widen the
range of a figure.

A fault of pacing makes latencies wrong, and may break a sound. The words that an agent said are what it said all the same, so
votes and verdicts on replies that were *read* count in an invalid run, and those on replies that were heard do not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.store.judgment import Presentation
from harness.store.machine_facts import Pacing
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection
from harness.store.session import Session
from harness.store.step_failure import StepFailure, attempt
from harness.timing.pacing import errors_ms, out_of_bounds

NOT_TO_BE_QUOTED: Final = "These figures must not be quoted, except ratings of replies that were read"
"""Beginning of the sentence on an invalid run, which the reasons end."""
MOST_PROBLEMS_TOLD: Final = 5
READ: Final[tuple[Presentation, ...]] = (HEARD, "written")
"""Presentations that people and judges read."""


@dataclass(frozen=True, slots=True)
class _Paced:
    """Pacing of the frames of one session."""

    session: Session
    errors_ms: NDArray[np.float64]
    lags_ms: Sequence[float]
    realtime_ratio: float | None
    wrong: Sequence[str]


def may_be_quoted(presentation: str, *, valid: bool) -> bool:
    """True if votes and verdicts on replies so presented count in a run that is valid or not."""
    return valid or presentation in READ


def votes_to_quote(selection: Selection, condition: str) -> Presentation | None:
    """Presentation whose votes are people's axis where there is a choice; None: as for every valid run."""
    if not selection.manifest.invalid:
        return None
    voted_on = selection.presentations(condition, human=True)
    return next((read for read in READ if read in voted_on), None)


def with_validity(store: RunStore) -> RunManifest:
    """The store's manifest with how exactly the frames of its finished sessions left, and why the run is invalid, if it is."""
    selection = Selection(store)
    paced = list(_paced(store, selection))
    problems = [f"{p.session.key.context_id} · {p.session.key.agent}: {problem}" for p in paced for problem in p.wrong]
    more = len(problems) - MOST_PROBLEMS_TOLD
    told = [*problems[:MOST_PROBLEMS_TOLD], *([f"and {more} more"] if more > 0 else [])]
    invalid = told
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
