"""The sound of stretches, made in the way that a voice allows: shaped by the voice, or spoken whole and then vocoded.

The result is the same for all: for each stretch between two pauses its sentences at 16 kHz, spoken by the speaker with the
emotion's prosody, each phrase ending on its planned tone. A voice that cannot speak a turn whole speaks each
stretch separately, with a comma where the speaker means to go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.audio.pcm import Float32, resample_float
from harness.audio.prosody import PhraseEnd, Prosody, Speaker, reshape
from harness.audio.speech_edges import level_db
from harness.audio.speech_floor import SENTENCE_END, Stretch
from harness.audio.synthesis import AlignedVoice, Passage, ShapingVoice, Synthesiser, Voice

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
