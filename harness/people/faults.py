"""Findings in one recording of a person, in words for its speaker: each says the fault, and what mends it.

A fault is cheap to mend while the speaker is still in the seat, and cannot be mended afterwards. So every recording is
examined at once. A finding never decides: the speaker hears the recording and keeps or discards it. `again` marks those
that spoil what is measured (the end, the pauses, the wait). What follows from that is said by each seat itself: a turn can be
recorded again, an answer cannot, because its speaker has heard the caller.

Pure: no file, no clock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import EDGE_DB, WINDOW_S, block_power, decibels, speech_power
from harness.audio.onset import CLOSURE_S
from harness.audio.pcm import Float32, Int16, resample_float, to_float
from harness.audio.recorded_turns import FLOOR_PERCENTILE, LEAST_ROOM_DB, NoTurn, Span, speech_in
from harness.audio.tonality import MUSICAL, tonality
from harness.audio.tonality import RATE_HZ as TONE_HZ
from harness.audio.transcribe import NEAR_SILENCE_DBFS
from harness.audio.vocal import RATE_HZ, VocalDetector, vocal_spans
from harness.people.track import RATE_HZ as FULL_HZ
from harness.study.texts import Texts, texts
from harness.voices.recorded_sound import MOST_CLIPPED_RUNS, flat_tops

LEAST_HZ: Final = 44_100
"""Least rate of a microphone: everything up to 20 kHz, the limit of hearing. Telephone headsets give 8,000 to 32,000."""
QUIETEST_DBFS: Final = -50.0
"""Least level of speech: the steps of 16 bits are a noise of -101 dBFS; an edge, 40 dB below speech, needs 10 dB over it."""
GOOD_ROOM_DB: Final = 30.0
"""Room noise this far below speech moves no end by more than 30 ms (12 turns: at most 21 ms at 30 dB, 125 ms at 25 dB)."""
UNDER_SPEECH_DB: Final = 10.0
"""A stretch this far below the speech is not speech, so its sound is the room's."""
STRETCH_S: Final = 0.6
"""Length in which a sound is judged to be music: twice the shortest steady note (256 ms)."""
LEAST_TONAL: Final = 0.5
"""Least share of these stretches that are music. Of 12 turns each, chords of half a second were found at 32, 25 and 18 dB under
the speech in all, and chords of 150 ms in one, because they are too short for steady lines; of 252 turns in room noise, street,
hiss and babble (12 to 50 dB) none was taken for music. Mains hum may be: it is a steady tone."""
BESIDE_S: Final = 0.5
"""Lost sound this near the turn may be part of it."""

FindingCode = Literal[
    "silent", "quiet", "clipped", "noisy", "some_noise", "no_speech", "music", "echo", "lost", "slept", "rate", "cut", "never"
]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a recording that its speaker should know, at `at_s` of it where it has a place."""

    code: FindingCode
    words: str
    """The fault."""
    do: str
    """The remedy, for the next recording too; empty if there is none."""
    again: bool
    """True if this recording is better not kept; else a note."""
    at_s: float | None = None


@dataclass(frozen=True, slots=True)
class Played:
    """Sound of the caller that the page played during the recording. `at`: the frame of the audio clock of its first sample."""

    samples: Int16
    at: int


@dataclass(frozen=True, slots=True)
class Taken:
    """One recording, as the page sent it. `first` and `lost` are frames of the audio clock, as in a track."""

    samples: Int16
    first: int = 0
    lost: Sequence[tuple[int, int]] = ()
    microphone_hz: int | None = None
    """The rate of the microphone itself, where the browser names it."""
    reason: str = "pressed"
    """The reason for its end: pressed, silence, longest, never, hidden, slept."""
    played: Sequence[Played] = ()
    latency_s: float | None = None
    """The latency of the loop from the page's sound to its microphone, if it was measured."""


def findings(taken: Taken, vocal: VocalDetector, t: Texts | None = None) -> tuple[Finding, ...]:
    """The findings of a recording, those that ask for a new one first. `t`: the words, in the speaker's language."""
    t = t or texts()
    found = [*_of_the_computer(taken, t), *_of_the_sound(taken, vocal, t)]
    return tuple(sorted(found, key=lambda f: not f.again))


def _of_the_computer(taken: Taken, t: Texts) -> Iterable[Finding]:
    if taken.reason == "slept":
        yield Finding("slept", t("found.slept"), "", True)
    if taken.microphone_hz is not None and taken.microphone_hz < LEAST_HZ:
        words = t("found.rate", rate=f"{taken.microphone_hz:,}", needed=f"{LEAST_HZ:,}")
        yield Finding("rate", words, t("found.do_rate"), True)


def _of_the_sound(taken: Taken, vocal: VocalDetector, t: Texts) -> Iterable[Finding]:
    signal = resample_float(to_float(taken.samples), FULL_HZ, RATE_HZ)
    if taken.samples.size == 0 or _loudest_dbfs(signal) < NEAR_SILENCE_DBFS:
        if taken.reason == "never" and taken.samples.any():  # A silent person in a quiet room, for all that can be known.
            yield _never(t)
            return
        yield Finding("silent", t("found.silent"), t("found.do_silent"), True)
        return
    speech = _speech(signal, vocal)
    tonal = _tonal(signal, speech)
    if (delay_s := _echo(taken)) is not None:
        yield Finding("echo", t("found.echo", ms=f"{1000 * delay_s:.0f}"), t("found.do_echo"), True)
    if not speech:
        buried = _room_db(signal) < LEAST_ROOM_DB and bool(vocal_spans(vocal(signal)))
        yield _nothing_said(taken.reason, tonal, buried, t)
        yield from _lost(taken, None, t)
        return
    level, room_db = speech_power(signal, RATE_HZ), _room_db(signal)
    if decibels(level) < QUIETEST_DBFS:
        yield Finding("quiet", t("found.quiet"), t("found.do_quiet"), True)
    tops = flat_tops(to_float(taken.samples)[None])
    if tops:
        at_s, many = tops[0] / FULL_HZ, len(tops) > MOST_CLIPPED_RUNS
        key = "found.clipped_often" if len(tops) > 1 else "found.clipped"
        words = t(key, at=f"{at_s:.1f}", more=len(tops) - 1) + ("" if many else f" {t('found.hardly_audible')}")
        yield Finding("clipped", words, t("found.do_clipped") if many else "", many, at_s)
    if tonal:
        yield Finding("music", t("found.music"), t("found.do_music"), room_db < GOOD_ROOM_DB)
    elif room_db < GOOD_ROOM_DB:
        yield Finding("some_noise", t("found.some_noise", db=f"{room_db:.0f}"), t("found.do_some_noise"), False)
    yield from _lost(taken, (speech[0][0], speech[-1][1]), t)
    if signal.size / RATE_HZ - speech[-1][1] < CLOSURE_S:
        yield Finding("cut", t("found.cut"), t("found.do_cut"), True, speech[-1][1])


def _never(t: Texts) -> Finding:
    return Finding("never", t("found.never"), t("found.do_never"), True)


def _nothing_said(reason: str, tonal: bool, buried: bool, t: Texts) -> Finding:
    if buried and not tonal:
        return Finding("noisy", t("found.noisy"), t("found.do_noisy"), True)
    if tonal:
        return Finding("music", t("found.only_music"), t("found.do_music"), True)
    if reason == "never":
        return _never(t)
    return Finding("no_speech", t("found.no_speech"), t("found.do_no_speech"), True)


def _lost(taken: Taken, turn: Span | None, t: Texts) -> Iterable[Finding]:
    if not taken.lost or taken.reason == "slept":
        return
    spans = [((a - taken.first) / FULL_HZ, (b - taken.first) / FULL_HZ) for a, b in taken.lost]
    near = [s for s in spans if turn is None or (s[0] < turn[1] + BESIDE_S and turn[0] - BESIDE_S < s[1])]
    missing_ms = 1000 * sum(b - a for a, b in spans)
    at_s = (near or spans)[0][0]
    words = t("found.lost", ms=f"{missing_ms:.0f}", at=f"{at_s:.1f}") + ("" if near else f" {t('found.lost_elsewhere')}")
    yield Finding("lost", words, t("found.do_lost") if near else "", bool(near), at_s)


def _speech(signal: Float32, vocal: VocalDetector) -> tuple[Span, ...]:
    try:
        return speech_in(signal, vocal)
    except NoTurn:
        return ()


def _room_db(signal: Float32) -> float:
    """How far the room's noise lies below the speech, as `speech_in` measures it."""
    floor = float(np.percentile(_levels(signal), FLOOR_PERCENTILE))
    return decibels(speech_power(signal, RATE_HZ)) - decibels(floor)


def _tonal(signal: Float32, speech: Sequence[Span]) -> bool:
    """True if the sound around the speech (all of it without any) is music or a steady tone within 40 dB of the speech."""
    size = round(STRETCH_S * RATE_HZ)
    parts = [signal[k : k + size] for k in range(0, signal.size - size + 1, size // 2)]
    level = decibels(speech_power(signal, RATE_HZ))
    below = [level - decibels(float(np.mean(np.square(part, dtype=np.float64)))) for part in parts]
    beside = [part for part, db in zip(parts, below, strict=True) if db < EDGE_DB and (not speech or db > UNDER_SPEECH_DB)]
    if not beside:
        return False
    tones = [tonality(resample_float(part, RATE_HZ, TONE_HZ)) >= MUSICAL for part in beside]
    return float(np.mean(tones)) >= LEAST_TONAL


def _echo(taken: Taken) -> float | None:
    if not taken.played:
        return None
    said = np.zeros(taken.samples.size, np.float32)
    for sound in taken.played:
        at = sound.at - taken.first
        begin, end = max(0, at), min(said.size, at + sound.samples.size)
        if begin < end:
            said[begin:end] += to_float(sound.samples[begin - at : end - at])
    return echo_delay_s(to_float(taken.samples), said, FULL_HZ, taken.latency_s)


def _loudest_dbfs(signal: Float32) -> float:
    return decibels(float(block_power(signal, round(0.03 * RATE_HZ)).max(initial=0.0)))


def _levels(signal: Float32) -> NDArray[np.float64]:
    return block_power(signal, round(RATE_HZ * WINDOW_S))


SEARCH_HZ: Final = 8_000
BAND_HZ: Final = (300.0, 3_400.0)
SEGMENT_S: Final = 1.0
LONGEST_S: Final = 0.5
"""Longest delay of a page's sound to its own microphone; wireless headphones add some 0.2 s."""
AROUND_S: Final = 0.1
"""Search around the measured latency: a loudspeaker some metres away and a latency that drifts."""
HEARD: Final = 15.0
"""Threshold between no echo (5.2 at most) and one at the limit of speech, 40 dB below the person's own (21.6 at least)."""
ACTIVE: Final = 0.3
"""Least share of the caller's level (about -10 dB) for a second to count: in a pause there is nothing to be returned."""


def echo_delay_s(heard: Float32, played: Float32, rate_hz: int, latency_s: float | None = None) -> float | None:
    """The delay after which `played` is in `heard` (both from the same instant); None if it is not.

    A person may speak meanwhile, so in each second every frequency counts alike (the phase transform, Knapp and Carter
    1976), and the seconds are summed: an echo has the same delay in all, a room's noise and another voice do not.

    `latency_s`: the measured latency of the loop, where the echo must be.
    """
    one, other = resample_float(played, rate_hz, SEARCH_HZ), resample_float(heard, rate_hz, SEARCH_HZ)
    sounding = one[one != 0]
    if not sounding.size:
        return None
    segment, longest = round(SEGMENT_S * SEARCH_HZ), round(LONGEST_S * SEARCH_HZ)
    size = 4 * segment
    frequencies = np.fft.rfftfreq(size, 1 / SEARCH_HZ)
    band = (frequencies > BAND_HZ[0]) & (frequencies < BAND_HZ[1])
    least = ACTIVE * float(np.sqrt(np.mean(sounding**2)))
    summed = np.zeros(size)
    for begin in range(0, max(1, one.size - segment // 2), segment // 2):
        said, answer = one[begin : begin + segment], other[begin : begin + segment + longest]
        if float(np.sqrt(np.mean(said**2))) < least or answer.size < segment:
            continue
        cross = np.fft.rfft(answer, size) * np.conj(np.fft.rfft(said * np.hanning(said.size), size))
        summed += np.fft.irfft(np.where(band, cross / np.maximum(np.abs(cross), 1e-12), 0), size)
    lags = np.abs(summed[:longest])
    spread = float(np.sqrt(np.mean(lags**2)))
    low, high = (0.0, LONGEST_S) if latency_s is None else (max(0.0, latency_s - AROUND_S), latency_s + AROUND_S)
    first = round(low * SEARCH_HZ)
    sought = lags[first : round(high * SEARCH_HZ)]
    if not sought.size or spread == 0 or float(sought.max()) < HEARD * spread:
        return None
    return (first + int(np.argmax(sought))) / SEARCH_HZ
