"""The material of a listening test from a run: conversations, each with the replies that can be read or heard.

A stimulus is named by the hash of its contents, made when it is first needed, and stored in the run's folder.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import soundfile

from harness.errors import UserError
from harness.figures.rank import chosen_condition
from harness.files import own_file, own_folder
from harness.reports.listening import sound
from harness.reports.listening.design import ListeningDesign
from harness.scenarios.screens import fit_for_people
from harness.store.judgment import reference_name
from harness.store.paths import LISTENING
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection
from harness.store.selection import Reply as SelectedReply
from harness.store.session import Session
from harness.wording import command

FOLDER = LISTENING


@dataclass(frozen=True, slots=True)
class Reply:
    """One system's reply to one conversation. `session` is None for a reference, which has no sound."""

    context: str
    system: str
    text: str
    session: str | None = None
    spoken_end_ms: float = 0.0
    onset_ms: float = 0.0
    end_ms: float | None = None
    """The end of a reply that a microphone recorded, after the spoken end as its onset is; None: the end of its sound."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """History as (role, text), the spoken turn last and without its pause marks."""

    id: str
    subset: str
    history: tuple[tuple[str, str], ...]
    replies: Mapping[str, Reply]


class Material:
    """The conversations of a run that a design can use, and their sounds."""

    def __init__(self, store: RunStore, design: ListeningDesign) -> None:
        """Raises UserError if the run has too little for this design, or its agents did not answer the same conversation."""
        if store.manifest.mode == "replay":
            raise UserError(
                f"{store.folder}: is a replay, in which every agent has a different conversation, and raters compare "
                "answers to the same one; play the pack with --mode seeded"
            )
        if store.manifest.replies is not None and design.medium == "sound":
            heard = command("report", store.folder, "--vote-file", "vote.html", "--medium", "sound")
            raise UserError(
                f"{store.folder}: its replies were in a file, without the sound of their callers; let people read them with "
                f"--medium text, or hear those that have sound in a vote file: {heard}"
            )
        self._store = store
        selection = Selection(store)
        condition = chosen_condition(selection, design.condition or None)
        # A rater gets one reply of an agent to a conversation; of several repeats it is the first.
        replies = selection.replies(condition, 0, HEARD)
        self._sessions = {reply.session.id: reply.session for reply in replies}
        self._folder = store.folder / FOLDER / "stimuli"
        own_folder(self._folder.parent)
        own_folder(self._folder)
        needed = 2 if design.kind == "ab" else 1
        found = [c for c in _conversations(store, replies, design) if len(c.replies) >= needed]
        if not found and needed == 2 and any(c.replies for c in _conversations(store, replies, design)):
            raise UserError(
                f"{store.folder}: only one agent answered, so there are no two sounds to compare; let people rate its replies "
                "by themselves with --design acr, or compare its words with the references' with --medium text"
            )
        if not found:
            what = "heard" if design.medium == "sound" else "read"
            raise UserError(
                f"{store.folder}: has no conversation with {needed} {'replies' if needed > 1 else 'reply'} that can be {what}; "
                "play the run first, or choose --medium text"
            )
        self.conversations: tuple[Conversation, ...] = tuple(found)
        self.by_id: Mapping[str, Conversation] = {c.id: c for c in found}

    def stimulus(self, context: str, system: str, *, gap_ms: float, degraded: bool = False, after: str | None = None) -> Path:
        """The file of one reply after its gap. `after`: the conversation whose caller is heard before it, if not its own."""
        reply = self.by_id[context].replies[system]
        before = reply if after is None or after == context else self._spoken(after)
        named = ("reply", reply.session or "", f"{gap_ms:.1f}", str(degraded))
        name = _name(*named) if before is reply else _name(*named, before.session or "")

        def make() -> sound.Sound:
            recording = self._store.recording(self._session(reply))
            spoken = sound.reply(recording, reply.spoken_end_ms, reply.onset_ms, reply.end_ms)
            if degraded:
                spoken = sound.degraded(spoken, seed=len(spoken))
            heard = recording if before is reply else self._store.recording(self._session(before))
            return sound.after_gap(sound.caller_turn(heard), spoken, gap_ms)

        return self._kept(name, make)

    def caller(self, context: str) -> Path:
        """The file of the caller's last turn; every agent heard the same one."""
        reply = self._spoken(context)
        return self._kept(
            _name("caller", reply.session or ""), lambda: sound.caller_turn(self._store.recording(self._session(reply)))
        )

    def _spoken(self, context: str) -> Reply:
        """A reply whose recording has the caller's turn."""
        return next(reply for reply in self.by_id[context].replies.values() if reply.session is not None)

    def prepare(self, design: ListeningDesign, progress: Callable[[int, int], None] | None = None) -> None:
        """Make every sound that the design can ask for, so that no rater waits for one."""
        if design.medium == "text":
            return
        jobs: list[Callable[[], Path]] = [self.level, *(partial(self.headphones, k) for k in (1, 2, 3))]
        for conversation in self.conversations:
            jobs.append(partial(self.caller, conversation.id))
            for system, reply in conversation.replies.items():
                gaps = {design.even_gap_ms}
                if True in design.audible_delay:
                    gaps.add(audible_gap_ms(reply, design))
                jobs += [partial(self.stimulus, conversation.id, system, gap_ms=gap) for gap in sorted(gaps)]
                if design.kind == "acr" and design.gold:
                    jobs.append(partial(self.stimulus, conversation.id, system, gap_ms=design.even_gap_ms, degraded=True))
        for number, job in enumerate(jobs, 1):
            job()
            if progress is not None:
                progress(number, len(jobs))

    def level(self) -> Path:
        """The file of the level check."""
        return self._kept(_name("level"), sound.level_tone)

    def headphones(self, quietest: int) -> Path:
        """The file of one headphone trial."""
        return self._kept(_name("headphones", str(quietest)), lambda: sound.headphone_trial(quietest))

    def _session(self, reply: Reply) -> Session:
        if reply.session is None:
            raise KeyError(f"{reply.system} has no sound")
        return self._sessions[reply.session]

    def _kept(self, name: str, make: Callable[[], sound.Sound]) -> Path:
        path = self._folder / name
        if not path.exists():
            part = path.with_suffix(f".{os.getpid()}.part")
            own_file(part).write_bytes(sound.flac(make()))
            part.replace(path)
        return path


def audible_gap_ms(reply: Reply, design: ListeningDesign) -> float:
    """The silence that the caller heard before this reply; none for a reply that began too early."""
    return min(max(reply.onset_ms, 0.0), design.longest_delay_ms)


@lru_cache(maxsize=20_000)
def seconds(path: Path) -> float:
    """The length of a stimulus in seconds."""
    return float(soundfile.info(path).duration)


def _name(*parts: str) -> str:
    return hashlib.sha256("\0".join(("stimulus-1", *parts)).encode()).hexdigest()[:32] + ".flac"


def _conversations(store: RunStore, counted: Sequence[SelectedReply], design: ListeningDesign) -> list[Conversation]:
    found = []
    for context in fit_for_people(store.contexts()):
        replies = {
            each.session.key.agent: reply
            for each in counted
            if each.session.key.context_id == context.id
            and (reply := _reply(each, design, seated=each.session.key.agent in store.manifest.seated)) is not None
        }
        if design.medium == "text":
            replies |= {reference_name(r.id): Reply(context.id, reference_name(r.id), r.text) for r in context.references}
        history = tuple((turn.role, turn.plain) for turn in context.turns)
        found.append(Conversation(context.id, context.subset, history, replies))
    return found


def _reply(counted: SelectedReply, design: ListeningDesign, *, seated: bool) -> Reply | None:
    session, timing = counted.session, counted.session.timing
    if counted.fate != "answered" or timing is None:
        return None
    if design.medium == "sound" and (timing.sound_at_ms is None or not (session.folder / "agent.flac").exists()):
        return None
    onset = timing.sound_at_ms if timing.sound_at_ms is not None else 0.0
    # A person's recording goes on with the sound of the room, which would reveal that no agent spoke.
    end = timing.reply_end_ms if seated else None
    return Reply(session.key.context_id, session.key.agent, counted.text, session.id, timing.spoken_end_ms, onset, end)
