"""The plan, played frame by frame: which samples the next frame carries, and when the session is over.

A pure state machine over times that it is given, so that every rule can be tested without waiting for it. A turn starts
on a frame boundary, silence fills every other frame at exactly the same rate, and nothing is ever sent faster than it
would be spoken.
"""

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from harness.caller.listener import Listener
from harness.caller.plan import CallerTurn, SessionPlan
from harness.recording.record import FRAME_MS, Pause, SpokenTurn
from harness.replies.ending import Asked, reply_over_ns
from harness.timeline import NS_PER_MS, NS_PER_S, samples_to_ns

_NEXT_RING_NS: Final = 6 * NS_PER_S
"""The silence of a ringing tone is 3 to 5 s (ITU-T E.180); one more is the margin."""


class Script:
    """Position in one plan while it is played. Frame k covers samples `k * frame_samples` onwards."""

    def __init__(self, plan: SessionPlan, rate_hz: int, t0_ns: int) -> None:
        self.frame_samples = rate_hz * FRAME_MS // 1000
        self.spoken: list[SpokenTurn] = []
        self._nothing = np.zeros(self.frame_samples, np.int16)
        self._plan = plan
        self._rate_hz = rate_hz
        self._t0_ns = t0_ns
        self._lead_in_frames = round(plan.lead_in_ms / FRAME_MS)
        self._waiting = list(plan.turns)
        self._speaking: CallerTurn | None = None
        self._position = 0
        self._noise_position = 0
        self._spoken_end_ns = 0
        self.turn_ended = False
        """True if the latest frame was the last of something that the caller said."""

    @property
    def only_barge_ins_wait(self) -> bool:
        """True if only interruptions are left to say, which cannot take place once the reply is over."""
        return all(turn.start == "into_reply" for turn in self._waiting)

    def answered(self, now_ns: int, listener: Listener) -> bool:
        """True if the agent has replied to at least one turn, from beginning to end."""
        if sum(turn.kind == "turn" for turn in self.spoken) > 1:
            return True
        return bool(self.spoken) and self._speaking is None and self._reply_is_over(now_ns, listener)

    def next_frame(self, frame: int, now_ns: int, listener: Listener) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """The dry and the played samples of frame `frame`, each `frame_samples` long."""
        self.turn_ended = False
        if self._speaking is None and self._waiting and self._may_start(frame, now_ns, listener):
            self._begin(frame, listener)
        if self._speaking is None:
            return self._nothing, self._silence()
        turn, start = self._speaking, self._position
        self._position += self.frame_samples
        dry = turn.played if turn.dry is None else turn.dry
        if self._position >= len(turn.played):
            self._speaking = None
            self.turn_ended = not turn.event
            if not listener.speaking(now_ns):
                listener.mark(now_ns)
        return self._padded(dry[start : self._position]), self._padded(turn.played[start : self._position])

    def ending(self, now_ns: int, listener: Listener) -> str | None:
        """Reason why the session is over (`quiet`, `no_reply`, `limit`), or None while it goes on."""
        if self._speaking is not None or not self.spoken:
            return None
        limits, end_ns = self._plan.limits, self.spoken_end_ns()
        if now_ns >= end_ns + limits.total_s * NS_PER_S:
            return "limit"
        patient = now_ns < end_ns + limits.no_reply_s * NS_PER_S
        if not listener.heard_after(end_ns):
            return None if patient else "no_reply"
        assert listener.floor_end_ns is not None
        quiet = now_ns >= listener.floor_end_ns + limits.quiet_s * NS_PER_S and self.only_barge_ins_wait
        if patient and not quiet:
            return None
        if self._reply_over_ns(listener) is None:
            return None if patient else "no_reply"
        return "quiet" if quiet and self._reply_is_over(now_ns, listener) else None

    def spoken_end_ns(self) -> int:
        """Time at which the last sample of the latest turn is spoken."""
        return self._spoken_end_ns

    def _at_ns(self, sample: int) -> int:
        return self._t0_ns + samples_to_ns(sample, self._rate_hz)

    def _may_start(self, frame: int, now_ns: int, listener: Listener) -> bool:
        turn = self._waiting[0]
        if turn.start == "lead_in":
            return frame >= self._lead_in_frames and self._greeted(now_ns, listener)
        if not listener.heard_after(self.spoken_end_ns()):
            return False
        offset_ns = round(turn.offset_ms * NS_PER_MS)
        if turn.start == "after_reply":
            assert listener.speech_end_ns is not None
            return now_ns >= listener.speech_end_ns + offset_ns and self._reply_is_over(now_ns, listener)
        began_ns = listener.begun_ns
        return began_ns is not None and now_ns >= began_ns + offset_ns and listener.speaking(now_ns)

    def _reply_is_over(self, now_ns: int, listener: Listener) -> bool:
        over_ns = self._reply_over_ns(listener)
        return over_ns is not None and now_ns >= over_ns and not listener.speaking(now_ns)

    def _reply_over_ns(self, listener: Listener) -> int | None:
        # An event is no turn: the agent goes on with its reply to the one before.
        turn = next(turn for turn in reversed(self.spoken) if turn.kind != "event")
        asked = Asked(self._at_ns(turn.start_sample), self._at_ns(turn.end_sample))
        no_reply_ms = self._plan.limits.no_reply_s * 1000
        return reply_over_ns(asked, listener.speech, listener.signs, no_reply_ms, self._plan.reply_ends_after_ms)

    def _greeted(self, now_ns: int, listener: Listener) -> bool:
        """True if the agent has finished its greeting, or gives none."""
        greeting, waited_ns = self._plan.greeting, now_ns - self._t0_ns
        if greeting is None or waited_ns >= greeting.longest_s * NS_PER_S:
            return True
        if listener.speech_end_ns is not None:
            return now_ns >= listener.speech_end_ns + greeting.after_ms * NS_PER_MS and not listener.speaking(now_ns)
        rings = listener.rang_ns is not None and now_ns < listener.rang_ns + _NEXT_RING_NS
        return waited_ns >= greeting.wait_s * NS_PER_S and not rings

    def _begin(self, frame: int, listener: Listener) -> None:
        turn = self._waiting.pop(0)
        start = frame * self.frame_samples
        pauses = tuple(Pause(start + p.start_sample, start + p.end_sample) for p in turn.pauses)
        kind: Literal["turn", "barge_in", "event"] = "event" if turn.event else "barge_in"
        kind = kind if turn.start == "into_reply" else "turn"
        end = start + len(turn.played)
        self.spoken.append(SpokenTurn(start, end, pauses, kind, turn.event))
        self._spoken_end_ns = self._at_ns(end)
        self._speaking, self._position = turn, 0
        listener.mark(self._at_ns(start))

    def _padded(self, samples: NDArray[np.int16]) -> NDArray[np.int16]:
        missing = self.frame_samples - len(samples)
        return np.concatenate([samples, np.zeros(missing, np.int16)]) if missing else samples

    def _silence(self) -> NDArray[np.int16]:
        noise = self._plan.line_noise
        if noise is None or not len(noise):
            return self._nothing
        at = np.arange(self._noise_position, self._noise_position + self.frame_samples) % len(noise)
        self._noise_position = int((at[-1] + 1) % len(noise))
        return noise[at]
