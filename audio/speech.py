"""The rendering of a seeker turn: its words, its manner, and silences that are exactly as long as marked.

A turn is spoken whole and cut at its pauses, so that the part before a pause in mid-sentence sounds unfinished. The
pieces are trimmed and joined by zeros, so that each marked pause is true silence of exactly its length,
known to the sample; a voice's own silences stay under 200 ms. The end of each piece (`harness.audio.speech_floor`) is
stored with the sound. A rendering depends only on its key (text, directions, voice, cues, renderer), so it is made
once and cached by content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy.signal import butter, sosfilt

from harness.audio.pcm import Float32, Int16, resample_float, to_int16
from harness.audio.prosody import PhraseEnd, Prosody, Speaker, reshape
from harness.audio.prosody_emotions import prosody_for
from harness.audio.speech_cache import KeptRendering, StretchEnd, load_rendering, save_rendering
from harness.audio.speech_edges import MOST_UNMARKED_MS, faded, level_db, scale_silences, trim
from harness.audio.speech_floor import SENTENCE_END, FloorSettings, Stretch, plan_turn
from harness.audio.speech_text import SpeechTextError, parse_marked
from harness.audio.synthesis import AlignedVoice, Passage, ShapingVoice, Synthesiser, Voice

RENDERER_VERSION = "8"
"""Part of every key, so that renderings of another version are not used."""

RATE_HZ = 16_000
"""The rate of the caller's sound, which is that of every speech recogniser here, so that it is not resampled."""

SPEECH_LEVEL_DBFS = -26.0
"""The nominal active speech level of telephone tests (ITU-T P.800, measured by P.56)."""

GAP_MS = 130.0
"""Gap between sentences and at commas without a mark: within fluent speech's own gaps, and with room below 200 ms
for emotions that halt."""

RATE_BOUNDS = (0.65, 1.5)
"""Bounds of the rate (a pack's times the emotion's); beyond them the voice slurs or drawls as no caller does."""

JUST_THE_VOICE = Speaker()
FLOOR = FloorSettings()
FADE_S = 0.5
"""Length of a final fade: the last word or two."""
BREATH_GAP_MS = 90.0
"""Gap between the last word and a breath in, as at a comma."""
MOST_PEAK = 0.98
"""Highest peak; a louder turn is attenuated as a whole instead of clipped."""


class Directions(Protocol):
    """The speech directions of a turn (`harness.scenarios.context.SpeechDirections` has these fields)."""

    @property
    def emotion(self) -> str: ...
    @property
    def intensity(self) -> float: ...
    @property
    def rate(self) -> float: ...
    @property
    def loudness_db(self) -> float: ...


@dataclass(frozen=True, slots=True)
class PlainDirections:
    """Default directions: neutral, at the voice's own rate and the nominal level."""

    emotion: str = "neutral"
    intensity: float = 0.5
    rate: float = 1.0
    loudness_db: float = 0.0


def plain_directions(directions: Directions | None) -> PlainDirections:
    """Directions of any kind as the plain ones; None: the defaults."""
    if directions is None:
        return PlainDirections()
    return PlainDirections(directions.emotion, directions.intensity, directions.rate, directions.loudness_db)


@dataclass(frozen=True, slots=True)
class RenderedTurn:
    """A spoken turn: mono int16 at `rate_hz`, from its first to its last speaking sample.

    `pauses` are the marked ones as (first, one past the last) sample; every sample inside is zero. `text` has the spoken words
    without marks, including an added "um" before a pause. `ends` has the end of each stretch and its cues; a recording has
    none.
    """

    samples: Int16
    rate_hz: int
    pauses: tuple[tuple[int, int], ...]
    text: str
    ends: tuple[StretchEnd, ...] = ()

    @property
    def duration_s(self) -> float:
        return self.samples.size / self.rate_hz


def render_turn(
    turn_text: str,
    directions: Directions | None,
    synthesiser: Voice,
    cache_dir: Path | None,
    speaker: Speaker = JUST_THE_VOICE,
    floor: FloorSettings = FLOOR,
) -> RenderedTurn:
    """The sound of a turn; from `cache_dir` if it was rendered before (None: no cache).

    Raises `SpeechTextError` for marks or text that cannot be spoken, `harness.audio.prosody_emotions.UnknownEmotion`, and
    `harness.audio.synthesis.VoiceError` if the voice fails.
    """
    said = directions or PlainDirections()
    key = rendering_key(turn_text, said, synthesiser.identity, speaker, floor)
    kept = load_rendering(cache_dir, key) if cache_dir is not None else None
    if kept is None:
        kept = _render(turn_text, said, synthesiser, speaker, floor)
        if cache_dir is not None:
            save_rendering(cache_dir, key, kept)
    return RenderedTurn(kept.samples, kept.rate_hz, kept.pauses, kept.said, kept.ends)


def rendering_key(
    turn_text: str,
    directions: Directions,
    voice_identity: str,
    speaker: Speaker = JUST_THE_VOICE,
    floor: FloorSettings = FLOOR,
) -> str:
    """The key of a rendering: SHA-256 over everything that it depends on."""
    manner = asdict(plain_directions(directions))
    content = [RENDERER_VERSION, RATE_HZ, voice_identity, turn_text, manner, asdict(speaker), asdict(floor)]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def _noise_seed(turn_text: str, voice_identity: str) -> int:
    """A seed that gives the same noise for every emotion of a turn, so that renderings differ only by the directions."""
    return int(hashlib.sha256(f"{voice_identity}\n{turn_text}".encode()).hexdigest()[:15], 16)


def _render(
    turn_text: str, directions: Directions, synthesiser: Voice, speaker: Speaker, floor: FloorSettings
) -> KeptRendering:
    segments = parse_marked(turn_text)
    stretches = plan_turn(segments, floor)
    prosody = prosody_for(directions.emotion, directions.intensity)
    rate = float(np.clip(directions.rate * prosody.rate_factor, *RATE_BOUNDS))
    seed = _noise_seed(turn_text, synthesiser.identity)
    spoken = deliver(synthesiser, stretches, Delivery(speaker, prosody, rate, seed), RATE_HZ)
    voiced = _joined(spoken, prosody)
    silent = [segment.text for segment, signal in zip(segments, voiced, strict=True) if signal.size == 0]
    if silent:
        raise SpeechTextError(f"the voice {synthesiser.identity} says nothing for {silent[0][:60]!r}")
    gain_db = SPEECH_LEVEL_DBFS + directions.loudness_db + prosody.energy_db - level_db(np.concatenate(voiced), RATE_HZ)
    gain = min(10 ** (gain_db / 20), MOST_PEAK / max(float(np.abs(signal).max()) for signal in voiced))
    pieces: list[Int16] = []
    pauses: list[tuple[int, int]] = []
    ends: list[StretchEnd] = []
    length = 0
    for stretch, signal in zip(stretches, _with_cues(stretches, voiced, seed), strict=True):
        pieces.append(to_int16(signal * gain))
        length += signal.size
        ends.append(StretchEnd(length, stretch.ending.kind, stretch.ending.holds, stretch.ending.cues))
        if stretch.pause_after_ms:
            silence = round(stretch.pause_after_ms * RATE_HZ / 1000)
            pieces.append(np.zeros(silence, dtype=np.int16))
            pauses.append((length, length + silence))
            length += silence
    said = " ".join(stretch.text for stretch in stretches)
    return KeptRendering(np.concatenate(pieces), RATE_HZ, tuple(pauses), tuple(ends), said)


def _with_cues(stretches: Sequence[Stretch], voiced: Sequence[Float32], seed: int) -> list[Float32]:
    """The stretches with cues in the sound: a fade at the end of the turn, a breath in before a pause."""
    gap = np.zeros(round(BREATH_GAP_MS * RATE_HZ / 1000), dtype=np.float32)
    out: list[Float32] = []
    for k, (stretch, signal) in enumerate(zip(stretches, voiced, strict=True)):
        signal = trim(faded(signal, RATE_HZ, stretch.ending.fade_db, FADE_S), RATE_HZ)
        if stretch.ending.breath:
            signal = np.concatenate([signal, gap, breath(RATE_HZ, level_db(signal, RATE_HZ), seed + k)])
        out.append(signal)
    return out


def _joined(segments: Sequence[Sequence[Float32]], prosody: Prosody) -> list[Float32]:
    """The sentences of each stretch, trimmed and joined with a gap between them."""
    gap_ms = min(GAP_MS * prosody.gap_factor, MOST_UNMARKED_MS)
    gap = np.zeros(round(gap_ms * RATE_HZ / 1000), dtype=np.float32)
    joined: list[Float32] = []
    for sentences in segments:
        pieces: list[Float32] = []
        for sentence in sentences:
            sound = trim(scale_silences(sentence, RATE_HZ, prosody.gap_factor, gap_ms), RATE_HZ)
            if sound.size:
                pieces += [sound, gap]
        joined.append(np.concatenate(pieces[:-1]) if pieces else np.zeros(0, dtype=np.float32))
    return joined


DURATION_S = 0.3
BELOW_SPEECH_DB = 22.0
"""Level below speech: audible in a quiet room, and within the 40 dB that count as sound."""
BAND_HZ = (700.0, 4_000.0)


def breath(rate_hz: int, speech_dbfs: float, seed: int) -> Float32:
    """A breath `BELOW_SPEECH_DB` below a speech level of `speech_dbfs`; the same seed gives the same samples.

    As heard on a telephone: soft noise through an open mouth, rising and falling within a third of a second. Breaths before
    speech carry most of their energy around and above the second formant of a neutral tract (1 to 4 kHz) and lie far below
    the voice. It ends at the start of the marked pause, which stays true silence.
    """
    size = round(DURATION_S * rate_hz)
    noise = np.random.default_rng(seed).standard_normal(size)
    shaped = sosfilt(butter(2, BAND_HZ, "bandpass", fs=rate_hz, output="sos"), noise)
    time = np.linspace(0, 1, size)
    shaped *= np.sin(np.pi * time**0.8) ** 2
    level = np.sqrt(np.mean(shaped**2))
    return np.asarray(shaped / level * 10 ** ((speech_dbfs - BELOW_SPEECH_DB) / 20), dtype=np.float32)


EVEN_DBFS = -26.0
"""Sentences of one turn are made equally loud, because voices normalise each one to its own peak."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The speaker and the manner for all stretches of a turn; `seed` is for the voice's own randomness."""

    speaker: Speaker
    prosody: Prosody
    rate: float
    seed: int


def deliver(voice: Voice, stretches: Sequence[Stretch], delivery: Delivery, rate_hz: int) -> list[list[Float32]]:
    """The sentences of each stretch as signals at `rate_hz`.

    They are made in the way that the voice allows: shaped by the voice, or spoken whole and then vocoded. The result is the
    same for all: for each stretch between two pauses its sentences, spoken by the speaker with the emotion's prosody, each
    phrase ending on its planned tone. A voice that cannot speak a turn whole speaks each stretch separately, with a comma
    where the speaker means to go on.

    Raises `harness.audio.synthesis.VoiceError` if the voice or the vocoder fails.
    """
    if isinstance(voice, ShapingVoice):
        made = voice.perform(stretches, delivery.speaker, delivery.prosody, delivery.rate, delivery.seed)
        return _even([[resample_float(sound, voice.rate_hz, rate_hz) for sound in sounds] for sounds in made], rate_hz)
    if isinstance(voice, AlignedVoice):
        passages = voice.speak_turn(stretches, delivery.seed)
    else:
        passages = _one_by_one(voice, stretches, delivery.seed)
    return _vocoded(passages, voice.rate_hz, stretches, delivery, rate_hz)


def _one_by_one(voice: Synthesiser, stretches: Sequence[Stretch], seed: int) -> list[Passage]:
    spoken = voice.speak([_by_itself(stretch) for stretch in stretches], seed)
    return [Passage(sound, ((k, sound.size),)) for k, sounds in enumerate(spoken) for sound in sounds]


def _by_itself(stretch: Stretch) -> str:
    """The text of a stretch; one that ends in mid-sentence gets a comma, so that the voice stays up as if it went on."""
    open_end = stretch.text.rstrip(",;: ")
    return stretch.text if not open_end or SENTENCE_END.search(open_end) else open_end + ","


def _vocoded(
    passages: Sequence[Passage], from_hz: int, stretches: Sequence[Stretch], delivery: Delivery, rate_hz: int
) -> list[list[Float32]]:
    """All sentences of a turn through the vocoder together, since the melody's centre is the turn's; then cut."""
    at_rate = [resample_float(passage.samples, from_hz, rate_hz) for passage in passages]
    last = {stretch: (k, end) for k, passage in enumerate(passages) for stretch, end in passage.pieces}
    phrases = []
    for k, passage in enumerate(passages):
        start, ends = 0, []
        for stretch, end in passage.pieces:
            tone = stretches[stretch].ending.tone if last[stretch] == (k, end) else "own"
            ends.append(PhraseEnd(start / from_hz, end / from_hz, tone))
            start = end
        phrases.append(ends)
    moved = reshape(at_rate, rate_hz, delivery.speaker, delivery.prosody, delivery.rate, phrases)
    parted: list[list[Float32]] = [[] for _ in stretches]
    for passage, sound in zip(passages, moved, strict=True):
        even = sound * np.float32(_gain_to_even(sound, rate_hz))
        scale = sound.size / max(passage.samples.size, 1)
        start = 0
        for stretch, end in passage.pieces:
            cut = round(end * scale)
            parted[stretch].append(even[start:cut])
            start = cut
    return parted


def _even(spoken: Sequence[Sequence[Float32]], rate_hz: int) -> list[list[Float32]]:
    """The whole turn at one level, because differences between sentences come from the voice only."""
    everything = [sound for sounds in spoken for sound in sounds]
    gain = np.float32(_gain_to_even(np.concatenate(everything), rate_hz)) if everything else np.float32(1)
    return [[sound * gain for sound in sounds] for sounds in spoken]


def _gain_to_even(sound: Float32, rate_hz: int) -> float:
    level = level_db(sound, rate_hz)
    return float(10 ** ((EVEN_DBFS - level) / 20)) if np.isfinite(level) else 1.0
