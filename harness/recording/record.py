"""Record of everything sent and received in one session, so that every later method can be applied to it.

A recording contains raw facts only: the caller's signal and when each frame of it left, the agent's bytes at their native
rate with the arrival of every message, clears, marks, transcripts. The sound that a listener would have *heard* is derived
from it (`harness.recording.playout`), and timing is a pure function of both (`harness.timing`), so that old runs can be
measured again by better methods. One monotonic clock (`time.monotonic_ns`, CLOCK_MONOTONIC, shared by all processes of a
machine).
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from harness.agents.connection import LineReport, Mark, MediaStamp, Transcript

FRAME_MS = 20
"""Telephony and WebRTC pace audio in 20 ms frames; a frame departs together with its last sample, as a microphone's would."""
HAPPENED = "happened"
"""`Recording.ended` of a call that already happened: a recording of others, of which nobody says how it ended."""


class Pause(NamedTuple):
    """A marked pause inside the caller's turn, in samples of the caller's signal: true silence from start to end."""

    start_sample: int
    end_sample: int


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One caller turn inside the track, in samples of it. A `barge_in` is spoken into the agent's reply.

    An `event` sounds beside it and is no turn: a "mm-hm", a cough.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    start_sample: int
    end_sample: int
    pauses: tuple[Pause, ...] = ()
    kind: Literal["turn", "barge_in", "event"] = "turn"
    event: str = ""
    """Name of the event; empty for the caller's own speech."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One message of agent audio: its arrival, and its samples in `agent_pcm`."""

    arrival_ns: int
    offset_samples: int
    count_samples: int
    media: MediaStamp | None = None
    """Its time on the sender's clock, for lines that carry one (RTP)."""


@dataclass(frozen=True, slots=True)
class CallerTrack:
    """The caller's side. Sample n is *spoken* at `t0_ns + (n + 1) / rate_hz`.

    `dry` is the signal before line conditions, from which speech ends are derived; `played` is the signal that was sent. Both
    are int16 and equally long, and contain everything sent: lead-in silence, speech, silence after it. `departures_ns[k]` is
    when frame k was handed to the connection.
    """

    rate_hz: int
    dry: NDArray[np.int16]
    played: NDArray[np.int16]
    t0_ns: int
    departures_ns: NDArray[np.int64]
    speech_start_sample: int
    speech_end_sample: int
    """Bounds of the rendered turn inside the track (its last sample may be quieter than speech; see `harness.timing`)."""
    pauses: tuple[Pause, ...] = ()
    turns: tuple[SpokenTurn, ...] = ()
    """Every turn spoken, in order. The three fields above are those of the last one that is neither barge-in nor event."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One session as it happened. All `_ns` fields are on the caller's monotonic clock unless a mark says otherwise."""

    caller: CallerTrack
    agent_rate_hz: int
    agent_pcm: NDArray[np.int16]
    arrivals: tuple[Arrival, ...] = ()
    clears_ns: tuple[int, ...] = ()
    marks: tuple[Mark, ...] = ()
    transcripts: tuple[Transcript, ...] = ()
    loop_lag_ms: tuple[float, ...] = ()
    """Sampled delay of the caller's event loop, one figure per second (worst in that second)."""
    ended: str = "quiet"
    """Reason why the session ended: `quiet` (2 s after the last agent audio), `no_reply`, `limit`, `closed`, a failure kind;
    `HAPPENED` for a recording of others."""
    detail: str = ""
    conditions: tuple[str, ...] = field(default=())
    planned_turns: int | None = None
    """Number of turns (neither interruption nor event) that the caller meant to speak; None where nobody planned, or in an
    older run. Those that are not in `caller.turns` are unspoken."""
    agent_own: tuple[tuple[int, int], ...] | None = None
    """Of a call that already happened: the stretches of `agent_pcm` that are the agent's own sound, and no noise, no
    room's tail and no leak of the caller; None where all of it is the agent's."""
    line_reports: tuple[LineReport, ...] = ()
    """The far end's reports on the line (RTCP), in order."""
    full_duplex: bool = False
    """True if the agent sends sound all the time, silence too, and may speak while the caller does."""
