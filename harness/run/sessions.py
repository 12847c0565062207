"""The sessions of a plan, played one after another (or K at once), each stored as soon as it ends.

A session that cannot be played becomes a *named failure* of that session, never the end of the run. Analysis happens between
calls when they come one at a time, and after all of them when several run at once, because it would take the processor from an
agent that is being timed. A run that is stopped ends every lane before any agent is closed, so that no session fails because
its agent was closed: an unfinished session leaves no row, and `--resume` plays it.
"""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from harness.agents.profile import TextProfile
from harness.agents.text import TextFailed, TextReply
from harness.audio.vocal import VocalDetector
from harness.caller import Callers, SessionOutcome
from harness.clock import now_ns
from harness.errors import UserError
from harness.figures.cells import Failure
from harness.machine.call_watch import CallWatch, Watches
from harness.machine.companions import companions_of
from harness.measuring.timings import Timings, keep_timings, timings_from, timings_of
from harness.progress import RunProgress
from harness.recording.machine_track import MACHINE_FILE, MachineTrack, save_machine_track
from harness.recording.record import Recording
from harness.recording.span_file import SPANS_FILE, save_spans
from harness.recording.why_silent import with_words
from harness.replies.agent_words import said, understood
from harness.run.call_plan import call_plan
from harness.run.caller_turns import CallerTurns
from harness.run.greetings import Greetings, spoke_first
from harness.run.plan import RunPlan
from harness.run.running_agents import RunningAgents
from harness.run.text_agents import ask, timing_of
from harness.servers.samples import SERVERS_FILE, ServerSample, save_samples
from harness.servers.scraper import AROUND_NS
from harness.store.run_store import RunStore
from harness.store.session import Session, SessionKey
from harness.store.step_failure import UNREADABLE, StepFailure
from harness.store.unspoken import unspoken_of
from harness.timing.figures import TurnTiming
from harness.wording import of_it_others

LOG_ON_ITS_WAY_S = 0.2
"""Wait for an agent's last line to pass through its supervisor into its log."""


@dataclass(frozen=True, slots=True)
class _Played:
    """One call, with its files in the session's folder."""

    outcome: SessionOutcome
    recording: Recording | None
    track: MachineTrack | None
    samples: tuple[ServerSample, ...]
    started_ns: int
    planned_turns: int


class SessionPlayer:
    """A player of one plan's sessions into one store."""

    def __init__(
        self,
        plan: RunPlan,
        store: RunStore,
        turns: CallerTurns,
        running: RunningAgents,
        callers: Callers,
        vocal: VocalDetector,
        progress: RunProgress,
    ) -> None:
        self._plan = plan
        self._store = store
        self._turns = turns
        self._running = running
        self._callers = callers
        self._vocal = vocal
        self._progress = progress
        self._greetings = Greetings()
        self._watches = Watches()

    async def play_all(self, again: frozenset[str] = frozenset()) -> list[Failure]:
        """Play each session that is unfinished or is to be played again; returns those that could not be played at all."""
        done = self._store.finished_ids() - again
        pending = [key for key in self._plan.session_keys() if key.session_id not in done]
        self._progress.phase("Calls" if self._plan.is_spoken else "Written replies", len(pending))
        if done:
            self._progress.note(f"{len(done)} finished session(s) found, {len(pending)} to play")
        waiting = iter(pending)
        left_out: list[Failure] = []
        try:
            async with asyncio.TaskGroup() as lanes:
                for _ in range(min(self._plan.options.concurrency, len(pending))):
                    lanes.create_task(self._lane(waiting, left_out))
        except BaseExceptionGroup as stopped:
            # The other lanes were only cancelled: the first error is the cause.
            raise stopped.exceptions[0] from stopped
        return left_out

    async def _lane(self, waiting: Iterator[SessionKey], left_out: list[Failure]) -> None:
        """Play one call after another; lanes share the waiting sessions."""
        for key in waiting:
            profile = self._plan.profile(key.agent)
            self._progress.status(f"{key.context_id} · {key.agent}")
            if not await self._running.revive(key.agent):
                self._progress.step(f"{_place(key)}: agent does not run, not played", keep=True)
                left_out.append(not_played(key, self._running.why_given_up(key.agent)))
            elif isinstance(profile, TextProfile):
                await self._ask(key, profile)
            else:
                await self._call(key)

    async def _call(self, key: SessionKey) -> None:
        folder = self._store.partial_folder(key)
        played = await self._played(key, folder)
        if played.recording is not None and self._greetings.is_doubtful(self._plan.profile(key.agent), played.recording):
            played = await self._greeted_or(played, key, folder)
        outcome, recording, track = played.outcome, played.recording, played.track
        session = self._store.commit_session(
            key,
            partial=folder,
            failure_kind=outcome.failure_kind,
            failure_detail=outcome.detail if outcome.failure_kind else "",
            written_text=said(recording) if recording else None,
            understood_text=understood(recording) if recording else None,
            started_ns=played.started_ns,
            ended=recording.ended if recording else outcome.ended,
            planned_turns=played.planned_turns,
            spoken_turns=sum(turn.kind == "turn" for turn in recording.caller.turns) if recording else 0,
        )
        if self._plan.options.concurrency > 1 or session.status == "failed" or recording is None:
            self._progress.step(_line(session, None), keep=True)
            return
        samples = played.samples
        found = await asyncio.to_thread(
            timings_of, session.id, lambda: recording, lambda: track, self._vocal, samples=lambda: samples
        )
        keep_timings(self._store, session.id, found)
        self._progress.step(_measured_line(session, found), keep=True)

    async def _played(self, key: SessionKey, folder: Path) -> _Played:
        greeting = self._greetings.of(self._plan.profile(key.agent))
        plan = call_plan(self._plan, self._turns, key, self._running.connection(key.agent, key.session_id), greeting)
        started_ns, log_end = now_ns(), self._running.log_end(key.agent)
        with self._running.watching_idle(but=key.agent), self._watch(key.agent) as watch:
            outcome = await self._callers.play(plan, folder)
        track = _keep_track(watch, folder)
        samples = self._running.server_samples(key.agent, started_ns - AROUND_NS, now_ns())
        save_samples(samples, folder)
        if spans := self._running.spans(key.agent, started_ns, now_ns()):
            save_spans(spans, folder)
        outcome = await self._named(outcome, key.agent, log_end)
        try:
            recording = _read(folder)
        except UserError as error:
            recording, outcome = None, SessionOutcome("failed", UNREADABLE, str(error))
        if recording is not None:
            self._greetings.learn(key.agent, recording)
            if outcome.failure_kind is not None:
                outcome = replace(outcome, detail=with_words(outcome.detail, recording.marks))
        return _Played(outcome, recording, track, samples, started_ns, plan.planned_turns)

    async def _greeted_or(self, first: _Played, key: SessionKey, folder: Path) -> _Played:
        """A second call by a caller that waits for a greeting, if one comes; otherwise the first call."""
        self._progress.note(f"{_place(key)}: it spoke before its caller had finished; calling again to find out if it greets")
        aside = _set_aside(folder)
        again = await self._played(key, self._store.partial_folder(key))
        greeted = again.recording is not None and again.recording.caller.turns and spoke_first(again.recording)
        _keep_one(folder, aside, greeted=bool(greeted))
        return again if greeted else first

    async def _ask(self, key: SessionKey, profile: TextProfile) -> None:
        folder = self._store.partial_folder(key)
        reply: TextReply | None = None
        failure: TextFailed | None = None
        started_ns, log_end = now_ns(), self._running.log_end(key.agent)
        with self._watch(key.agent) as watch:
            try:
                reply = await ask(profile, self._plan.context(key.context_id), self._running.url(key.agent))
            except TextFailed as error:
                failure = error
        track = _keep_track(watch, folder)
        timing = timing_of(reply, track) if reply else None
        session = self._store.commit_session(
            key,
            partial=folder,
            failure_kind=f"endpoint_{failure.kind}" if failure else None,
            failure_detail=await self._with_words(str(failure), key.agent, log_end) if failure else "",
            written_text=reply.text if reply else None,
            started_ns=started_ns,
            timing=timing,
        )
        self._progress.step(_line(session, timing), keep=True)

    def _watch(self, agent: str) -> AbstractContextManager[CallWatch | None]:
        """A watch of this machine during a call; None for an agent that runs elsewhere or whose process is not visible."""
        caller = self._callers.pids
        started = self._running.pids().get(agent)
        found = companions_of(self._plan.profile(agent), caller)
        if started is None and not found.agent_seen:
            return nullcontext()
        pids = dict.fromkeys((*((started,) if started is not None else ()), *found.pids))
        return self._watches.watch(tuple(pids), caller)

    async def _named(self, outcome: SessionOutcome, agent: str, log_end: int) -> SessionOutcome:
        if outcome.failure_kind is None:
            return outcome
        detail = await self._with_words(outcome.detail, agent, log_end)
        # A failure of our own stays ours, even if the agent has died of it.
        its_own = outcome.failure_kind != "defect" and not self._running.alive(agent)
        return SessionOutcome("failed", "agent_died" if its_own else outcome.failure_kind, detail)

    async def _with_words(self, detail: str, agent: str, log_end: int) -> str:
        """The error, followed by the end of the agent's log from the call."""
        await asyncio.sleep(LOG_ON_ITS_WAY_S)
        words = self._running.words_since(agent, log_end)
        return f"{detail}; what it logged meanwhile:\n{words}" if words else detail


def not_played(key: SessionKey, why: str) -> Failure:
    """A session that was left out, with the reason; `--resume` plays it."""
    return Failure(context=key.context_id, agent=key.agent, condition=key.condition, kind="not_played", detail=why)


def _read(folder: Path) -> Recording | None:
    from harness.recording.files import load

    return load(folder) if any(path.name not in (MACHINE_FILE, SPANS_FILE, SERVERS_FILE) for path in folder.iterdir()) else None


def _set_aside(folder: Path) -> Path:
    return folder.rename(folder.with_name(f"{folder.name}-first"))


def _keep_one(folder: Path, aside: Path, *, greeted: bool) -> None:
    """Keep the files of the call that counts as the session's, of two calls."""
    shutil.rmtree(aside if greeted else folder)
    if not greeted:
        aside.rename(folder)


def _keep_track(watch: CallWatch | None, folder: Path) -> MachineTrack | None:
    track = watch.track if watch is not None else None
    if track is not None:
        save_machine_track(track, folder)
    return track


def measure_missing(store: RunStore, vocal: VocalDetector, progress: RunProgress) -> None:
    """Time each finished session without figures: after simultaneous calls, or in a resumed run."""
    sessions = [s for s in store.sessions() if s.status == "finished" and s.timing is None]
    sessions = [s for s in sessions if (s.folder / "recording.json").exists()]
    if not sessions:
        return
    progress.phase("Measuring", len(sessions))
    for session in sessions:
        found = timings_from(store, session, vocal)
        keep_timings(store, session.id, found)
        progress.step(_measured_line(session, found), keep=True)


def _place(key: SessionKey) -> str:
    extra = "".join(
        f" · {part}" for part in (key.condition, f"#{key.repeat + 1}" if key.repeat else "") if part not in ("", "clean")
    )
    return f"{key.context_id} · {key.agent}{extra}"


def _measured_line(session: Session, found: Timings | StepFailure) -> str:
    if isinstance(found, StepFailure):
        return f"{_place(session.key)}: could not be measured ({found.detail})"
    return _line(session, found[-1])


def _line(session: Session, timing: TurnTiming | None) -> str:
    left = unspoken_of(session) if session.status == "finished" else None
    return f"{_figures_line(session, timing)}; {left.words}" if left is not None else _figures_line(session, timing)


def _figures_line(session: Session, timing: TurnTiming | None) -> str:
    place = _place(session.key)
    if session.status == "failed":
        why = session.failure_detail.splitlines()[:1]
        return " ".join([f"{place}: failed ({session.failure_kind})", *why])
    if timing is None:
        return f"{place}: played"
    filler = timing.answer_ms is not None and timing.answer_ms != timing.ttfa_ms
    ttft = f", answer {timing.answer_ms:,.0f} ms" if filler else ""
    ttft += f", greeted after {timing.greeting_ms:,.0f} ms" if timing.greeting_ms is not None else ""
    ttft += f", TTFT {timing.ttft_ms:,.0f} ms" if timing.ttft_ms is not None else ""
    ttft += f", withdrew {timing.withdrawn_ms:,.0f} ms of sound" if timing.withdrawn_ms is not None else ""
    first = "ttft" if timing.ttfa_ms is None and timing.ttft_ms is not None else "ttfa"
    if beside := of_it_others(timing.owed_ms(first), timing.contention.others if timing.contention is not None else ()):
        ttft += f", {beside}"
    if timing.no_reply:
        return f"{place}: no reply{f': {timing.why_silent}' if timing.why_silent else ''}{ttft}"
    if timing.discarded:
        return f"{place}: discarded ({timing.discarded}){ttft}"
    if timing.signed_ms is not None:
        return f"{place}: began {-timing.signed_ms:,.0f} ms before the caller had finished{ttft}"
    ttfa = f"TTFA {timing.ttfa_ms:,.0f} ms" if timing.ttfa_ms is not None else "text model"
    return f"{place}: {ttfa}{ttft}"
