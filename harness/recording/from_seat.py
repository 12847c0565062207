"""A person's take in the supporter's seat as a recording of a call, so that one code measures people and agents.

In the seat the caller and the microphone share one clock of samples, and the loop's latency is taken out of the microphone. So
nothing was sent over a wire: the microphone is one message that begins with the take, its playout is the microphone itself, and
every frame of the caller left exactly on time. One message and not many, because a person sends no first byte; a microphone
that is cut into frames would seem to send one within 20 ms of every turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.audio.pcm import Int16, resample
from harness.recording.record import FRAME_MS, Arrival, CallerTrack, Pause, Recording, SpokenTurn
from harness.timeline import NS_PER_MS

RATE_HZ: Final = 48_000
"""Rate of the browser's one audio clock, and of the heard track, so that nothing is resampled."""
_FRAME: Final = RATE_HZ * FRAME_MS // 1000

Stretch = tuple[int, int]
"""From one sample to another."""


@dataclass(frozen=True, slots=True)
class CallerSound:
    """The caller as it is played in the seat, at `RATE_HZ`, with its turns in samples of it."""

    samples: Int16
    turns: tuple[SpokenTurn, ...]


@dataclass(frozen=True, slots=True)
class SeatTake:
    """One take. Sample n of `microphone` was at the mouth when sample n of the caller was at the ear.

    `lost`: stretches of the microphone that were not recorded; they are silent in it.
    """

    caller: CallerSound
    microphone: Int16
    lost: tuple[Stretch, ...] = ()

    @property
    def lost_ms(self) -> tuple[tuple[float, float], ...]:
        """The lost stretches in ms of the take."""
        return tuple((start / RATE_HZ * 1000, end / RATE_HZ * 1000) for start, end in self.lost)


def caller_sound(track: CallerTrack) -> CallerSound:
    """The caller's speech of a call, as agents heard it before any line condition, for the seat: without the silence around it.

    Sounds beside the turns are left out; they were placed in an agent's reply, and a person's begins at another time.
    """
    turns = [turn for turn in track.turns if turn.kind == "turn"]
    turns = turns or [SpokenTurn(track.speech_start_sample, track.speech_end_sample, track.pauses)]
    begin, end = turns[0].start_sample, turns[-1].end_sample
    scale = RATE_HZ / track.rate_hz

    def at(sample: int) -> int:
        return round((sample - begin) * scale)

    return CallerSound(
        resample(track.dry[begin:end], track.rate_hz, RATE_HZ),
        tuple(
            SpokenTurn(
                at(turn.start_sample),
                at(turn.end_sample),
                tuple(Pause(at(pause.start_sample), at(pause.end_sample)) for pause in turn.pauses),
            )
            for turn in turns
        ),
    )


def seat_take(
    caller: CallerSound,
    microphone: Int16,
    *,
    first: int,
    played_at: int,
    latency_samples: float,
    lost: Sequence[Stretch] = (),
) -> SeatTake:
    """A take from frames of the seat's clock: the caller's sound was started at frame `played_at`, the microphone's first
    sample has frame `first`, and `lost` are stretches of frames. `latency_samples`: of the loop, output and input together.

    The take begins with the caller's sound; what the microphone recorded before it is left out.
    """
    shift = first - round(latency_samples) - played_at
    moved = [(start - first + shift, end - first + shift) for start, end in lost]
    aligned = np.concatenate([np.zeros(shift, np.int16), microphone]) if shift > 0 else microphone[-shift:]
    return SeatTake(caller, aligned, tuple((max(0, start), end) for start, end in moved if end > 0))


def recording_of(take: SeatTake) -> Recording:
    """The take as a recording, with a clock that begins with it."""
    caller, microphone = take.caller, take.microphone
    frames = -(-max(len(caller.samples), len(microphone), 1) // _FRAME)
    dry = np.zeros(frames * _FRAME, np.int16)
    dry[: len(caller.samples)] = caller.samples
    turn = next(turn for turn in reversed(caller.turns) if turn.kind == "turn")
    track = CallerTrack(
        rate_hz=RATE_HZ,
        dry=dry,
        played=dry,
        t0_ns=0,
        departures_ns=(np.arange(frames, dtype=np.int64) + 1) * FRAME_MS * NS_PER_MS,
        speech_start_sample=turn.start_sample,
        speech_end_sample=turn.end_sample,
        pauses=turn.pauses,
        turns=caller.turns,
    )
    said = (Arrival(0, 0, len(microphone)),) if len(microphone) else ()
    return Recording(track, RATE_HZ, microphone, said)
