"""The conduct of a known agent in one call: the sound that is due next, and the truth of the sound that was sent.

It decides by the clock and the caller's level alone, so that it can be asked at any time and on any wire: a wire gives it the
caller's samples as they arrive, takes from it each message that is due, and says when it was sent. The truth is of the
messages as they were sent and not as they were planned, so a busy machine makes an agent late and its truth no less true. A
listener plays a message when it arrives, or when the sound before it is over; silence without end never delays a sound.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import soxr

from harness.audio.level import AUDIBLE_RMS
from harness.audio.pcm import Int16
from harness.clock import now_ns
from harness.known.behaviours import GAP_AT_MS, Behaviour, Part
from harness.known.ear import Ear
from harness.known.sounds import dc, noise, sound
from harness.known.truth import TurnTruth
from harness.timeline import NS_PER_MS, NS_PER_S, samples_to_ns

MESSAGE_MS: Final = 40.0
STREAM_MS: Final = 20.0
"""A message of a bed, and of a reply in real time."""
LONGEST_WAIT_S: Final = 0.02
"""A frame of the caller, by which what is due can change."""
NO_REPLY_NS: Final = 1_000 * NS_PER_MS
"""Silence that ends a turn which nothing answers."""
BED_DB: Final = -62.0
ECHO_MS, ECHO_GAIN = 120.0, 10 ** (-30 / 20)
STALL_AFTER_MS: Final = 200.0
"""The begin of a stall, after the caller's."""
GAP_FROM_MS: Final = 20.0
"""Silence between two messages from which it is a gap, and not a scheduler's lateness."""
Log = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Message:
    """Sound to be sent now. `marks`: what begins in it, and at which sample."""

    samples: Int16
    marks: tuple[tuple[str, int], ...] = ()
    turn: int = 0
    sounding: bool = True
    """False for a bed in which nothing of a reply is heard, which delays nothing."""
    continues: bool = False
    """True if the message before it is of the same sound."""
    ends: bool = False
    """True if its sound is over with it."""


@dataclass(slots=True)
class _Voice:
    """A sound that is on its way. `due_ns`: when its first sample is to be sent."""

    due_ns: int
    samples: Int16
    marks: list[tuple[str, int]]
    turn: int
    late_from: int | None = None
    sent: int = 0


@dataclass(slots=True)
class _Turn:
    """A turn of the caller, as far as it is known."""

    number: int
    end_ns: int = 0
    answered: bool = False
    cut: bool = False
    onsets: list[tuple[str, int]] = field(default_factory=list)
    yield_ms: float | None = None
    gap_ms: float | None = None


class Conduct:
    """One call to an agent of known behaviour. `streams`: the wire carries sound without end, as a telephone line does;
    `rings_ns`: see `Ear`."""

    def __init__(
        self, behaviour: Behaviour, call: str, *, hears_hz: int, says_hz: int, seed: int = 0, streams: bool = False,
        rings_ns: int = 0, log: Log = lambda _: None,
    ) -> None:  # fmt: skip
        self.behaviour, self.call, self.says_hz = behaviour, call, says_hz
        self.over = False
        self._ear, self._seed, self._log = Ear(hears_hz, rings_ns), seed, log
        self._streams = streams or behaviour.bed != "none"
        self._opened_ns = now_ns()
        self._stream_ns = 0
        self._frames = 0
        self._stalled_until_ns = 0
        self._voices: list[_Voice] = []
        self._turns: list[_Turn] = []
        self._until_ns = self._audible_until_ns = 0
        self._answer_ns = 0
        self._bed = self._bed_of_call()
        self._to_says = soxr.ResampleStream(hears_hz, says_hz, 1, dtype="int16")
        self._heard = np.zeros(0, np.int16)
        self._heard_to_ns = 0
        self._interrupted_ns = 0
        self._tell("open", self._opened_ns, 0)
        self._begin_sounds("open", self._opened_ns, 0)

    def hear(self, samples: Int16, arrived_ns: int) -> None:
        """The caller's next samples, the last of which was spoken as they arrived."""
        if self.behaviour.bed == "echo":
            # By length and not by arrival, or the echo would jump with every late message.
            heard = self._to_says.resample_chunk(samples)
            self._heard_to_ns = (self._heard_to_ns or arrived_ns) + samples_to_ns(len(heard), self.says_hz)
            self._heard = np.concatenate([self._heard, heard])[-self.says_hz :]
        before_ns = self._ear.end_ns
        if self._ear.hear(samples, arrived_ns):
            self._caller_begins(self._ear.begin_ns)
        elif self._turns and self._turns[-1].answered and self._ear.end_ns > before_ns:
            # The answer came within a closure: the turn was not over, and the answer has cut into it.
            self._turns[-1].end_ns = self._ear.end_ns

    def _caller_begins(self, at_ns: int) -> None:
        interrupts = at_ns < self._audible_until_ns or any(each.sent for each in self._voices)
        if not self._turns or self._turns[-1].answered:
            self._turns.append(_Turn(len(self._turns) + 1))
            self._tell("caller_begin", at_ns, self._turns[-1].number)
            self._begin_sounds("begin", at_ns, self._turns[-1].number)
            self._stalled_until_ns = at_ns + round((STALL_AFTER_MS + self.behaviour.stall_ms) * NS_PER_MS)
        if interrupts and self.behaviour.yields_ms is not None:
            self._interrupted_ns = at_ns

    async def messages(self, *, once: bool = False) -> AsyncIterator[Message]:
        """Each message when it is due; the end of them is the agent's own end of the call, or with `once` that of a turn."""
        hangs_up = self.behaviour.hangs_up_ms is not None
        while not self.over and not (once and self._turns[-1].answered and not self._voices and not hangs_up):
            now = now_ns()
            decides_ns = self._decide(now)
            message, due_ns = self._streamed(now) if self._streams else self._spoken(now)
            if message is not None:
                yield message
            elif not self.over:
                await asyncio.sleep(min(LONGEST_WAIT_S, max(0, min(due_ns, decides_ns) - now) / NS_PER_S))

    def sent(self, message: Message, sent_ns: int) -> None:
        """Write down what a listener hears of a message that was sent at this time."""
        start_ns = max(sent_ns, self._until_ns) if message.sounding else sent_ns
        if message.sounding:
            if message.continues and start_ns - self._until_ns > GAP_FROM_MS * NS_PER_MS:
                self._gap(message.turn, self._until_ns, (start_ns - self._until_ns) / NS_PER_MS)
            self._until_ns = start_ns + samples_to_ns(len(message.samples), self.says_hz)
            loud = np.flatnonzero(np.abs(message.samples.astype(np.int32)) > AUDIBLE_RMS)
            if len(loud):
                self._audible_until_ns = start_ns + samples_to_ns(int(loud[-1]) + 1, self.says_hz)
        for what, at in message.marks:
            at_ns = start_ns + samples_to_ns(at, self.says_hz)
            if what == "gap":
                self._gap(message.turn, at_ns, self.behaviour.silent_ms or self.behaviour.late_ms)
                continue
            self._tell(what, at_ns, message.turn)
            if message.turn:
                self._turns[message.turn - 1].onsets.append((what, at_ns))
            if what == "answer":
                self._answer_ns = self._answer_ns or at_ns

    def close(self, reason: str = "closed") -> None:
        """End the call."""
        if not self.over:
            self.over = True
            self._tell(reason, now_ns(), len(self._turns))

    def truths(self) -> list[TurnTruth]:
        """The true figures of every turn so far that has ended."""
        return [self._truth(turn) for turn in self._turns if turn.end_ns]

    def _truth(self, turn: _Turn) -> TurnTruth:
        def first(*kinds: str) -> float | None:
            after = [at_ns for what, at_ns in turn.onsets if what in kinds and at_ns >= turn.end_ns]
            return (min(after) - turn.end_ns) / NS_PER_MS if after else None

        cuts = [at_ns for what, at_ns in turn.onsets if what != "sound" and at_ns < turn.end_ns]
        return TurnTruth(
            self.call, self.behaviour.name, "live", turn.number, (turn.end_ns - self._opened_ns) / NS_PER_S,
            first("sound", "speech", "answer"), first("speech", "answer"), first("answer"), turn.yield_ms,
            (min(cuts) - turn.end_ns) / NS_PER_MS if cuts else None, turn.gap_ms,
        )  # fmt: skip

    def _decide(self, now: int) -> int:
        """Let the sounds begin whose time has come, fall silent, or end the call; the time of the next such decision."""
        does = self.behaviour
        if does.hangs_up_ms is not None and self._answer_ns and now >= self._answer_ns + does.hangs_up_ms * NS_PER_MS:
            self.close("hung_up")
        if self._interrupted_ns and does.yields_ms is not None and now >= self._interrupted_ns + does.yields_ms * NS_PER_MS:
            self._voices = [each for each in self._voices if not each.sent]
            self._turns[-1].yield_ms = (self._audible_until_ns - self._interrupted_ns) / NS_PER_MS
            self._tell("yield", self._audible_until_ns, self._turns[-1].number)
            self._interrupted_ns = 0
        if not self._turns or self._turns[-1].answered:
            return now + NS_PER_S
        turn = self._turns[-1]
        end_ns = turn.end_ns = self._ear.end_ns
        starts = {part.anchor: self._voice(part, end_ns, turn.number).due_ns for part in reversed(does.parts)}
        # A frame of a stream is sent as it begins, so a sound within it is decided by then.
        by_ns = now + (round(STREAM_MS * NS_PER_MS) if self._streams else 0)
        if not turn.cut and by_ns >= starts.get("pause", by_ns + 1):
            turn.cut = True
            self._begin_sounds("pause", end_ns, turn.number)
        if by_ns >= starts.get("end", end_ns + NO_REPLY_NS):
            turn.answered = True
            self._tell("caller_end", end_ns, turn.number)
            self._begin_sounds("end", end_ns, turn.number)
        return min((at_ns for at_ns in starts.values() if at_ns > now), default=now + NS_PER_S)

    def _begin_sounds(self, anchor: str, at_ns: int, turn: int) -> None:
        self._voices += [self._voice(part, at_ns, turn) for part in self.behaviour.parts if part.anchor == anchor]

    def _voice(self, part: Part, anchor_ns: int, turn: int) -> _Voice:
        """The sound of a part, which is due so much earlier as silence precedes its voice."""
        does, found = self.behaviour, sound(part.sound, self.says_hz, self._seed + turn)
        lead = self._samples(does.lead_ms) if part.sound == "answer" else 0
        due_ns = anchor_ns + round(does.at_ms(part) * NS_PER_MS) - samples_to_ns(lead, self.says_hz)
        if found.kind != "answer" or not (lead or does.silent_ms or does.late_ms):
            return _Voice(due_ns, found.samples, [(found.kind, lead)], turn)
        gap_at = self._samples(GAP_AT_MS)
        # A stream without end has no late messages: what is late is silence in it.
        silent = self._samples(does.silent_ms or (does.late_ms if self._streams else 0.0))
        parts = (np.zeros(lead, np.int16), found.samples[:gap_at], np.zeros(silent, np.int16), found.samples[gap_at:])
        marks: list[tuple[str, int]] = [(found.kind, lead), *([("gap", lead + gap_at)] if silent else [])]
        late_from = lead + gap_at if does.late_ms and not self._streams else None
        return _Voice(due_ns, np.concatenate(parts), marks, turn, late_from)

    def _samples(self, ms: float) -> int:
        return round(ms * self.says_hz / 1e3)

    def _spoken(self, now: int) -> tuple[Message | None, int]:
        """The next message of a reply if it is due, and when it is due."""
        if not self._voices:
            return None, now + NS_PER_S
        voice, pace = self._voices[0], self.behaviour.pace
        due_ns = voice.due_ns + (round(samples_to_ns(voice.sent, self.says_hz) / pace) if pace else 0)
        size = self._samples(STREAM_MS if pace == 1.0 else MESSAGE_MS) if pace else len(voice.samples)
        if voice.late_from is not None and voice.sent < voice.late_from:
            size = min(size, voice.late_from - voice.sent)
        elif voice.late_from is not None:
            due_ns += round(self.behaviour.late_ms * NS_PER_MS)
        return (self._piece(voice, size) if now >= due_ns else None), due_ns

    def _piece(self, voice: _Voice, size: int) -> Message:
        start, end = voice.sent, min(voice.sent + size, len(voice.samples))
        marks = tuple((what, at - start) for what, at in voice.marks if start <= at < end)
        voice.sent = end
        if end == len(voice.samples):
            self._voices.remove(voice)
        return Message(voice.samples[start:end], marks, voice.turn, continues=start > 0, ends=end == len(voice.samples))

    def _streamed(self, now: int) -> tuple[Message | None, int]:
        """The next frame of a stream without end if it is due, with the sounds laid into it, and when it is due."""
        size = self._samples(STREAM_MS)
        # From the first frame and not from the opening: what a wire's greetings took is no sound that is due.
        self._stream_ns = self._stream_ns or now
        frame_ns = self._stream_ns + samples_to_ns(self._frames * size, self.says_hz)
        stall_ns = self._stalled_until_ns - round(self.behaviour.stall_ms * NS_PER_MS)
        due_ns = self._stalled_until_ns if stall_ns <= frame_ns < self._stalled_until_ns else frame_ns
        if now < due_ns:
            return None, due_ns
        frame, marks, turn, sounding = self._bed_frame(size, frame_ns), list[tuple[str, int]](), 0, False
        begun = [each for each in self._voices if each.due_ns < frame_ns + samples_to_ns(size, self.says_hz)]
        for voice in begun:
            at = max(0, round((voice.due_ns - frame_ns) * self.says_hz / NS_PER_S)) if not voice.sent else 0
            piece = self._piece(voice, max(1, size - at))
            at = min(at, size - 1)
            frame[at : at + len(piece.samples)] += piece.samples
            marks += [(what, at + k) for what, k in piece.marks]
            turn, sounding = voice.turn, sounding or bool(np.abs(piece.samples).max(initial=0) > AUDIBLE_RMS)
        self._frames += 1
        return Message(np.clip(frame, -32_768, 32_767).astype(np.int16), tuple(marks), turn, sounding), due_ns

    def _bed_of_call(self) -> Int16:
        """A second of the bed, which repeats."""
        if self.behaviour.bed == "noise":
            return np.round(noise(8.0, self.says_hz, BED_DB) * 32_768).astype(np.int16)
        return dc(self.says_hz) if self.behaviour.bed == "dc" else np.zeros(self.says_hz, np.int16)

    def _bed_frame(self, size: int, frame_ns: int) -> Any:
        if self.behaviour.bed == "echo":
            ago_ns = self._heard_to_ns - frame_ns + round(ECHO_MS * NS_PER_MS)
            at = len(self._heard) - round(ago_ns * self.says_hz / NS_PER_S)
            part = self._heard[max(0, at) : max(0, at + size)]
            return np.round(np.pad(part, (max(0, min(size, -at)), size))[:size] * ECHO_GAIN).astype(np.int32)
        return np.take(self._bed, np.arange(self._frames * size, (self._frames + 1) * size), mode="wrap").astype(np.int32)

    def _gap(self, turn: int, at_ns: int, ms: float) -> None:
        self._tell("gap", at_ns, turn, ms=ms)
        if turn:
            found = self._turns[turn - 1]
            found.gap_ms = max(ms, found.gap_ms or 0.0)

    def _tell(self, what: str, at_ns: int, turn: int, **more: float) -> None:
        self._log({"event": what, "call": self.call, "behaviour": self.behaviour.name, "turn": turn, "at_ns": at_ns, **more})
