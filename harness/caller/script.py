"""The plan, played frame by frame: which samples the next frame carries, and when the session is over.

A pure state machine over times that it is given, so that every rule can be tested without waiting for it. A turn starts
on a frame boundary, silence fills every other frame at exactly the same rate, and nothing is ever sent faster than it
would be spoken.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.caller.listener import Listener
from harness.caller.plan import CallerTurn, SessionPlan
from harness.recording.record import FRAME_MS, Pause, SpokenTurn
from harness.timeline import NS_PER_MS, NS_PER_S, samples_to_ns


class Script:
    """Position in one plan while it is played. Frame k covers samples `k * frame_samples` onwards."""

    def __init__(self, plan: SessionPlan, rate_hz: int, t0_ns: int) -> None:
        self.frame_samples = rate_hz * FRAME_MS // 1000
        self.spoken: list[SpokenTurn] = []
        self._plan = plan
        self._rate_hz = rate_hz
        self._t0_ns = t0_ns
        self._lead_in_frames = round(plan.lead_in_ms / FRAME_MS)
        self._waiting = list(plan.turns)
        self._speaking: CallerTurn | None = None
        self._position = 0
        self._noise_position = 0

    @property
    def only_barge_ins_wait(self) -> bool:
        """True if only interruptions are left to say, which cannot take place once the reply is over."""
        return all(turn.start == "into_reply" for turn in self._waiting)

    def next_frame(self, frame: int, now_ns: int, listener: Listener) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """The dry and the played samples of frame `frame`, each `frame_samples` long."""
        if self._speaking is None and self._waiting and self._may_start(frame, now_ns, listener):
            self._begin(frame, listener)
        if self._speaking is None:
            return np.zeros(self.frame_samples, np.int16), self._silence()
        turn, start = self._speaking, self._position
        self._position += self.frame_samples
        dry = turn.played if turn.dry is None else turn.dry
        if self._position >= len(turn.played):
            self._speaking = None
            if not listener.heard_after(now_ns):
                listener.mark()
        return self._padded(dry[start : self._position]), self._padded(turn.played[start : self._position])

    def ending(self, now_ns: int, listener: Listener) -> str | None:
        """Reason why the session is over (`quiet`, `no_reply`, `limit`), or None while it goes on."""
        if self._speaking is not None or not self.spoken:
            return None
        limits, end_ns = self._plan.limits, self.spoken_end_ns()
        if now_ns >= end_ns + limits.total_s * NS_PER_S:
            return "limit"
        if not listener.heard_after(end_ns):
            return "no_reply" if now_ns >= end_ns + limits.no_reply_s * NS_PER_S else None
        assert listener.sound_end_ns is not None
        quiet = now_ns >= listener.sound_end_ns + limits.quiet_s * NS_PER_S
        return "quiet" if quiet and self.only_barge_ins_wait else None

    def spoken_end_ns(self) -> int:
        """Time at which the last sample of the latest turn is spoken."""
        return self._t0_ns + samples_to_ns(self.spoken[-1].end_sample, self._rate_hz)

    def _may_start(self, frame: int, now_ns: int, listener: Listener) -> bool:
        turn = self._waiting[0]
        if turn.start == "lead_in":
            return frame >= self._lead_in_frames and self._greeted(now_ns, listener)
        if not listener.heard_after(self.spoken_end_ns()):
            return False
        assert listener.sound_end_ns is not None
        offset_ns = turn.offset_ms * NS_PER_MS
        if turn.start == "after_reply":
            return now_ns >= listener.sound_end_ns + offset_ns
        began_ns = listener.sound_start_ns
        return began_ns is not None and now_ns >= began_ns + offset_ns and listener.heard_after(now_ns)

    def _greeted(self, now_ns: int, listener: Listener) -> bool:
        """True if the agent has finished its greeting, or gives none."""
        greeting, waited_ns = self._plan.greeting, now_ns - self._t0_ns
        if greeting is None or waited_ns >= greeting.longest_s * NS_PER_S:
            return True
        if listener.sound_end_ns is None:
            return waited_ns >= greeting.wait_s * NS_PER_S
        return now_ns >= listener.sound_end_ns + greeting.after_ms * NS_PER_MS

    def _begin(self, frame: int, listener: Listener) -> None:
        turn = self._waiting.pop(0)
        start = frame * self.frame_samples
        pauses = tuple(Pause(start + p.start_sample, start + p.end_sample) for p in turn.pauses)
        kind: Literal["turn", "barge_in", "event"] = "event" if turn.event else "barge_in"
        kind = kind if turn.start == "into_reply" else "turn"
        end = start + len(turn.played)
        self.spoken.append(SpokenTurn(start, end, pauses, kind, turn.event))
        self._speaking, self._position = turn, 0
        listener.mark()

    def _padded(self, samples: NDArray[np.int16]) -> NDArray[np.int16]:
        missing = self.frame_samples - len(samples)
        return np.concatenate([samples, np.zeros(missing, np.int16)]) if missing else samples

    def _silence(self) -> NDArray[np.int16]:
        noise = self._plan.line_noise
        if noise is None or not len(noise):
            return np.zeros(self.frame_samples, np.int16)
        at = np.arange(self._noise_position, self._noise_position + self.frame_samples) % len(noise)
        self._noise_position = int((at[-1] + 1) % len(noise))
        return noise[at]
