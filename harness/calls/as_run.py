"""Calls that already happened, as the sessions of a run, so that its page, figures, gate, index and exports serve them too.

One call is one conversation of one agent, and each of its turns is timed, so every interval is over calls. There is no text of
the caller: such conversations are timed and never judged. Each call is committed as soon as it is read, as a played one is:
a run that is stopped goes on with the next call, and one call is in memory at a time, however many there are.

A call that cannot be measured is a failed session with its reason. That is no fault of the agent, so it counts on no side.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from harness.agents.profile_base import AgentName
from harness.audio.conditions import CLEAN
from harness.audio.vocal import VocalDetector, silero
from harness.calls.as_recording import as_recording
from harness.calls.recordings import CallRecording
from harness.calls.sound import CallSound, NotMeasurable, Side, read_call
from harness.errors import UserError
from harness.experiment import Experiment
from harness.measuring.timings import keep_timings, timings_of
from harness.printable import printable
from harness.progress import RunProgress
from harness.recording.files import save
from harness.recording.record import Recording
from harness.run.resuming import refuse_another_version
from harness.scenarios.context import Context, Turn
from harness.store.disk import storage_named
from harness.store.manifest import SEAT_KINDS, AgentEntry, MeasuredCalls, RunManifest, package_versions, with_budgets
from harness.store.run_store import RunStore
from harness.store.session import Session, SessionKey
from harness.store.step_failure import StepFailure
from harness.timing.figures import TurnTiming
from harness.wording import command, counted

KIND: Final = "calls"
"""Kind of an agent whose calls others recorded."""
PACK: Final = "measured calls"
MODE: Final = "recorded"
NO_TURN: Final = "no_turn"
"""Failure kind of a call in whose sound no turn of the caller can be found."""
_HASH: Final = hashlib.sha256(KIND.encode()).hexdigest()
"""In the place of a profile's and of a pack's: recordings show neither, and calls of two weeks are one series in an index."""


@dataclass(frozen=True, slots=True)
class CallsAsked:
    """The calls to measure. `source`: as the user named it; `ttfa_ms`, `ttft_ms`: the budgets, None: as they are."""

    calls: tuple[CallRecording, ...]
    source: Path
    agent: str
    out: Path
    resume: bool = False
    ttfa_ms: float | None = None
    ttft_ms: float | None = None


def is_agent_name(name: str) -> bool:
    """True if agents can have this name, and it is not one of people's."""
    try:
        TypeAdapter(AgentName).validate_python(name)
    except ValidationError:
        return False
    return name not in SEAT_KINDS.values()


def measure_calls(asked: CallsAsked, progress: RunProgress, vocal: VocalDetector | None = None) -> RunStore:
    """Measure each call that is not measured yet; returns the open store.

    Raises:
        UserError: the run's folder cannot be used, or no call could be measured; then the message gives the first one's reason,
            and a new run leaves nothing behind.
        StorageError: the disk is full; measured calls are saved.
    """
    detector = vocal or silero()
    is_new = not (asked.resume and (asked.out / "run.sqlite").exists())
    contexts = [_context(call) for call in asked.calls]
    store = RunStore.create(asked.out, _manifest(asked, contexts), contexts) if is_new else _continued(asked, progress)
    again = command("measure", asked.source, "--resume", "--out", store.folder)
    with store.lock(), storage_named(store.folder, lambda: f"measured calls are saved; free some space, then: {again}"):
        store.drop_partial_folders()
        done = store.finished_ids()
        # A recording that has moved since is the call that it was.
        named = {context.turns[0].audio_sha256: context.id for context in store.contexts()}
        calls = [replace(call, id=named[call.content]) for call in asked.calls]
        waiting = [call for call in calls if _key(call, asked.agent).session_id not in done]
        if done:
            progress.note(f"{len(done)} measured call(s) found, {len(waiting)} to measure")
        progress.phase("Measuring calls", len(waiting))
        sessions = [_measured(store, call, asked.agent, detector, progress) for call in waiting]
        _time_the_rest(store, detector)
        if sessions and not store.finished_ids():
            first = next(session for session in sessions if session.failure_kind)
            if is_new:
                store.discard()
            of_all = f"none of {counted(len(sessions), 'call')} can be measured; the first: " if len(sessions) > 1 else ""
            raise UserError(of_all + first.failure_detail)
    return store


def note(store: RunStore, **changed: object) -> None:
    """Note facts of the measured calls in the run's manifest."""
    manifest = store.manifest
    if manifest.calls is not None:
        store.set_manifest(manifest.model_copy(update={"calls": manifest.calls.model_copy(update=changed)}))


def _continued(asked: CallsAsked, progress: RunProgress) -> RunStore:
    store = RunStore.open(asked.out, to_resume=True)
    manifest = store.manifest
    if manifest.calls is None:
        raise UserError(f"--resume: {asked.out} is a run that was played; continue it with: harness run --resume --out RUN")
    if [agent.name for agent in manifest.played] != [asked.agent]:
        raise UserError(
            f"--agent {asked.agent}: the calls in {asked.out} are of {manifest.played[0].name}; choose another --out"
        )
    with store.lock():
        have = {context.turns[0].audio_sha256: context for context in store.contexts()}
        finished = {session.key.context_id for session in store.sessions() if session.status == "finished"}
        for call in asked.calls:
            measured = manifest.calls.callers.get(have[call.content].id) if call.content in have else None
            if measured and call.files.caller not in (None, measured) and have[call.content].id in finished:
                raise UserError(f"{call.files.name}: was measured with the caller {measured}; choose another --out")
        new = [call for call in asked.calls if call.content not in have]
        whole = not new and finished == {context.id for context in have.values()}
        refuse_another_version(store, whole, "install that again, or measure all calls in another --out")
        names = {context.turns[0].audio for context in have.values()}
        if changed := sum(call.files.name in names for call in new):
            progress.note(f"{counted(changed, 'recording')} named as one of the run, with another sound: both count")
        store.add_contexts([_context(call) for call in new])
        ids = {call.content: have[call.content].id for call in asked.calls if call.content in have}
        callers = {**manifest.calls.callers, **_callers(asked.calls, ids)}
        calls = manifest.calls.model_copy(update={"callers": callers})
        store.set_manifest(with_budgets(store.manifest.model_copy(update={"calls": calls}), asked.ttfa_ms, asked.ttft_ms))
    return store


def _callers(calls: Sequence[CallRecording], ids: Mapping[str, str]) -> dict[str, Side]:
    """Call → its caller's channel, where one is named. `ids`: content → id of the calls that the run has."""
    return {ids.get(call.content, call.id): call.files.caller for call in calls if call.files.caller is not None}


def _manifest(asked: CallsAsked, contexts: Sequence[Context]) -> RunManifest:
    agent = AgentEntry(name=asked.agent, kind=KIND, profile_hash=_HASH, profile_text="", runs_here=False)
    manifest = RunManifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        harness_version=version("heart-voice-harness"),
        pack=PACK,
        pack_source=printable(str(asked.source), one_line=True),
        pack_hash=_HASH,
        context_ids=[context.id for context in contexts],
        agents=[agent],
        experiment=Experiment(agents=(asked.agent,), pack=printable(str(asked.source), one_line=True), mode="replay"),
        mode=MODE,
        conditions=[CLEAN],
        repeats=1,
        seed=1,
        calls=MeasuredCalls(source=printable(str(asked.source), one_line=True), callers=_callers(asked.calls, {})),
        versions=package_versions(),
    )
    return with_budgets(manifest, asked.ttfa_ms, asked.ttft_ms)


def _context(call: CallRecording) -> Context:
    return Context(
        id=call.id,
        subset="regular",
        emotion="emotion not known",
        problem="a recorded call",
        situation=" and ".join(printable(path.name, one_line=True) for path in call.files.files)[:4_000],
        turns=(Turn(role="seeker", text="", audio=call.files.name, audio_sha256=call.content),),
        source="a call that already happened",
        licence="not stated",
    )


def _key(call: CallRecording, agent: str) -> SessionKey:
    return SessionKey(call.id, call.content, agent, _HASH, MODE, CLEAN, 0)


def _measured(store: RunStore, call: CallRecording, agent: str, vocal: VocalDetector, progress: RunProgress) -> Session:
    """Commit one call and its figures, or its failure."""
    key = _key(call, agent)
    progress.status(call.files.name)
    folder = store.partial_folder(key)
    try:
        sound = read_call(call.files)
        recording = _recording(sound, vocal)
    except NotMeasurable as fault:
        why = f"{call.files.name}: {fault}"
        progress.step(why, keep=True)
        return store.commit_session(key, partial=folder, failure_kind=fault.kind, failure_detail=why)
    save(recording, folder)
    session = store.commit_session(key, partial=folder)
    found = timings_of(session.id, lambda: recording, lambda: None, vocal)
    keep_timings(store, session.id, found)
    if sound.looks_swapped and store.manifest.calls is not None:
        note(store, look_swapped=list(dict.fromkeys([*store.manifest.calls.look_swapped, call.id])))
    progress.step(_line(call, sound, found), keep=True)
    return session


def _recording(sound: CallSound, vocal: VocalDetector) -> Recording:
    try:
        return as_recording(sound.sides, vocal)
    except NotMeasurable:
        raise
    except UserError as fault:
        raise NotMeasurable(NO_TURN, str(fault)) from None


def _time_the_rest(store: RunStore, vocal: VocalDetector) -> None:
    """Time the calls that were committed right before a kill."""
    for session in store.sessions():
        if session.status == "finished" and session.timing is None:
            found = timings_of(session.id, partial(store.recording, session), lambda: None, vocal)
            keep_timings(store, session.id, found)


def _line(call: CallRecording, sound: CallSound, found: tuple[TurnTiming, ...] | StepFailure) -> str:
    side = f", the caller {sound.caller}" if sound.caller else ""
    if isinstance(found, StepFailure):
        return f"{call.files.name}: could not be measured ({found.detail})"
    waits = sorted(turn.ttfa_ms for turn in found if turn.ttfa_ms is not None)
    median = f", median TTFA {waits[len(waits) // 2]:,.0f} ms" if waits else ", no TTFA"
    return f"{call.files.name}{side}: {counted(len(found), 'turn')}{median}"
