"""Measure a finished run again by the present method, and say what changed.

A recording keeps raw facts so that a better method can be applied to it years later. The old figures are replaced; what
they were, and by which method, is returned, so that nobody has to guess why a table moved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from audio.vocal import VocalDetector
from harness.store.run_store import RunStore
from harness.timing.figures import TurnTiming
from harness.timing.measure import METHOD, measure_turns
from harness.timing.words import with_words

CHANGED_MS: Final = 0.05
"""Figures that moved by less are the same."""


@dataclass(frozen=True, slots=True)
class Change:
    """One session whose answer is now timed otherwise. Times in ms, None where there was no figure."""

    session: str
    context: str
    agent: str
    before_ms: float | None
    after_ms: float | None
    before_discarded: str | None
    after_discarded: str | None


@dataclass(frozen=True, slots=True)
class Retimed:
    """What `retime` did."""

    run: str
    sessions: int
    methods_before: tuple[str, ...]
    changes: tuple[Change, ...]

    def to_json(self) -> dict[str, Any]:
        """The object that `harness retime --json` prints."""
        return {
            "schema": 1,
            "run": self.run,
            "method": METHOD,
            "methods_before": list(self.methods_before),
            "sessions": self.sessions,
            "changed": [
                {
                    "session": c.session, "context": c.context, "agent": c.agent,
                    "ttfa_ms": {"before": c.before_ms, "after": c.after_ms},
                    "discarded": {"before": c.before_discarded, "after": c.after_discarded},
                }
                for c in self.changes
            ],
        }  # fmt: skip


def retime(
    store: RunStore, *, vocal: VocalDetector | None = None, progress: Callable[[int, int], None] | None = None
) -> Retimed:
    """Measure every finished spoken session of a run again and store the new figures.

    Raises:
        UserError: a recording cannot be read, or the speech detector is not installed.
    """
    sessions = [s for s in store.sessions() if s.status == "finished" and (s.folder / "recording.json").exists()]
    changes: list[Change] = []
    for k, session in enumerate(sessions):
        timings = measure_turns(store.recording(session), vocal)
        before = session.timing
        after = timings[-1] if timings else None
        if after is not None:
            if session.heard_words:
                after = with_words(after, session.heard_words)
            store.set_timing(session.id, (*timings[:-1], after))
            if _moved(before, after):
                changes.append(
                    Change(
                        session.id, session.key.context_id, session.key.agent,
                        before.ttfa_ms if before else None, after.ttfa_ms,
                        before.discarded if before else None, after.discarded,
                    )
                )  # fmt: skip
        if progress is not None:
            progress(k + 1, len(sessions))
    methods = tuple(sorted({s.timing.method for s in sessions if s.timing is not None}))
    return Retimed(str(store.folder), len(sessions), methods, tuple(changes))


def _moved(before: TurnTiming | None, after: TurnTiming) -> bool:
    if before is None or before.discarded != after.discarded or before.no_reply != after.no_reply:
        return True
    if before.ttfa_ms is None or after.ttfa_ms is None:
        return before.ttfa_ms != after.ttfa_ms
    return abs(before.ttfa_ms - after.ttfa_ms) > CHANGED_MS
