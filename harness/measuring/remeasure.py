"""Repeated measurement of a finished run by the current method, with a list of changes.

A recording stores raw facts so that a better method can be applied to it years later. The old figures are replaced; their
values and their method are returned, so that nobody has to guess why a table changed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from harness.audio.vocal import DetectorMissing, VocalDetector, silero
from harness.errors import UserError
from harness.figures.validity import with_validity
from harness.measuring.timings import keep_timings, timings_from
from harness.store.run_store import RunStore
from harness.store.session import Session
from harness.store.step_failure import StepFailure
from harness.timing.figures import TurnTiming
from harness.timing.measure import METHOD

CHANGED_MS: Final = 0.05
"""Least change of a figure that counts as one."""


@dataclass(frozen=True, slots=True)
class Change:
    """The changed timing of one session's answer; `session` has the one before, if it was ever measured."""

    session: Session
    after: TurnTiming


@dataclass(frozen=True, slots=True)
class Remeasured:
    """The sessions measured again, and the figures that changed."""

    run: str
    sessions: int
    methods_before: tuple[str, ...]
    changes: tuple[Change, ...]
    failures: tuple[StepFailure, ...] = ()
    """Sessions that could not be measured; they are missing from the run until a version can measure them."""

    def to_json(self) -> dict[str, Any]:
        """The object that `harness remeasure --json` prints."""
        return {
            "schema": 1,
            "run": self.run,
            "method": METHOD,
            "methods_before": list(self.methods_before),
            "sessions": self.sessions,
            "changed": [
                {
                    "session": c.session.id, "context": c.session.key.context_id, "agent": c.session.key.agent,
                    "ttfa_ms": {"before": before and before.ttfa_ms, "after": c.after.ttfa_ms},
                    "discarded": {"before": before and before.left_out, "after": c.after.left_out},
                }
                for c in self.changes
                for before in [c.session.timing]
            ],
            "failed": [{"session": f.session, "kind": f.kind, "detail": f.detail} for f in self.failures],
        }  # fmt: skip


def remeasure(
    store: RunStore, *, vocal: VocalDetector | None = None, progress: Callable[[int, int], None] | None = None
) -> Remeasured:
    """Measure each finished spoken session of a run again and store the new figures; failures are stored by name.

    Raises:
        UserError: the speech detector is not installed.
    """
    try:
        detector = vocal or silero()
    except DetectorMissing as error:
        raise UserError(str(error)) from error
    sessions = [s for s in store.sessions() if s.status == "finished" and (s.folder / "recording.json").exists()]
    changes: list[Change] = []
    failures: list[StepFailure] = []
    for k, session in enumerate(sessions):
        found = timings_from(store, session, detector, session.heard_words)
        if isinstance(found, StepFailure):
            failures.append(found)
        elif _moved(session.timing, found[-1]):
            changes.append(Change(session, found[-1]))
        keep_timings(store, session.id, found)
        if progress is not None:
            progress(k + 1, len(sessions))
    store.set_manifest(with_validity(store))
    methods = tuple(sorted({s.timing.method for s in sessions if s.timing is not None}))
    return Remeasured(str(store.folder), len(sessions), methods, tuple(changes), tuple(failures))


def _moved(before: TurnTiming | None, after: TurnTiming) -> bool:
    if before is None or before.left_out != after.left_out or before.no_reply != after.no_reply:
        return True
    if before.ttfa_ms is None or after.ttfa_ms is None:
        return before.ttfa_ms != after.ttfa_ms
    return abs(before.ttfa_ms - after.ttfa_ms) > CHANGED_MS
