"""The sounds of a listening test: replies at one loudness after their gap, and the tones of the level and headphone checks.

Replies are cut and levelled by the one rule of all who compare by ear (`harness.store.reply_sound`). The gap is silence inside
the file, so that no browser can stretch it, and a reply begins with the end of the caller's turn, because a silence is only
noticed between two voices. All files are made in the same way: 24 kHz, mono, 16 bit, FLAC without tags, so that only the sound
itself can reveal its origin.
"""

import io

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from harness.audio.level import speech_power
from harness.recording.record import Recording
from harness.store.reply_sound import LEVEL_DB, cut
from harness.store.reply_sound import RATE_HZ as RATE_HZ
from harness.store.reply_sound import Sound as Sound
from harness.store.reply_sound import levelled as levelled

LEAD_S = 2.5
"""Length of the caller's turn before a reply: the end of a sentence, enough to notice the gap after it."""
TAIL_S = 0.3


def caller_turn(recording: Recording) -> Sound:
    """The caller's last turn as it was spoken, levelled."""
    caller = recording.caller
    turn = caller.turns[-1]
    return levelled(_at_rate(caller.played[turn.start_sample : turn.end_sample], caller.rate_hz))


def reply(recording: Recording, spoken_end_ms: float, onset_ms: float, end_ms: float | None = None) -> Sound:
    """The reply from its onset to its end (None: to the end of its sound), levelled. Both are after `spoken_end_ms`, which is
    on the recording's timeline."""
    return cut(recording, spoken_end_ms + onset_ms, None if end_ms is None else spoken_end_ms + end_ms)


def after_gap(caller: Sound, reply_sound: Sound, gap_ms: float) -> Sound:
    """The end of the caller's turn, `gap_ms` of silence, the reply."""
    lead = caller[-round(LEAD_S * RATE_HZ) :]
    return np.concatenate([_faded_in(lead), _silence(gap_ms / 1_000), reply_sound, _silence(TAIL_S)])


def degraded(sound: Sound, seed: int) -> Sound:
    """The same speech with equally loud noise: a check with a known answer on naturalness."""
    noise = np.random.default_rng(seed).normal(0, 1, len(sound)).astype(np.float32)
    power = max(speech_power(sound, RATE_HZ), 1e-8)
    return levelled((sound + noise * np.float32(np.sqrt(power))).astype(np.float32))


def level_tone(seconds: float = 4.0) -> Sound:
    """Noise with the long-term spectrum of speech at the level of the replies, for setting the volume."""
    white = np.random.default_rng(0).normal(0, 1, round(seconds * RATE_HZ))
    spectrum = np.fft.rfft(white)
    at = np.maximum(np.fft.rfftfreq(len(white), 1 / RATE_HZ), 1.0)
    shaped = np.fft.irfft(spectrum * np.where(at < 100, 0.0, 1 / np.maximum(at / 500, 1.0)), len(white))
    sound = shaped / np.sqrt(np.mean(shaped**2)) * 10 ** (LEVEL_DB / 20)
    out: Sound = np.clip(sound, -0.98, 0.98).astype(np.float32)
    return out


def headphone_trial(quietest: int) -> Sound:
    """Three stereo tones; number `quietest` (1–3) is 6 dB softer, another is in antiphase.

    On loudspeakers the antiphase tone cancels and sounds softest; on headphones it does not (Woods et al. 2017).
    """
    at = np.arange(RATE_HZ) / RATE_HZ
    ramp = np.minimum(1, np.minimum(at, at[::-1]) / 0.1)
    tone = (0.15 * np.sin(2 * np.pi * 200 * at) * ramp).astype(np.float32)
    antiphase = quietest % 3 + 1
    parts = []
    for k in (1, 2, 3):
        left = tone * np.float32(0.5) if k == quietest else tone
        parts += [np.stack([left, -left if k == antiphase else left], axis=1), np.zeros((RATE_HZ // 2, 2), np.float32)]
    return np.concatenate(parts)


def flac(sound: Sound) -> bytes:
    """The file of a sound; mono for (n,), stereo for (n, 2)."""
    out = io.BytesIO()
    soundfile.write(out, np.clip(sound, -1, 1), RATE_HZ, format="FLAC", subtype="PCM_16")
    return out.getvalue()


def mp3(sound: Sound) -> bytes:
    """The file of a sound in the one compressed format that every phone plays, without tags."""
    out = io.BytesIO()
    soundfile.write(out, np.clip(sound, -1, 1), RATE_HZ, format="MP3", subtype="MPEG_LAYER_III")
    return out.getvalue()


def _at_rate(samples: NDArray[np.int16], rate_hz: int) -> Sound:
    floats = samples.astype(np.float32) / np.float32(32_768)
    out: Sound = soxr.resample(floats, rate_hz, RATE_HZ, quality="HQ").astype(np.float32)
    return out


def _silence(seconds: float) -> Sound:
    return np.zeros(round(seconds * RATE_HZ), np.float32)


def _faded_in(sound: Sound) -> Sound:
    steps = min(len(sound), RATE_HZ // 50)
    out = sound.copy()
    out[:steps] *= np.linspace(0, 1, steps, dtype=np.float32)
    return out
