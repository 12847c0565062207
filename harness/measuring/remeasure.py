"""Repeated measurement of a finished run by the current method, with a list of changes.

A recording stores raw facts so that a better method can be applied to it years later. The old figures are replaced; their
values and their method are returned, so that nobody has to guess why a table changed.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final, Generic, Literal, TypeVar

from pydantic import BaseModel, Field

from harness.audio.vocal import VocalDetector, silero
from harness.figures.validity import with_validity
from harness.measuring.timings import keep_timings, timings_from
from harness.store.run_store import RunStore
from harness.store.step_failure import StepFailure
from harness.timing.figures import TurnTiming
from harness.timing.measure import METHOD

CHANGED_MS: Final = 0.05
"""Least change of a figure that counts as one."""

T = TypeVar("T")
Reason = Literal["first measured", "discarded", "backchannel", "withdrawn", "breath", "filler", "overlap", "onset"]
"""Cause of a turn's other figures: the first that applies, of the kinds of its sounds before the onset itself."""


class BeforeAndAfter(BaseModel, Generic[T]):
    """A figure of the method before, and of today's."""

    before: T | None
    after: T | None


class Change(BaseModel):
    """The changed timing of one session's answer."""

    session: str
    context: str
    agent: str
    ttfa_ms: BeforeAndAfter[float]
    discarded: BeforeAndAfter[str]


class Remeasured(BaseModel):
    """The sessions measured again, and the figures that changed: the object that `harness measure RUN --json` prints."""

    schema_version: Literal[1] = Field(default=1, serialization_alias="schema")
    run: str
    method: str = METHOD
    methods_before: tuple[str, ...]
    sessions: int
    turns: int
    turns_moved: dict[Reason, int]
    """The turns whose figures changed, counted by reason."""
    changed: tuple[Change, ...]
    failed: tuple[StepFailure, ...]
    """Sessions that could not be measured; they are missing from the run until a version can measure them."""


def remeasure(
    store: RunStore, *, vocal: VocalDetector | None = None, progress: Callable[[int, int], None] | None = None
) -> Remeasured:
    """Measure each finished spoken session of a run again and store the new figures; failures are stored by name."""
    detector = vocal or silero()
    sessions = [s for s in store.sessions() if s.status == "finished" and (s.folder / "recording.json").exists()]
    changed: list[Change] = []
    failures: list[StepFailure] = []
    turns, moved = 0, Counter[Reason]()
    for k, session in enumerate(sessions):
        found = timings_from(store, session, detector, session.heard_words)
        if isinstance(found, StepFailure):
            failures.append(found)
        else:
            was, now = session.timing, found[-1]
            if _moved(was, now):
                changed.append(
                    Change(
                        session=session.id,
                        context=session.key.context_id,
                        agent=session.key.agent,
                        ttfa_ms=BeforeAndAfter(before=was.ttfa_ms if was is not None else None, after=now.ttfa_ms),
                        discarded=BeforeAndAfter(before=was.discarded if was is not None else None, after=now.discarded),
                    )
                )
            turns += len(found)
            before = [*session.turn_timings, *[None] * len(found)]
            moved.update(why for old, new in zip(before, found, strict=False) if (why := _why(old, new)) is not None)
        keep_timings(store, session.id, found)
        if progress is not None:
            progress(k + 1, len(sessions))
    store.set_manifest(with_validity(store))
    return Remeasured(
        run=str(store.folder),
        methods_before=tuple(sorted({s.timing.method for s in sessions if s.timing is not None})),
        sessions=len(sessions),
        turns=turns,
        turns_moved=dict(moved),
        changed=tuple(changed),
        failed=tuple(failures),
    )


def _why(before: TurnTiming | None, after: TurnTiming) -> Reason | None:
    """Why a turn's figures changed; None where none did."""
    if before is None:
        return "first measured"
    if before.discarded != after.discarded:
        return "discarded"
    if not (_moved(before, after) or before.cut_in != after.cut_in or _differ(before.first_speech_ms, after.first_speech_ms)):
        return None
    first = next((u.kind for u in before.utterances if u.kind not in ("nonvocal", "withdrawn") and u.end_ms > 0), None)
    if before.backchannels != after.backchannels:
        return "backchannel"
    if _differ(before.withdrawn_ms, after.withdrawn_ms):
        return "withdrawn"
    if first == "breath":
        return "breath"
    if not _moved(before, after) and before.cut_in == after.cut_in:
        return "filler"
    return "onset" if _moved(before, after) else "overlap"


def _differ(before: float | None, after: float | None) -> bool:
    return before != after and (before is None or after is None or abs(before - after) > CHANGED_MS)


def _moved(before: TurnTiming | None, after: TurnTiming) -> bool:
    if before is None or before.discarded != after.discarded or before.no_reply != after.no_reply:
        return True
    return _differ(before.ttfa_ms, after.ttfa_ms)
