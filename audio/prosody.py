"""Changes of a clean voice's pitch, melody, timbre and speaker by the WORLD vocoder, on Praat's F0 (Boersma 1993).

With WORLD's own trackers the shipped low male voice came out at 110 to 180 Hz where Praat finds 91, and DNSMOS fell from 3.57
to 2.45–2.69; with Praat's track it stays at 3.31 (docs/voices.md). Every rendering passes through here, the neutral one too: if
only emotional turns did, an agent that answers them differently might be reacting to the vocoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.audio.pcm import Float32
from harness.audio.voice_error import imported

Float64 = NDArray[np.float64]

FRAME_S = 0.005
LEAST_F0_HZ = 55.0
MOST_F0_HZ = 400.0
"""Bounds of the analysed voice, not of the result. Creaky ends of the low male voice are at 60 Hz."""

TILT_PIVOT_HZ = 1_000.0
MOST_TILT_DB = 12.0
"""Most tilt; with more the top of the band would dominate."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """The apparent speaker: factors on F0 and on the frequencies of the formants (shorter vocal tract above 1), on the distance
    of F0 from its mean, and on the rate; brightness as in `Prosody`."""

    f0_factor: float = 1.0
    formant_factor: float = 1.0
    f0_range_factor: float = 1.0
    rate_factor: float = 1.0
    tilt_db_per_octave: float = 0.0


@dataclass(frozen=True, slots=True)
class Prosody:
    """The manner of speech, relative to the voice's neutral reading; the defaults change nothing."""

    f0_semitones: float = 0.0
    f0_range_factor: float = 1.0
    """Factor on the distance of F0 from the turn's mean, in semitones."""
    energy_db: float = 0.0
    rate_factor: float = 1.0
    gap_factor: float = 1.0
    """Factor on the voice's own short silences; marked pauses are never changed."""
    tilt_db_per_octave: float = 0.0
    """Brightness: pressed voices have more energy above 1 kHz, lax ones less."""


@dataclass(frozen=True, slots=True)
class PhraseEnd:
    """A phrase inside a sentence, in seconds from its first sample, and the tone that it ends on."""

    start_s: float
    end_s: float
    tone: Literal["own", "plateau", "rise", "fall"]


def reshape(
    signals: Sequence[Float32],
    rate_hz: int,
    speaker: Speaker,
    prosody: Prosody,
    rate: float = 1.0,
    phrases: Sequence[Sequence[PhraseEnd]] | None = None,
) -> list[Float32]:
    """The sentences of one turn, said by `speaker` with the F0, melody and brightness of `prosody`, `rate` times as fast.

    `phrases` says, for each sentence, which phrases inside it end on a tone of their own (seconds of the given signal). Each
    result has its signal's length divided by `rate` and the speaker's own: Piper's own length scale is rounded up sound by
    sound, so that 14 % faster comes out as 5 %. Energy, gaps and the prosody's own rate are not applied here.

    Raises `VoiceError` if the vocoder's packages are missing.
    """
    world = imported("pyworld", "pyworld-prebuilt")
    first_look = [f0_track(signal, rate_hz) for signal in signals]
    most_hz = ceiling_hz(first_look)
    tracks = [
        f0_track(signal, rate_hz, most_hz) if track.max(initial=0.0) > most_hz else track
        for signal, track in zip(signals, first_look, strict=True)
    ]
    voiced = np.concatenate([track[track > 0] for track in tracks]) if tracks else np.zeros(0)
    centre = float(np.mean(np.log2(voiced))) if voiced.size else 0.0
    lift = np.log2(speaker.f0_factor) + prosody.f0_semitones / 12
    spread = prosody.f0_range_factor * speaker.f0_range_factor
    lowest = float(np.percentile(np.log2(voiced), 5)) if voiced.size else 0.0
    low = centre + (lowest - centre) * spread + lift
    pace = rate * speaker.rate_factor
    out: list[Float32] = []
    for signal, track, ends in zip(signals, tracks, phrases or [()] * len(signals), strict=True):
        wave = signal.astype(np.float64)
        times = np.arange(track.size) * FRAME_S
        envelope = world.cheaptrick(wave, track, times, rate_hz, f0_floor=LEAST_F0_HZ)
        noise = world.d4c(wave, track, times, rate_hz, fft_size=2 * (envelope.shape[1] - 1))
        level_db = 10 * np.log10(envelope.sum(axis=1))
        moved = centre + (np.log2(np.maximum(track, LEAST_F0_HZ)) - centre) * spread + lift
        for end in ends:
            within = slice(round(end.start_s / FRAME_S), round(end.end_s / FRAME_S))
            heard = audibly_voiced(track[within] > 0, level_db[within])
            moved[within] = with_tone(moved[within], heard, FRAME_S, end.tone, low)
        f0 = np.where(track > 0, 2.0**moved, 0.0)
        tilt = speaker.tilt_db_per_octave + prosody.tilt_db_per_octave
        envelope = _brightened(np.exp(_warped(np.log(envelope), speaker.formant_factor)), rate_hz, tilt)
        noise = np.clip(_warped(noise, speaker.formant_factor), 0.0, 1.0)
        spoken = world.synthesize(
            f0, np.ascontiguousarray(envelope), np.ascontiguousarray(noise), rate_hz, 1000 * FRAME_S / pace
        )
        out.append(_of_length(np.asarray(spoken, dtype=np.float32), round(signal.size / pace)))
    return out


def ceiling_hz(tracks: Sequence[Float64]) -> float:
    """The highest F0 of this speaker's plain speech, from a first analysis.

    One and a half times the upper quartile (De Looze and Hirst 2008). Otherwise creak at a phrase's end is taken for a voice an
    octave or more higher, and a tone that is set on it jumps there.
    """
    voiced = np.concatenate([track[track > 0] for track in tracks]) if tracks else np.zeros(0)
    return min(MOST_F0_HZ, 1.5 * float(np.percentile(voiced, 75))) if voiced.size else MOST_F0_HZ


def f0_track(signal: Float32, rate_hz: int, most_f0_hz: float = MOST_F0_HZ) -> Float64:
    """F0 in Hz every 5 ms from time 0, 0 where unvoiced (Praat, autocorrelation).

    Thresholds of voicing are laxer than Praat's defaults, because a vocoder turns a voiced frame taken for unvoiced into
    a rasp, while the reverse is hardly heard.
    """
    frames = int(signal.size / rate_hz / FRAME_S) + 1
    if signal.size < rate_hz * 3 / LEAST_F0_HZ:
        return np.zeros(frames)
    pitch = (
        imported("parselmouth", "praat-parselmouth")
        .Sound(signal.astype(np.float64), rate_hz)
        .to_pitch_ac(
            time_step=FRAME_S,
            pitch_floor=LEAST_F0_HZ,
            pitch_ceiling=most_f0_hz,
            silence_threshold=0.02,
            voicing_threshold=0.3,
            octave_cost=0.02,
            octave_jump_cost=0.6,
        )
    )
    found = np.asarray(pitch.selected_array["frequency"], dtype=np.float64)
    first = round(float(pitch.xs()[0]) / FRAME_S)
    track = np.zeros(frames)
    stop = min(frames, first + found.size)
    track[first:stop] = found[: stop - first]
    return track


def _warped(rows: Float64, factor: float) -> Float64:
    """Each row stretched along its frequency axis by `factor`, the last bin held beyond the end."""
    if factor == 1.0:
        return rows
    bins = rows.shape[1]
    source = np.minimum(np.arange(bins) / factor, bins - 1)
    low = np.minimum(source.astype(int), bins - 2)
    share = source - low
    return np.asarray(rows[:, low] * (1 - share) + rows[:, low + 1] * share, dtype=np.float64)


def _brightened(power: Float64, rate_hz: int, tilt_db_per_octave: float) -> Float64:
    if tilt_db_per_octave == 0:
        return power
    hz = np.linspace(0, rate_hz / 2, power.shape[1])
    octaves = np.log2(np.maximum(hz, 50.0) / TILT_PIVOT_HZ)
    gain_db = np.clip(tilt_db_per_octave * octaves, -MOST_TILT_DB, MOST_TILT_DB)
    return np.asarray(power * 10 ** (gain_db / 10), dtype=np.float64)


def _of_length(signal: Float32, size: int) -> Float32:
    return signal[:size] if signal.size >= size else np.pad(signal, (0, size - signal.size))


REACH_S = 0.45
"""Length of a boundary tone: the last stressed syllable and what follows it, in English at these rates."""
BLEND_S = 0.15
RISE_SEMITONES = 2.0
"""A continuation rise (L-H%) is small; 4 semitones and more are heard as a question."""
PLATEAU_ABOVE_LOW_SEMITONES = 4.0
"""The middle of a range of eight semitones: level pitch in the middle of the range means that the speaker goes on, at its
bottom it is the end of a fall (studies reviewed by Heldner, Edlund, Laskowski and Pelcé 2009)."""
HEARD_DB = 25.0
"""Level below the loudest frame of a phrase. In hibari's ends Praat's tracker finds no pitch below about that."""
FALL_BELOW_SEMITONES = 1.0
"""Distance of the end of a final fall below the turn's low (5th percentile)."""


def with_tone(
    log2_f0: Float64, voiced: NDArray[np.bool_], frame_s: float, tone: Literal["own", "plateau", "rise", "fall"], low: float
) -> Float64:
    """`log2_f0` of one phrase with its end moved; `low` is the bottom of the speaker's range in this turn (log2 Hz).

    The tone is the last half second of the phrase: level, a little up, or down to the bottom of the speaker's range. A
    listener takes the pitch before a silence as a sign of what comes next, so it is set where it is heard: over the last
    voiced frames, blended in so that no step is heard. Frames are whatever the voice works in; F0 is in log2 Hz.

    `voiced` are the frames in which pitch is heard (`audibly_voiced`). Others are moved along, and what dies away after the
    last of them stays where the tone ends. A phrase that is not voiced is left alone.
    """
    if tone == "own" or not voiced.any():
        return log2_f0
    end = int(np.flatnonzero(voiced)[-1]) + 1
    start = max(0, end - round(REACH_S / frame_s))
    blend = max(1, round(BLEND_S / frame_s))
    inside = np.flatnonzero(voiced[start:end]) + start
    level = float(np.median(log2_f0[inside[: max(1, inside.size // 3)]]))
    moved = log2_f0.copy()
    k = np.arange(start, end)
    share = np.clip((k - start + 1) / blend, 0.0, 1.0)
    run = np.clip((k - start - blend) / max(1, end - start - blend), 0.0, 1.0)
    if tone == "fall":
        # Never up: a voice that falls lower by itself is not changed.
        target = np.minimum(log2_f0[k], level + (low - FALL_BELOW_SEMITONES / 12 - level) * run)
    elif tone == "rise":
        target = max(level, low + PLATEAU_ABOVE_LOW_SEMITONES / 12) + RISE_SEMITONES / 12 * run
    else:
        target = np.full(k.size, max(level, low + PLATEAU_ABOVE_LOW_SEMITONES / 12))
    moved[k] = log2_f0[k] * (1 - share) + target * share
    moved[end:] = moved[end - 1]
    return moved


def audibly_voiced(voiced: NDArray[np.bool_], level_db: Float64) -> NDArray[np.bool_]:
    """The audible voiced frames of a phrase: within `HEARD_DB` of its loudest; all of them if none is.

    A voice dies away over 100 ms and more, in which a network still has an F0 and nobody hears one.
    """
    if not voiced.any():
        return voiced
    heard = voiced & (level_db >= level_db[voiced].max() - HEARD_DB)
    return heard if heard.any() else voiced
