"""The sound that a listener would have heard: the agent's messages in time, as a player without a jitter buffer plays them.

The most favourable model possible, a buffer of depth 0: a piece plays when it arrives, or when the piece before it has ended; a
late piece shifts all that follows; a `clear` drops what has not been heard. A real player adds the same depth for every agent.

Two kinds of stream never pause. Full-duplex models send frames without end: after a stall quiet messages are dropped, by as
much as the player ran dry before and no more, as listeners' players do. On lines with a media clock (RTP) the next packet after
a quiet one plays when it arrives; inside speech, packets keep the distance that the media clock gives them, and a lost packet
is silence. `benchmarks/wires.py` measures the remaining error. Pieces that join without a gap are resampled as one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.audio.level import AUDIBLE_RMS
from harness.recording.record import Arrival, Recording
from harness.timeline import NS_PER_MS, NS_PER_S, samples_to_ns

Float32 = NDArray[np.float32]
Int16 = NDArray[np.int16]
METHOD: Final = "playout-2"
HEARD_RATE_HZ: Final = 48_000
"""A whole multiple of every common agent rate, so that resampling moves no sample."""
UNDERRUN_MS: Final = 5.0
"""A shorter gap cannot be heard; socket jitter alone is shorter."""
QUIET_RMS: Final = AUDIBLE_RMS / 32768
"""A packet below it may always be dropped."""
LOUD_PERCENTILE: Final = 95.0
QUIET_DB: Final = 15.0
"""A packet so far under the call's loud packets may be dropped too: between speech and the noise of a poor line (20 dB).
Listeners' players (NetEQ) shorten even speech when they are late; less is dropped here."""
ROUNDING_NS: Final = 10
"""A shorter gap is none: each message's length is rounded to a whole nanosecond, so each part of a message that came in parts
adds half a nanosecond. A sample of the heard track lasts 20,833."""
ENDLESS_SHARE: Final = 0.8
"""Share of a turn of the caller for which silence arrives, on a stream without end. An agent that sends its replies alone sends
none then."""
FULL_DUPLEX_SHARE: Final = 0.5
"""The same share of an agent that says that it is full duplex, for sound of any kind: a choice that leaves room for a stall,
and none for an agent that sends its replies alone after all."""
REAL_TIME: Final = 0.1
"""Largest difference of sound and time on such a stream, over a whole call; clocks differ by a thousandth of that."""
STALL_MS: Final = 100.0
"""Shortest stall of a stream without end that is reported: longer than the jitter of sockets and event loops on a busy machine,
and than a message of such models (80 ms)."""
CATCHES_UP_NS: Final = NS_PER_S
"""Time after a stall within which its sound comes, if it comes at all: later, a queue is sound that is sent ahead of time."""
SEPARATE_MS: Final = 1_000.0
"""Silence this long between pieces is a pause between utterances, not a buffer that ran dry."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of `agent_pcm` as heard. `arrival_ns` is when its first sample arrived, `start_ns` when it sounds."""

    arrival_ns: int
    start_ns: int
    offset_samples: int
    count_samples: int


@dataclass(frozen=True, slots=True)
class Underrun:
    """A time in which the player had nothing to play: its start, on the recording's timeline, and its length."""

    at_ms: float
    duration_ms: float


@dataclass(frozen=True, slots=True)
class HeardTrack:
    """The agent as heard: float32 in ±1 at 48 kHz; sample m sounds at `t0 + m / 48000` of the recording's timeline."""

    samples: Float32
    pieces: tuple[Piece, ...]
    underruns: tuple[Underrun, ...]
    t0_ns: int
    dropped_samples: int = 0
    """Samples that a `clear` dropped before they were heard, or a player that was late, at the agent's rate."""
    stalls: tuple[Underrun, ...] = ()
    """Times in which a stream without end sent nothing: until it has caught up, its sound is late by as much."""


def _laid_out(recording: Recording, quiet: Sequence[bool]) -> tuple[Piece, ...]:
    """The pieces in which each message's samples sound. Messages cleared before they sounded are missing or cut short."""
    if recording.arrivals and all(arrival.media is not None for arrival in recording.arrivals):
        return _by_media_clock(recording, quiet)
    rate = recording.agent_rate_hz
    endless = is_endless(recording, quiet)
    pieces: list[Piece] = []
    clears = sorted(recording.clears_ns)
    free_ns = late_ns = stalled_ns = 0
    for arrival, is_quiet in zip(recording.arrivals, quiet, strict=True):
        while clears and clears[0] <= arrival.arrival_ns:
            free_ns = min(free_ns, clears[0])
            _drop(pieces, clears.pop(0), rate)
        if endless and 0 < free_ns < arrival.arrival_ns:
            late_ns = arrival.arrival_ns - free_ns + (late_ns if arrival.arrival_ns - stalled_ns < CATCHES_UP_NS else 0)
            stalled_ns = arrival.arrival_ns
        start_ns = max(arrival.arrival_ns, free_ns)
        count = arrival.count_samples
        if is_quiet and late_ns:
            skipped_ns = min(late_ns, start_ns - arrival.arrival_ns, samples_to_ns(count, rate))
            late_ns, count = late_ns - skipped_ns, count - round(skipped_ns * rate / NS_PER_S)
        pieces.append(Piece(arrival.arrival_ns, start_ns, arrival.offset_samples, count))
        free_ns = start_ns + samples_to_ns(count, rate)
    for clear_ns in clears:
        _drop(pieces, clear_ns, rate)
    return tuple(pieces)


def is_endless(recording: Recording, quiet: Sequence[bool]) -> bool:
    """True if the agent sends sound in real time all the call long, silence too: also while the caller speaks.

    One that says that it is full duplex may be slower than time, and may murmur all the while.
    """
    caller, rate, arrivals = recording.caller, recording.agent_rate_hz, recording.arrivals
    if not arrivals:
        return False
    sent_ns = samples_to_ns(sum(a.count_samples for a in arrivals), rate)
    over_ns = arrivals[-1].arrival_ns + samples_to_ns(arrivals[-1].count_samples, rate) - arrivals[0].arrival_ns
    duplex, ahead_ns = recording.full_duplex, sent_ns - over_ns
    if (ahead_ns if duplex else abs(ahead_ns)) > REAL_TIME * over_ns:
        return False
    for turn in (t for t in caller.turns if t.kind == "turn"):
        begin_ns, end_ns = (caller.t0_ns + samples_to_ns(at, caller.rate_hz) for at in (turn.start_sample, turn.end_sample))
        came = sum(
            a.count_samples
            for a, is_quiet in zip(arrivals, quiet, strict=True)
            if (is_quiet or duplex) and begin_ns <= a.arrival_ns < end_ns + CATCHES_UP_NS
        )
        if samples_to_ns(came, rate) >= (FULL_DUPLEX_SHARE if duplex else ENDLESS_SHARE) * (end_ns - begin_ns):
            return True
    return False


def _by_media_clock(recording: Recording, are_quiet: Sequence[bool]) -> tuple[Piece, ...]:
    rate = recording.agent_rate_hz
    pieces: list[Piece] = []
    start_ns, media_ns, quiet = 0, 0, True
    leapt = leaps(recording.arrivals)
    for arrival, is_quiet, leap in zip(recording.arrivals, are_quiet, leapt, strict=True):
        assert arrival.media is not None
        if quiet or leap:
            # Never before the start of the last sound heard, even where packets overtook each other.
            start_ns = max(arrival.arrival_ns, start_ns)
            _drop(pieces, start_ns, rate)
        else:
            start_ns = max(arrival.arrival_ns, start_ns + arrival.media.at_ns - media_ns)
        media_ns = arrival.media.at_ns
        quiet = is_quiet
        pieces.append(Piece(arrival.arrival_ns, start_ns, arrival.offset_samples, arrival.count_samples))
    return tuple(pieces)


def _quiet(recording: Recording, sound: Float32) -> list[bool]:
    """For each message, True if it may be dropped, by its level."""
    parts = (sound[a.offset_samples : a.offset_samples + a.count_samples] for a in recording.arrivals)
    levels = np.array([np.sqrt(np.mean(part.astype(np.float64) ** 2)) if len(part) else 0.0 for part in parts])
    loud = float(np.percentile(levels, LOUD_PERCENTILE)) if len(levels) else 0.0
    found: list[bool] = (levels < max(QUIET_RMS, loud * 10 ** (-QUIET_DB / 20))).tolist()
    return found


def heard(recording: Recording) -> HeardTrack:
    """The heard track of a recording. Pure; the same recording always gives the same track."""
    rate, t0_ns = recording.agent_rate_hz, recording.caller.t0_ns
    sent = around_zero(recording.agent_pcm, rate)
    low = _quiet(recording, sent)
    pieces = _laid_out(recording, low)
    runs = _runs(pieces, rate)
    length_ns = max(
        [samples_to_ns(len(recording.caller.played), recording.caller.rate_hz)]
        + [run[-1].start_ns + samples_to_ns(run[-1].count_samples, rate) - t0_ns for run in runs]
    )
    samples = np.zeros(_heard_index(length_ns) + 1, np.float32)
    for run in runs:
        said = np.concatenate([sent[p.offset_samples : p.offset_samples + p.count_samples] for p in run])
        sound = _resampled(said, rate)
        at = _heard_index(run[0].start_ns - t0_ns)
        if at < 0:
            sound, at = sound[-at:], 0
        sound = sound[: len(samples) - at]
        samples[at : at + len(sound)] = sound
    dropped = len(recording.agent_pcm) - sum(p.count_samples for p in pieces)
    gaps = _gaps(runs, rate, recording)
    quiet = {a.offset_samples for a, is_quiet in zip(recording.arrivals, low, strict=True) if is_quiet}
    by_clock = bool(recording.arrivals) and recording.arrivals[0].media is not None
    endless = not by_clock and is_endless(recording, low)
    # Where silence is sent without pause, a late message of silence is no gap in the sound.
    unheard = [gap for offset, gap in gaps if (by_clock or endless) and offset in quiet]
    underruns = tuple(gap for _, gap in gaps if gap not in unheard and gap.duration_ms < SEPARATE_MS)
    stalls = tuple(gap for _, gap in gaps if gap.duration_ms >= STALL_MS) if endless else ()
    return HeardTrack(samples, pieces, underruns, t0_ns, dropped, stalls)


def resample(pcm: Int16, rate_hz: int) -> Float32:
    """PCM16 at any rate as float32 at 48 kHz."""
    return _resampled(pcm.astype(np.float32) / np.float32(32768.0), rate_hz)


def _resampled(samples: Float32, rate_hz: int) -> Float32:
    if rate_hz == HEARD_RATE_HZ or not len(samples):
        return samples
    return np.asarray(soxr.resample(samples, rate_hz, HEARD_RATE_HZ, quality="HQ"), np.float32)


def stereo(recording: Recording, track: HeardTrack | None = None) -> Int16:
    """Both sides as one would hear them, 48 kHz, shape (samples, 2): the caller left, the agent right."""
    agent = (track or heard(recording)).samples
    caller = resample(recording.caller.played, recording.caller.rate_hz)
    out = np.zeros((max(len(agent), len(caller)), 2), np.float32)
    out[: len(caller), 0] = caller
    out[: len(agent), 1] = agent
    mixed: Int16 = np.clip(np.round(out * 32767.0), -32768, 32767).astype(np.int16)
    return mixed


def _heard_index(offset_ns: int) -> int:
    return round(offset_ns * HEARD_RATE_HZ / NS_PER_S)


def _drop(pieces: list[Piece], clear_ns: int, rate_hz: int) -> None:
    """Remove the sound that would be heard at or after the clear."""
    while pieces:
        last = pieces[-1]
        keep = max(0, (clear_ns - last.start_ns) * rate_hz // NS_PER_S)
        # An empty message after the clear does not protect anything that was sent before it.
        if keep >= last.count_samples and (last.count_samples or last.start_ns < clear_ns):
            return
        pieces.pop()
        if keep:
            pieces.append(replace(last, count_samples=keep))
            return


def _runs(pieces: tuple[Piece, ...], rate_hz: int) -> list[list[Piece]]:
    """Pieces grouped where one follows the other without a gap."""
    runs: list[list[Piece]] = []
    for piece in pieces:
        if runs and runs[-1]:
            last = runs[-1][-1]
            if piece.start_ns - (last.start_ns + samples_to_ns(last.count_samples, rate_hz)) < ROUNDING_NS:
                runs[-1].append(piece)
                continue
        runs.append([piece])
    return runs


def _gaps(runs: list[list[Piece]], rate_hz: int, recording: Recording) -> list[tuple[int, Underrun]]:
    """The times in which the player had nothing to play, each with the offset of the message before it."""
    found = []
    for before, after in pairwise(runs):
        ended_ns = before[-1].start_ns + samples_to_ns(before[-1].count_samples, rate_hz)
        gap_ms = (after[0].start_ns - ended_ns) / NS_PER_MS
        cleared = any(ended_ns <= clear_ns <= after[0].start_ns for clear_ns in recording.clears_ns)
        if gap_ms > UNDERRUN_MS and not cleared:
            found.append((before[-1].offset_samples, Underrun((ended_ns - recording.caller.t0_ns) / NS_PER_MS, gap_ms)))
    return found


FILL_S: Final = 0.010
"""Shortest stretch of one value that is a fill. Half a period of a 50 Hz tone that clips, the longest flat top of any sound
that a telephone carries, is as long; digital silence is a fill of zero."""
LEAST_OFFSET: Final = 10 ** (-70 / 20)
"""A smaller offset is left: at −70 dB of full scale its clicks are below every sound that is examined (−65 dB). Of
100 replies each of two synthesisers (Piper joe, hibari) the largest mean was at −82 dB."""


def around_zero(pcm: Int16, rate_hz: int) -> Float32:
    """The samples as float32 in ±1, mono at `rate_hz`, without a constant offset, and with constant fills as silence.

    A bad converter adds an offset to every sample, and code that fills a μ-law buffer with the byte 0x00 sends −32,124 for
    "nothing". Neither is audible, but each border between such a stretch and a message, a gap or a voice is a click as loud as
    speech, and the level of the stretch hides the voice's onset. Sound without an offset is returned as it came, to the bit.
    """
    samples = pcm.astype(np.float32) / np.float32(32768)
    if not len(pcm):
        return samples
    fills = _fills(pcm, max(2, round(rate_hz * FILL_S)))
    varied = samples[~fills]
    offset = float(varied.mean(dtype=np.float64)) if len(varied) else 0.0
    if abs(offset) >= LEAST_OFFSET:
        samples = samples - np.float32(offset)
    samples[fills] = 0.0
    return samples


def _fills(pcm: Int16, least: int) -> NDArray[np.bool_]:
    """For each sample, True if it lies in a run of one value of at least `least` samples."""
    edges = np.concatenate([[0], np.flatnonzero(np.diff(pcm)) + 1, [len(pcm)]])
    lengths = np.diff(edges)
    return np.repeat(lengths >= least, lengths)


AHEAD_S: Final = 10.0
"""Most that a packet may be ahead of its arrival, compared with the first. Chrome's jitter buffer takes 200 packets, 4 s
(NetEq, `max_packets_in_buffer`), so that such a packet would be lost before its time."""


def leaps(arrivals: Sequence[Arrival]) -> list[bool]:
    """For each packet, True where the media clock cannot be true; all False without a clock.

    A media clock that goes back, or runs ahead by more than any player would buffer, does not show when a packet should play:
    the next one is then heard as it arrives, and no figure is made of that clock.
    """
    found: list[bool] = []
    first: int | None = None
    before: int | None = None
    for arrival in arrivals:
        if arrival.media is None:
            found.append(False)
            continue
        ahead_ns = arrival.media.at_ns - arrival.arrival_ns
        first = ahead_ns if first is None else first
        back = before is not None and arrival.media.at_ns < before
        found.append(back or ahead_ns - first > AHEAD_S * NS_PER_S)
        before = arrival.media.at_ns
    return found
