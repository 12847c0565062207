"""One session: open the line, speak on time, record everything that comes back, and end it by the rules.

The frame that is due is handed over inside the pacer's callback and stamped right after, so the recorded departure is
the hand-over itself. Each fault of the line becomes a failure with one of the names in
`harness.agents.connection.FailureKind`, and what was recorded so far is saved. Only a connection that names a fault of the
agent (`ConnectionFailed`, `Closed`) charges it: an exception, from our own code or from a connection, is our own `defect`.

A line that breaks after a turn was answered is no failure: that turn is measured, and the rest was not spoken.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.connection import (
    AudioChunk,
    Cleared,
    Closed,
    Connection,
    ConnectionFailed,
    EndsTurns,
    FailureKind,
    LineReport,
    Mark,
    Transcript,
)
from harness.audio.pcm import resample
from harness.caller.listener import Listener
from harness.caller.pacer import FRAME_NS, Pacer
from harness.caller.plan import SessionOutcome, SessionPlan
from harness.caller.script import Script
from harness.clock import now_ns
from harness.recording.record import Arrival, CallerTrack, Recording, SpokenTurn
from harness.timeline import NS_PER_S

MAX_AGENT_AUDIO_S = 600
"""Sound ahead of time, ten times the longest reply: an agent that sends more is not speaking, and memory is finite. One that
sends all the time sends as much as the call is long."""
CLOSE_TIMEOUT_S = 5.0
_HANG_UPS: Final = frozenset(("closed_early", "hung_up"))
"""Failures of an agent that ends a call in a way that is not polite."""


@dataclass(frozen=True, slots=True)
class AgentSound:
    """The samples of a call, and the place of each message in them."""

    rate_hz: int
    pcm: NDArray[np.int16]
    arrivals: tuple[Arrival, ...]


def at_one_rate(pcm: Sequence[bytes], arrivals: Sequence[Arrival], rates_hz: Sequence[int]) -> AgentSound:
    """The sound of messages, each with its own rate, at the highest of these rates, so that nothing is lost.

    Some agents change their rate within a call: a cached phrase at 24,000 Hz, a synthesiser's answer at 16,000. A run of
    messages of one rate is converted as a whole, so that its pieces join; when each arrived and how long it lasts is untouched.
    """
    best_hz = max(rates_hz)
    parts: list[NDArray[np.int16]] = []
    placed: list[Arrival] = []
    begin = 0
    for rate_hz, run in groupby(range(len(pcm)), key=rates_hz.__getitem__):
        messages = list(run)
        sound = resample(np.frombuffer(b"".join(pcm[k] for k in messages), "<i2").astype(np.int16), rate_hz, best_hz)
        edges = [0, *np.cumsum([arrivals[k].count_samples for k in messages]).tolist()]
        edges = [min(len(sound), round(edge * best_hz / rate_hz)) for edge in edges]
        edges[-1] = len(sound)
        for k, start, end in zip(messages, edges, edges[1:], strict=False):
            placed.append(replace(arrivals[k], offset_samples=begin + start, count_samples=end - start))
        parts.append(sound)
        begin += len(sound)
    return AgentSound(best_hz, np.concatenate(parts), tuple(placed))


class _LineFailed(Exception):
    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


@dataclass
class _Incoming:
    """The agent's messages, as they arrived."""

    rates_hz: list[int] = field(default_factory=list)
    """The rate of each message."""
    pcm: list[bytes] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    clears_ns: list[int] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    transcripts: list[Transcript] = field(default_factory=list)
    line_reports: list[LineReport] = field(default_factory=list)
    samples: int = 0
    seconds: float = 0.0


class _Session:
    def __init__(self, plan: SessionPlan, connection: Connection, pacer: Pacer) -> None:
        self._plan = plan
        self._connection = connection
        self._pacer = pacer
        self._rate_hz = plan.rate_hz
        self._t0_ns = pacer.start_time()
        self._script = Script(plan, self._rate_hz, self._t0_ns)
        self._listener = Listener()
        self._incoming = _Incoming()
        self._dry: list[NDArray[np.int16]] = []
        self._played: list[NDArray[np.int16]] = []
        self._departures: list[int] = []
        self._over: asyncio.Future[SessionOutcome] = asyncio.get_running_loop().create_future()

    async def run(self) -> tuple[Recording, SessionOutcome]:
        reader = asyncio.create_task(self._read())
        self._pacer.add(self._t0_ns + FRAME_NS, self._tick)
        try:
            outcome = await self._over
        except _LineFailed as failure:
            outcome = SessionOutcome("failed", failure.kind, str(failure))
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await reader
        return self._recording(outcome, await self._agent_sound()), outcome

    def _tick(self, deadline_ns: int) -> bool:
        if self._over.done():
            return False
        try:
            self._listener.advance(deadline_ns)
            dry, played = self._script.next_frame(len(self._departures), deadline_ns, self._listener)
            self._connection.send(played.tobytes())
            self._departures.append(now_ns())
            if self._script.turn_ended and isinstance(self._connection, EndsTurns):
                self._connection.end_turn()
            self._dry.append(dry)
            self._played.append(played)
            ended = self._script.ending(deadline_ns, self._listener)
        except Exception as error:
            self._broke(error)
            return False
        if ended is not None:
            self._over.set_result(SessionOutcome(ended))
        return ended is None

    async def _read(self) -> None:
        try:
            async for event in self._connection.events():
                self._take(event)
                if isinstance(event, Closed):
                    return
            self._fail("defect", "the connection's events ended without saying that it closed")
        except Exception as error:
            self._broke(error)

    def _broke(self, error: Exception) -> None:
        self._fail(*_blame(error))

    def _take(self, event: object) -> None:
        incoming = self._incoming
        match event:
            case AudioChunk():
                self._hear(event)
            case Mark():
                incoming.marks.append(event)
                self._listener.note(event)
            case LineReport():
                incoming.line_reports.append(event)
            case Transcript():
                incoming.transcripts.append(event)
            case Cleared(arrival_ns=at_ns):
                incoming.clears_ns.append(at_ns)
                self._listener.clear(at_ns)
            case Closed():
                self._closed(event)

    def _hear(self, chunk: AudioChunk) -> None:
        incoming = self._incoming
        if chunk.rate_hz <= 0 or len(chunk.pcm) % 2:
            self._fail("garbage", f"unusable audio: {len(chunk.pcm)} bytes at {chunk.rate_hz} Hz are not PCM16")
            return
        samples = np.frombuffer(chunk.pcm, "<i2")
        incoming.seconds += len(samples) / chunk.rate_hz
        if incoming.seconds - (chunk.arrival_ns - self._t0_ns) / NS_PER_S > MAX_AGENT_AUDIO_S:
            self._fail("flood", f"the agent sent {MAX_AGENT_AUDIO_S} s more of audio than its session lasted")
            return
        incoming.rates_hz.append(chunk.rate_hz)
        incoming.arrivals.append(Arrival(chunk.arrival_ns, incoming.samples, len(samples), chunk.media))
        incoming.pcm.append(chunk.pcm)
        incoming.samples += len(samples)
        self._listener.hear(chunk.arrival_ns, samples, chunk.rate_hz)

    def _closed(self, event: Closed) -> None:
        if self._over.done():
            return
        at_ns = now_ns()
        self._listener.finish()
        answered = self._script.answered(at_ns, self._listener)
        if event.error is not None:
            kind = event.kind or "closed_early"
            if answered and kind in _HANG_UPS:
                self._over.set_result(SessionOutcome("hung_up", None, event.error))
            else:
                self._fail(kind, event.error)
        elif answered or (self._script.spoken and self._listener.heard_after(self._script.spoken_end_ns())):
            self._over.set_result(SessionOutcome("closed"))
        else:
            self._fail("closed_early", "the agent closed the line before it had answered")

    def _fail(self, kind: FailureKind, detail: str) -> None:
        if not self._over.done():
            self._over.set_exception(_LineFailed(kind, detail))

    async def _agent_sound(self) -> AgentSound:
        """The agent's sound at one rate; at several, it is converted beside the loop, which may be pacing other calls."""
        incoming = self._incoming
        if len(set(incoming.rates_hz)) > 1:
            return await asyncio.to_thread(at_one_rate, incoming.pcm, incoming.arrivals, incoming.rates_hz)
        rate_hz = incoming.rates_hz[0] if incoming.rates_hz else self._connection.capabilities.output_rate_hz
        pcm = np.frombuffer(b"".join(incoming.pcm), "<i2").astype(np.int16)
        return AgentSound(rate_hz or self._rate_hz, pcm, tuple(incoming.arrivals))

    def _recording(self, outcome: SessionOutcome, sound: AgentSound) -> Recording:
        incoming, spoken = self._incoming, tuple(self._script.spoken)
        main = next((turn for turn in reversed(spoken) if turn.kind == "turn"), SpokenTurn(0, 0))
        track = CallerTrack(
            rate_hz=self._rate_hz,
            dry=np.concatenate([np.zeros(0, np.int16), *self._dry]),
            played=np.concatenate([np.zeros(0, np.int16), *self._played]),
            t0_ns=self._t0_ns,
            departures_ns=np.array(self._departures, np.int64),
            speech_start_sample=main.start_sample,
            speech_end_sample=main.end_sample,
            pauses=main.pauses,
            turns=spoken,
        )
        return Recording(
            caller=track,
            agent_rate_hz=sound.rate_hz,
            agent_pcm=sound.pcm,
            arrivals=sound.arrivals,
            clears_ns=tuple(incoming.clears_ns),
            marks=tuple(incoming.marks),
            transcripts=tuple(incoming.transcripts),
            loop_lag_ms=self._pacer.worst_lag_ms(self._t0_ns, now_ns()),
            ended=outcome.failure_kind or outcome.ended,
            detail=outcome.detail,
            planned_turns=self._plan.planned_turns,
            line_reports=tuple(incoming.line_reports),
            full_duplex=self._plan.full_duplex or self._connection.capabilities.full_duplex,
        )


async def play_session(plan: SessionPlan, connection: Connection, pacer: Pacer) -> tuple[Recording, SessionOutcome]:
    """Play one plan over an unopened connection and close it. Nothing that the agent does raises an error.

    The plan's audio must be at the connection's input rate (`harness.caller.server.at_rate`).
    """
    patience = asyncio.timeout(plan.limits.open_s)
    try:
        async with patience:
            await connection.open(plan.history)
    except Exception as error:
        if patience.expired():
            outcome = SessionOutcome("failed", "open_timeout", f"no acknowledgement within {plan.limits.open_s:g} s")
        else:
            outcome = SessionOutcome("failed", *_blame(error))
    else:
        try:
            return await _Session(plan, connection, pacer).run()
        finally:
            await _close(connection)
    await _close(connection)
    return _silent_recording(plan, outcome), outcome


def _blame(error: Exception) -> tuple[FailureKind, str]:
    """The failure that an exception is, and its words."""
    if isinstance(error, ConnectionFailed):
        return error.kind, str(error)
    return "defect", f"{type(error).__name__}: {error}"


async def _close(connection: Connection) -> None:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await connection.close()


def _silent_recording(plan: SessionPlan, outcome: SessionOutcome) -> Recording:
    """The recording of a session that never began."""
    nothing = np.zeros(0, np.int16)
    track = CallerTrack(plan.rate_hz, nothing, nothing, now_ns(), np.zeros(0, np.int64), 0, 0)
    ended = outcome.failure_kind or "failed"
    return Recording(track, plan.rate_hz, nothing, ended=ended, detail=outcome.detail, planned_turns=plan.planned_turns)
