"""Replies in a file, as the sessions of a run, so that every command for a run serves them: judges, votes, pages, exports.

Nothing is played and nothing measured. A latency that the file states is its author's claim: it is stored under a method of its
own, and everything that shows it says so; of a file without latencies no figure is about time. A reply with sound is a
recording in which the agent begins at once, because a file of sound does not say when it began.

The agents are programs whatever they are called: people's replies are references of a pack, or come from the supporter's seat.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np

from harness.audio.conditions import CLEAN
from harness.audio.pcm import Int16, to_float, to_int16
from harness.audio.sound_file import Bounds, SoundFault, read_int16
from harness.experiment import Experiment
from harness.imported.replies import RepliesRead
from harness.imported.rows import Fault, RowRead
from harness.printable import printable
from harness.recording.files import save
from harness.recording.record import HAPPENED, Arrival, CallerTrack, Recording
from harness.scenarios.pack import Pack, context_hash
from harness.store.manifest import AgentEntry, ImportedReplies, RunManifest, package_versions
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing.figures import OF_A_FILE, TurnTiming, Utterance

SPOKEN: Final = "imported"
"""Kind of an agent whose replies have sound, or a latency of it; others are `text`."""
MODE: Final = "seeded"
"""What was asked for is an answer to the last turn, after the history as the pack has it."""
BOUNDS: Final = Bounds(longest_s=600.0, least_hz=8_000)
"""A reply of ten minutes is no turn of a conversation."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The run, and sounds that could not be read: their replies are in it as text."""

    store: RunStore
    without_sound: tuple[Fault, ...]


def import_replies(
    read: RepliesRead, source: Path, pack: Pack, out: Path, progress: Callable[[int, int], None] | None = None
) -> Imported:
    """Make the run of these replies.

    Raises:
        UserError: the folder cannot be used.
        StorageError: the disk is full.
    """
    answered = {reply.context for reply in read.replies}
    contexts = [context for context in pack.contexts if context.id in answered]
    hashes = {context.id: context_hash(context) for context in contexts}
    store = RunStore.create(out, _manifest(read, source, pack, [context.id for context in contexts]), contexts)
    profiles = {agent.name: agent.profile_hash for agent in store.manifest.agents}
    faults = []
    with store.lock():
        for number, reply in enumerate(read.replies, start=1):
            key = SessionKey(reply.context, hashes[reply.context], reply.system, profiles[reply.system], MODE, CLEAN, 0)
            folder = store.partial_folder(key)
            length_ms = None
            if reply.audio:
                try:
                    length_ms = _save_sound(source.parent / reply.audio, folder)
                except SoundFault as fault:
                    faults.append(Fault(reply.where, "sound", f"{printable(reply.audio, one_line=True)[:80]}: {fault}"))
            store.commit_session(key, partial=folder, written_text=reply.text, timing=_timing(reply, length_ms))
            if progress is not None:
                progress(number, len(read.replies))
    return Imported(store, tuple(faults))


def _timing(reply: RowRead, length_ms: float | None) -> TurnTiming:
    """What the file says of a reply; nothing of it was measured."""
    sound = (Utterance(0.0, length_ms, "answer"),) if length_ms is not None else ()
    return TurnTiming(OF_A_FILE, spoken_end_ms=0.0, ttfa_ms=reply.ttfa_ms, ttft_ms=reply.ttft_ms, utterances=sound)


def _save_sound(path: Path, folder: Path) -> float:
    """The length of a reply's sound in ms, after it is saved as a recording in which nobody calls."""
    samples, rate_hz = read_int16(path, BOUNDS)
    mono = samples[0] if len(samples) == 1 else to_int16(np.mean([to_float(side) for side in samples], axis=0))
    save(_recording(mono, rate_hz), folder)
    return 1_000 * len(mono) / rate_hz


def _recording(agent: Int16, rate_hz: int) -> Recording:
    silence = np.zeros(len(agent), np.int16)
    caller = CallerTrack(rate_hz, silence, silence, 0, np.zeros(0, np.int64), 0, 0)
    return Recording(caller, rate_hz, agent, (Arrival(0, 0, len(agent)),), ended=HAPPENED)


def _manifest(read: RepliesRead, source: Path, pack: Pack, contexts: Sequence[str]) -> RunManifest:
    shown = printable(str(source), one_line=True)
    timed = {r.system for r in read.replies if (r.ttft_ms, r.ttfa_ms) != (None, None)}
    return RunManifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        harness_version=version("heart-voice-harness"),
        pack=pack.name,
        pack_source=str(pack.path),
        pack_hash=pack.hash,
        context_ids=list(contexts),
        agents=[_agent(name, read, shown) for name in read.agents],
        experiment=Experiment(agents=read.agents, pack=str(pack.path), contexts=tuple(contexts)),
        mode=MODE,
        conditions=[CLEAN],
        repeats=1,
        seed=1,
        replies=ImportedReplies(source=shown, left_out=len(read.left_out), unanswered=read.unanswered(), timed=sorted(timed)),
        versions=package_versions(),
    )


def _agent(name: str, read: RepliesRead, source: str) -> AgentEntry:
    """The agent; what it said is in the place of its profile, which nobody knows."""
    mine = [reply for reply in read.replies if reply.system == name]
    said = "\0".join(f"{reply.context}\0{reply.text}" for reply in sorted(mine, key=lambda reply: reply.context))
    kind = SPOKEN if any(reply.audio or reply.ttfa_ms is not None for reply in mine) else "text"
    return AgentEntry(
        name=name, source=source, kind=kind, profile_hash=hashlib.sha256(said.encode()).hexdigest(), profile_text="",
        family=read.families.get(name), runs_here=False,
    )  # fmt: skip
