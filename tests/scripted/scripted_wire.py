"""A scripted agent inside the caller's process, whose delays are all known.

A measurement can only be proven against an agent whose truth is known, and most tests of a run need no models, no network
and no second process. This one listens as an endpointer does, only exactly (it knows the last loud sample of the caller),
and speaks by script. What it did, and when, stays readable as `truth` on the monotonic clock.

Times are exact in intent and stamped in fact: a chunk is due at a programmed instant, its `arrival_ns` is when it was
really given out, and the truth has both.

A `full_duplex` script sends sound from the opened line to the end, as models do that listen while they speak: a unit of 80 ms
every 80 ms, with its replies laid into it.
"""

import asyncio
import bisect
import contextlib
import itertools
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from scripted_sound import Piece, render

from harness.agents.connection import (
    AudioChunk,
    Capabilities,
    Cleared,
    Connection,
    ConnectionFailed,
    Event,
    FailureKind,
    Mark,
    Transcript,
)
from harness.agents.connections.inbox import Inbox, Limits
from harness.agents.connections.wire import refuse_history
from harness.agents.message import Message

LOUD = 100
"""A caller sample above this (−50 dB of full scale) is speech: far over rounding, far under any spoken vowel."""

_LOOK_S = 0.005
_UNIT_NS = 80_000_000
_NOISE_MS = 8_000.0
"""Length after which comfort noise repeats itself: a hundred units."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScriptedMark(_Settings):
    """A mark `at_ms` from the start of its reply (negative: before it), sent when the reply starts."""

    name: str
    at_ms: float
    detail: dict[str, Any] = Field(default_factory=dict)


class ScriptedReply(_Settings):
    """A reply, `delay_ms` after the caller's first sample (`start`) or after the caller's last loud one.

    After `speech_end` it is said once, the first time that silence has lasted so long: in a pause, if one is long enough. With
    the script's `speech_end_sample` it counts from that sample, pauses or not, and may be negative.
    """

    after: Literal["speech_end", "start"] = "speech_end"
    delay_ms: float
    sound: tuple[Piece, ...]
    text: str | None = None
    marks: tuple[ScriptedMark, ...] = ()
    chunk_ms: Annotated[float, Field(gt=0, le=60_000)] = 40.0
    pace: Annotated[float, Field(ge=0, le=100)] = 2.0
    """Speed of chunks as a multiple of real time (pipecat's transport: 2); 0 gives them out at once."""


class ScriptedStall(_Settings):
    """A time of a full-duplex script in which no unit is sent, `at_ms` after the line was opened; those due follow at once."""

    at_ms: float
    ms: float


class Script(_Settings):
    """The behaviour of a scripted agent in one session."""

    replies: tuple[ScriptedReply, ...] = ()
    understood: str | None = None
    """Transcript of the caller, sent when the first reply starts."""
    speech_end_sample: int | None = None
    input_rate_hz: int = 16_000
    output_rate_hz: int = 24_000
    accepts_history: bool = True
    full_duplex: bool = False
    """True if it sends all the time; `chunk_ms`, `pace` and `yields_after_ms` are then not used."""
    comfort_noise_db: float | None = None
    """Level of the noise between a full-duplex script's replies; None: digital silence."""
    stalls: tuple[ScriptedStall, ...] = ()
    open_delay_ms: float = 0.0
    refuses: str | None = None
    yields_after_ms: float | None = None
    """Delay after a barge-in until it is silent and clears; None: it talks on."""
    closes_after_ms: float | None = None
    """Time after the caller's first sample at which it hangs up."""
    close_error: str | None = None
    close_kind: FailureKind | None = None
    truth_path: Path | None = None
    """File for the truth as JSON when the session ends, for tests in another process."""


@dataclass(slots=True)
class ReplyTruth:
    """The true times of one reply, in ns of the monotonic clock."""

    reply: int
    due_ns: int
    """Planned time of its first chunk."""
    given_ns: list[int] = field(default_factory=list)
    """Actual time of each chunk: the `arrival_ns` of its event."""
    lead_silence_ms: float = 0.0
    """Silence at the beginning of its sound."""
    barge_in_ns: int | None = None
    cleared_ns: int | None = None
    start_ns: int | None = None
    """Time at which it begins in a full-duplex script's sound; None until its first unit is sent."""


@dataclass(slots=True)
class Truth:
    """The true times of a scripted session."""

    t0_ns: int | None = None
    """Time of the (virtual) caller sample before the first; sample n was spoken at `t0_ns + (n + 1) / rate`."""
    history: list[tuple[str, str]] = field(default_factory=list)
    replies: list[ReplyTruth] = field(default_factory=list)


class ScriptedConnection:
    """A `Connection` to a script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.capabilities = Capabilities(
            script.accepts_history, script.input_rate_hz, script.output_rate_hz, script.full_duplex
        )
        self._sounds = [render(reply.sound, script.output_rate_hz) for reply in script.replies]
        self._inbox = Inbox(Limits())
        self._tasks: list[asyncio.Task[None]] = []
        self._began = asyncio.Event()
        self._received_samples = 0
        self._last_loud_sample: int | None = None
        self._loud_starts: list[int] = []
        self.truth = Truth()

    async def open(self, history: Sequence[Message]) -> None:
        await asyncio.sleep(self._script.open_delay_ms / 1e3)
        if self._script.refuses is not None:
            self._end(self._script.refuses, "refused")
            raise ConnectionFailed(self._script.refuses)
        refuse_history(history, self._script.accepts_history, "set accepts_history in the script")
        self.truth.history = [(turn.role, turn.text) for turn in history]
        self._tasks = [asyncio.create_task(self._perform(index)) for index in range(len(self._script.replies))]
        if self._script.full_duplex:
            self._tasks.append(asyncio.create_task(self._stream()))
        if self._script.closes_after_ms is not None:
            self._tasks.append(asyncio.create_task(self._hang_up(self._script.closes_after_ms)))

    def send(self, frame: bytes) -> None:
        if self._inbox.ended is not None:
            return
        now_ns = time.monotonic_ns()
        samples = np.frombuffer(frame, np.int16)
        loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > LOUD)
        if loud.size:
            self._last_loud_sample = self._received_samples + int(loud[-1])
            self._loud_starts.append(self._received_samples + int(loud[0]))
        self._received_samples += samples.size
        # A frame may come late but never early, so the earliest start that any frame implies is the best one known.
        implied_ns = now_ns - self._since_start_ns(self._received_samples)
        self.truth.t0_ns = implied_ns if self.truth.t0_ns is None else min(self.truth.t0_ns, implied_ns)
        self._began.set()

    def events(self) -> AsyncIterator[Event]:
        return self._inbox.events()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        self._end(None, None)

    async def _perform(self, index: int) -> None:
        script, reply = self._script, self._script.replies[index]
        due_ns = await self._due(reply)
        sound = self._sounds[index]
        truth = ReplyTruth(index, due_ns, lead_silence_ms=_lead_silence_ms(sound, script.output_rate_hz))
        self.truth.replies.append(truth)
        if script.full_duplex:
            return
        chunk_samples = max(1, round(reply.chunk_ms * script.output_rate_hz / 1e3))
        chunks = [sound[at : at + chunk_samples] for at in range(0, sound.size, chunk_samples)]
        begin_sample = self._received_samples
        for count, chunk in enumerate(chunks):
            chunk_due_ns = due_ns + (round(count * reply.chunk_ms * 1e6 / reply.pace) if reply.pace else 0)
            if await self._barged_in_before(chunk_due_ns, begin_sample, truth):
                return
            if count == 0:
                self._tell(index, due_ns)
            now_ns = time.monotonic_ns()
            truth.given_ns.append(now_ns)
            self._inbox.put(AudioChunk(now_ns, chunk.astype("<i2").tobytes(), script.output_rate_hz))
        audible_until_ns = due_ns + round(sound.size * 1e9 / script.output_rate_hz)
        await self._barged_in_before(audible_until_ns, begin_sample, truth)

    async def _stream(self) -> None:
        """Send a unit every 80 ms, with what the replies that have begun say in that time."""
        script, rate_hz = self._script, self._script.output_rate_hz
        size, opened_ns = _UNIT_NS * rate_hz // 10**9, time.monotonic_ns()
        noise = np.zeros(size, np.int16)
        if script.comfort_noise_db is not None:
            noise = render((Piece(kind="noise", ms=_NOISE_MS, level_db=script.comfort_noise_db),), rate_hz)
        for count in itertools.count():
            due_ns = opened_ns + count * _UNIT_NS
            stalled = (opened_ns + round((s.at_ms + s.ms) * 1e6) for s in script.stalls if s.at_ms <= count * _UNIT_NS / 1e6)
            await _sleep_until(max([due_ns, *stalled]))
            unit = np.take(noise, np.arange(count * size, (count + 1) * size), mode="wrap").astype(np.int32)
            now_ns = time.monotonic_ns()
            for truth in self.truth.replies:
                self._lay_into(unit, due_ns, truth, now_ns)
            self._inbox.put(AudioChunk(now_ns, unit.clip(-32_768, 32_767).astype("<i2").tobytes(), rate_hz))

    def _lay_into(self, unit: NDArray[np.int32], unit_ns: int, truth: ReplyTruth, now_ns: int) -> None:
        """Add the part of a reply that is due in a unit."""
        if truth.start_ns is None:
            if truth.due_ns >= unit_ns + _UNIT_NS:
                return
            truth.start_ns = max(truth.due_ns, unit_ns)
            self._tell(truth.reply, truth.start_ns)
            truth.lead_silence_ms += (truth.start_ns - unit_ns) / 1e6
        sound = self._sounds[truth.reply]
        at = round((truth.start_ns - unit_ns) * self._script.output_rate_hz / 1e9)
        part = sound[max(0, -at) : max(0, len(unit) - at)]
        if len(part):
            truth.given_ns.append(now_ns)
            unit[max(0, at) : max(0, at) + len(part)] += part

    async def _due(self, reply: ScriptedReply) -> int:
        """Wait until shortly before the reply is due; the instant at which it is."""
        await self._began.wait()
        delay_ns = round(reply.delay_ms * 1e6)
        known_end = self._script.speech_end_sample
        if reply.after == "start" or known_end is not None:
            offset = 0 if reply.after == "start" or known_end is None else known_end + 1
            return self._t0_ns() + self._since_start_ns(offset) + delay_ns
        while True:
            last_loud = self._last_loud_sample
            if last_loud is not None:
                due_ns = self._t0_ns() + self._since_start_ns(last_loud + 1) + delay_ns
                await _sleep_until(due_ns)
                if self._last_loud_sample == last_loud:
                    return due_ns
            else:
                await asyncio.sleep(_LOOK_S)

    async def _barged_in_before(self, until_ns: int, begin_sample: int, truth: ReplyTruth) -> bool:
        """Wait until an instant; True if the caller spoke over the reply, which is then cleared."""
        patience_ms = self._script.yields_after_ms
        while (now_ns := time.monotonic_ns()) < until_ns:
            over = bisect.bisect_left(self._loud_starts, begin_sample)
            if patience_ms is not None and over < len(self._loud_starts):
                truth.barge_in_ns = self._t0_ns() + self._since_start_ns(self._loud_starts[over] + 1)
                await _sleep_until(truth.barge_in_ns + round(patience_ms * 1e6))
                truth.cleared_ns = time.monotonic_ns()
                self._inbox.put(Cleared(truth.cleared_ns))
                return True
            await asyncio.sleep(min((until_ns - now_ns) / 1e9, _LOOK_S if patience_ms is not None else 60.0))
        return False

    def _tell(self, index: int, due_ns: int) -> None:
        """Marks and transcripts of a reply that starts now."""
        reply, now_ns = self._script.replies[index], time.monotonic_ns()
        for mark in reply.marks:
            self._inbox.put(Mark(mark.name, due_ns + round(mark.at_ms * 1e6), now_ns, mark.detail))
        if self._script.understood is not None and len(self.truth.replies) == 1:
            self._inbox.put(Transcript(now_ns, "user", self._script.understood, True))
        if reply.text is not None:
            self._inbox.put(Transcript(now_ns, "assistant", reply.text, True))

    async def _hang_up(self, after_ms: float) -> None:
        await self._began.wait()
        await _sleep_until(self._t0_ns() + round(after_ms * 1e6))
        self._end(self._script.close_error, self._script.close_kind)

    def _end(self, error: str | None, kind: FailureKind | None) -> None:
        if self._inbox.ended is not None:
            return
        self._inbox.end(error, kind)
        if self._script.truth_path is not None:
            with contextlib.suppress(OSError):
                self._script.truth_path.write_text(json.dumps(asdict(self.truth)))

    def _t0_ns(self) -> int:
        assert self.truth.t0_ns is not None
        return self.truth.t0_ns

    def _since_start_ns(self, samples: int) -> int:
        return round(samples * 1e9 / self._script.input_rate_hz)


async def _sleep_until(instant_ns: int) -> None:
    await asyncio.sleep(max(0.0, (instant_ns - time.monotonic_ns()) / 1e9))


def _lead_silence_ms(sound: NDArray[np.int16], rate_hz: int) -> float:
    loud = np.flatnonzero(np.abs(sound.astype(np.int32)) > LOUD)
    return float(loud[0]) * 1e3 / rate_hz if loud.size else 0.0


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A scripted agent; the options are a `Script`. `url` is not used, nor `open_timeout_s`: it opens when it says."""
    del url
    script = {name: value for name, value in options.items() if name != "open_timeout_s"}
    return ScriptedConnection(Script.model_validate(script))
