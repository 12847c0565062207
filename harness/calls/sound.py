"""The two sides of a call, read from its files; what cannot be measured is refused with one sentence.

libsndfile reads WAV, FLAC, Ogg Vorbis, Opus and MP3. Two files of a call must be equally long, because nothing else shows that
they begin together, and an offset between them would be an error of every wait.

Only its owner knows for certain on which channel the caller is. Both sides answer each other, so the order of speaking does
not show it. One thing does: a program that does not speak sends silence to the last bit, and a microphone never does. Where
one side is a program's by that sign, and the other is not, the harness decides; otherwise it asks.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from harness.audio.pcm import Int16
from harness.audio.sound_file import Bounds, SoundFault, read_int16
from harness.calls.as_recording import TwoSides
from harness.errors import UserError

BOUNDS: Final = Bounds(longest_s=3_600.0, most_channels=2, least_hz=8_000)
"""Longest call: it is measured in one piece, because echo and levels are of the whole, and takes its length in memory. Least
rate: of telephone speech; below it the speech detector does not work reliably."""
MOST_APART_S: Final = 0.5
"""Largest difference of length of two files that a recorder's last block can cause."""
ONE_SIGNAL: Final = 0.98
"""Least correlation of two channels with the same sound; an echo is never so alike."""
BLOCK_SAMPLES: Final = 1 << 20
STILL_BLOCK_S: Final = 0.02
STILL: Final = 16
"""Range of 16-bit samples in silence to the last bit: A-law decodes it to 8 or −8."""
A_PROGRAM: Final = 0.95
NO_PROGRAM: Final = 0.05
"""Share of the blocks of a side's quietest quarter that are silent to the last bit: at least, of a program; at most, of a
microphone. A quarter, because an agent may speak for most of a call."""
UNREADABLE: Final = "it cannot be read as sound; is the file whole, and WAV, FLAC, Ogg, Opus or MP3?"

Side = Literal["left", "right"]
SIDES: Final[tuple[Side, Side]] = ("left", "right")


@dataclass(frozen=True, slots=True)
class CallFiles:
    """The files of one call: one of two channels, or the caller's and the agent's. `caller`: the caller's channel of one file,
    if its owner says."""

    name: str
    files: tuple[Path, ...]
    caller: Side | None = None


@dataclass(frozen=True, slots=True)
class CallSound:
    """The sound of a call. `caller`: its channel, empty for two files. `looks_swapped`: by the sign of a program, the side that
    is named as the caller's is the agent's."""

    sides: TwoSides
    caller: Side | Literal[""]
    looks_swapped: bool


class NotMeasurable(UserError):
    """A call that cannot be measured, with the kind of its fault; the message is a clause without the call's name."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


def read_call(call: CallFiles) -> CallSound:
    """The sound of a call.

    Raises:
        NotMeasurable: a file is no sound, has too few or too many channels, or too low a rate; it is too long; the two files
            are not equally long; or nobody says which channel is the caller's.
    """
    if len(call.files) == 2:
        (caller, caller_hz), (agent, agent_hz) = (_one_channel(path) for path in call.files)
        lasts = len(caller) / caller_hz, len(agent) / agent_hz
        if abs(lasts[0] - lasts[1]) > MOST_APART_S:
            raise NotMeasurable(
                "lengths_differ",
                f"its two files last {lasts[0]:.1f} s and {lasts[1]:.1f} s, so nothing shows that they begin together; bring "
                "both to the length of the call",
            )
        return _found(TwoSides(caller, caller_hz, agent, agent_hz), "")
    channels, rate_hz = _channels(call.files[0])
    if len(channels) == 1:
        raise NotMeasurable(
            "one_channel",
            "it has one channel, in which nobody can tell who speaks; record the caller and the agent on a channel each",
        )
    if _is_one_signal(*channels):
        raise NotMeasurable(
            "one_channel",
            "both of its channels have the same sound, in which nobody can tell who speaks; record the caller and the agent on "
            "a channel each",
        )
    left, right = channels
    side = call.caller or _side_by_ear(left, right, rate_hz)
    if side is None:
        raise NotMeasurable(
            "sides_unknown",
            "it does not show which channel is the caller's; say --caller left or --caller right, or name the channel of each "
            "file in calls.csv (columns file,caller)",
        )
    mine = SIDES.index(side)
    return _found(TwoSides(channels[mine], rate_hz, channels[1 - mine], rate_hz), side)


def _found(sides: TwoSides, caller: Side | Literal[""]) -> CallSound:
    return CallSound(sides, caller, _is_a_program(sides.caller, sides.caller_rate_hz, sides.agent, sides.agent_rate_hz))


def _one_channel(path: Path) -> tuple[Int16, int]:
    try:
        channels, rate_hz = _channels(path)
    except NotMeasurable as fault:
        cause = fault.__cause__
        if fault.kind == "channels" and isinstance(cause, SoundFault):
            raise _of_one_side(path, cause.channels) from None
        raise NotMeasurable(fault.kind, f"{path.name}: {fault}") from None
    if len(channels) == 1 or _is_one_signal(*channels):
        return channels[0], rate_hz
    raise _of_one_side(path, len(channels))


def _of_one_side(path: Path, channels: int) -> NotMeasurable:
    return NotMeasurable("channels", f"{path.name} has {channels} channels; a file of one side has one")


def _channels(path: Path) -> tuple[tuple[Int16, ...], int]:
    try:
        with _decoder_silent():
            samples, rate_hz = read_int16(path, BOUNDS)
    except SoundFault as fault:
        raise _refusal(fault) from fault
    return tuple(samples), rate_hz


def _refusal(fault: SoundFault) -> NotMeasurable:
    if fault.kind == "channels":
        return NotMeasurable("channels", f"it has {fault.channels} channels, and two are needed: the caller and the agent")
    # The library's reasons mislead: of a damaged MP3 it says that the file does not exist.
    why = UNREADABLE if fault.kind == "unreadable" else str(fault)
    return NotMeasurable(fault.kind if fault.kind in ("low_rate", "high_rate", "too_long") else "unreadable", why)


@contextmanager
def _decoder_silent() -> Iterator[None]:
    """A block in which nothing reaches standard error, to which the MP3 decoder writes of a damaged file past Python."""
    try:
        real = os.dup(2)
    except OSError:  # the process has none
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(real, 2)
        os.close(real)
        os.close(nowhere)


def _is_one_signal(one: Int16, other: Int16) -> bool:
    own, others, shared = 0.0, 0.0, 0.0
    for at in range(0, len(one), BLOCK_SAMPLES):  # as floats, the whole of an hour is gigabytes
        a, b = (side[at : at + BLOCK_SAMPLES].astype(np.float64) for side in (one, other))
        own, others, shared = own + float(a @ a), others + float(b @ b), shared + float(a @ b)
    norm = (own * others) ** 0.5
    return bool(norm > 0 and abs(shared) / norm > ONE_SIGNAL)


def _side_by_ear(left: Int16, right: Int16, rate_hz: int) -> Side | None:
    """The caller's channel, where the other is a program's and this one is not; None where that does not show."""
    if _is_a_program(right, rate_hz, left, rate_hz):
        return "left"
    return "right" if _is_a_program(left, rate_hz, right, rate_hz) else None


def _is_a_program(one: Int16, one_rate_hz: int, other: Int16, other_rate_hz: int) -> bool:
    """True if one side is a program's by its silence, and the other is not."""
    return _stillness(one, one_rate_hz) >= A_PROGRAM and _stillness(other, other_rate_hz) <= NO_PROGRAM


def _stillness(samples: Int16, rate_hz: int) -> float:
    """Share of the quietest quarter of a side that is silent to the last bit."""
    block = round(rate_hz * STILL_BLOCK_S)
    whole = samples[: len(samples) // block * block].reshape(-1, block)
    if not len(whole):
        return 0.0
    ranges = np.sort(whole.max(axis=1).astype(np.int32) - whole.min(axis=1))
    return float(np.mean(ranges[: (len(ranges) + 3) // 4] <= STILL))
