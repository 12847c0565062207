"""The timings of one session of a run, or the reason why they could not be found.

The figures are stored here, so that a session that could not be measured is reported once and corrected by
measuring again, with any command.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from harness.audio.vocal import VocalDetector
from harness.recording.machine_track import MachineTrack
from harness.recording.record import HAPPENED, Recording
from harness.recording.sitting import Sitting
from harness.servers.samples import ServerSample, load_samples
from harness.store.run_store import RunStore
from harness.store.session import Session
from harness.store.step_failure import StepFailure, attempt
from harness.timing import measure_turns
from harness.timing.contention import of_turn
from harness.timing.figures import TurnTiming
from harness.timing.unknown_waits import of_recorded_call, with_losses, without_latency
from harness.timing.words import Word, with_event_words

Timings = tuple[TurnTiming, ...]


def timings_of(
    session: str,
    read: Callable[[], Recording],
    machine: Callable[[], MachineTrack | None],
    vocal: VocalDetector | None = None,
    sitting: Callable[[], Sitting | None] = lambda: None,
    samples: Callable[[], Sequence[ServerSample]] = tuple,
    words: Sequence[Word] | None = None,
) -> Timings | StepFailure:
    """The figures of every caller turn of a session, and the use of the machine meanwhile if it was sampled.

    `words`: the agent's; None before they are transcribed. Does not use the store, so it may run in another thread.
    """

    def measured() -> Timings:
        recording, seat = read(), sitting()
        found = measure_turns(recording, vocal, samples(), words)
        if not found:
            raise ValueError("the recording holds no caller turn to measure")
        if recording.ended == HAPPENED:
            found = of_recorded_call(found, recording)
        if seat is not None:
            found = without_latency(found) if seat.loop is None else with_losses(found, seat.lost_ms)
        track = machine()
        return (
            found if track is None else tuple(replace(t, contention=of_turn(track, recording.caller.t0_ns, t)) for t in found)
        )

    return attempt(session, "timing", measured)


def timings_from(
    store: RunStore, session: Session, vocal: VocalDetector | None = None, words: Sequence[Word] | None = None
) -> Timings | StepFailure:
    """The figures of a finished session from its stored recording. `words`: the agent's; None where it was not transcribed."""
    found = timings_of(
        session.id,
        partial(store.recording, session),
        partial(store.machine_track, session),
        vocal,
        partial(store.sitting, session),
        partial(load_samples, session.folder),
        words,
    )
    if words is None or isinstance(found, StepFailure):
        return found
    return (*found[:-1], with_event_words(found[-1], words, session.written_text))


def keep_timings(store: RunStore, session: str, found: Timings | StepFailure) -> None:
    """Store the result of `timings_of`. A failure leaves earlier figures unchanged, and marks them as unusable."""
    if isinstance(found, StepFailure):
        store.set_step_failure(found)
        return
    store.set_timing(session, found)
    store.clear_step_failure(session, "timing")
