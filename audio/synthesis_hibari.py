"""Hibari as a caller's voice: pitch, melody, vocal tract, lengthening and loudness set before there is a wave.

Hibari's network gives a log spectrum and an F0 for each 12.5 ms frame, and the wave is made from these by plain signal
processing (pulses at F0 through the spectrum, plus shaped noise). So a speaker or an emotion is set in these parameters,
without analysing a finished wave again: F0 is moved, spectra are stretched along frequency, durations get factors
inside the network. A sentence is run whole, and its frames are separated at a pause, between two phonemes.

Sources: the package's `hibari.dsp` for the frames' meaning (Apache-2.0); figures in docs/evidence/audio-hibari.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import logsumexp

from harness.audio.hibari_package import hibari_files
from harness.audio.pcm import Float32
from harness.audio.prosody import MOST_TILT_DB, TILT_PIVOT_HZ, Prosody, Speaker, audibly_voiced, with_tone
from harness.audio.speech_floor import Stretch
from harness.audio.synthesis import DURATIONS, STRETCH, Piece, sentences_of, session_of, with_durations

FRAME_S = 0.0125
LEAST_VOICED_HZ = 40.0
LOWEST_HZ, HIGHEST_HZ = 55.0, 480.0
SMOOTH_BINS = 2.0
"""Spectra are smoothed over this many 20 Hz bins (one standard deviation) where F0 is moved: between the harmonics that the
network was taught on its spectrum is free, and other harmonics must not be weighed by that."""
MOST_PHONEMES = 400
"""Longest input, as in hibari: it was not trained on longer ones."""


class HibariSynthesiser:
    """The voice of the package `hibari-tts`.

    Raises `VoiceError` if a package is missing or the network is not the one known here.
    """

    rate_hz = 24_000

    def __init__(self) -> None:
        files = hibari_files()
        from hibari import Hibari
        from hibari.g2p import G2P

        self._session = session_of(with_durations(files.network, "Round", "Clip", ["phonemes"]), "hibari")
        self._vocabulary: dict[str, int] = json.loads(files.vocabulary.read_text(encoding="utf-8"))
        self._g2p = G2P()
        self._split = Hibari.split_sentences
        self.identity = f"hibari:{files.version}:{files.digest[:16]}"

    def perform(
        self, stretches: Sequence[Stretch], speaker: Speaker, prosody: Prosody, rate: float, seed: int
    ) -> list[list[Float32]]:
        """See `harness.audio.synthesis.ShapingVoice.perform`."""
        sentences = [
            self._frames(pieces, rate * speaker.rate_factor)
            for pieces in sentences_of(stretches, self._phonemes, MOST_PHONEMES)
        ]
        _set_melody(sentences, stretches, speaker, prosody)
        chance = np.random.default_rng(seed)
        spoken: list[list[Float32]] = [[] for _ in stretches]
        for sentence in sentences:
            shaped = _shaped(sentence, speaker, prosody, chance)
            for part in sentence.parts:
                spoken[part.stretch].append(_wave(shaped, part, chance))
        return spoken

    def _phonemes(self, text: str) -> list[str]:
        return [self._g2p(sentence) for sentence in self._split(text)]

    def _frames(self, pieces: Sequence[Piece], speed: float) -> _Sentence:
        ids, factors, ends = [0], [1.0], []
        for piece in pieces:
            if len(ids) > 1:
                ids, factors = [*ids, self._vocabulary[" "]], [*factors, 1.0]
            last_syllable = piece.last_syllable
            for k, symbol in enumerate(piece.phonemes):
                if symbol in self._vocabulary:
                    ids.append(self._vocabulary[symbol])
                    factors.append(piece.lengthening if k in last_syllable else 1.0)
            ends.append(len(ids))
        names = ["lh", "theta", "ln", "lr", "phi", "f0", DURATIONS]
        given = {
            "ids": np.array([[*ids, 0]], dtype=np.int64),
            "speed": np.array([speed], dtype=np.float32),
            STRETCH: np.array([*factors, 1.0], dtype=np.float32),
        }
        lh, theta, ln, lr, phi, f0, durations = (np.asarray(out) for out in self._session.run(names, given))
        # Durations count pairs of frames in this network; its own sum says how many frames one of them is.
        frame_ends = np.cumsum(durations.ravel()).astype(int) * round(lh.shape[2] / float(durations.sum()))
        bounds = [0, *(int(frame_ends[end - 1]) for end in ends[:-1]), lh.shape[2]]
        parts = tuple(_Part(p.stretch, a, b) for p, a, b in zip(pieces, bounds[:-1], bounds[1:], strict=True))
        return _Sentence(lh[0], theta[0], ln[0], lr[0], phi[0], f0[0].astype(np.float64), parts)


@dataclass(frozen=True, slots=True)
class _Part:
    stretch: int
    start: int
    end: int


@dataclass(slots=True)
class _Sentence:
    """The network's frames, (bins, frames) each: harmonic magnitude (log) and phase, noise (log), free branch (log, phase)."""

    lh: Float32
    theta: Float32
    ln: Float32
    lr: Float32
    phi: Float32
    f0: NDArray[np.float64]
    parts: tuple[_Part, ...]

    @property
    def voiced(self) -> NDArray[np.bool_]:
        return np.asarray(self.f0 > LEAST_VOICED_HZ)

    @property
    def level_db(self) -> NDArray[np.float64]:
        """The level of the harmonics per frame, on a relative scale."""
        return np.asarray(10 / np.log(10) * logsumexp(2 * self.lh.astype(np.float64), axis=0), dtype=np.float64)


def _set_melody(sentences: Sequence[_Sentence], stretches: Sequence[Stretch], speaker: Speaker, prosody: Prosody) -> None:
    """Set the F0 of all sentences of a turn together, since the melody's centre is the turn's."""
    tracks = [np.log2(np.maximum(s.f0, LEAST_VOICED_HZ)) for s in sentences]
    voiced = [t[audibly_voiced(s.voiced, s.level_db)] for t, s in zip(tracks, sentences, strict=True)]
    heard = np.concatenate(voiced) if voiced else np.zeros(0)
    if not heard.size:
        return
    centre = float(heard.mean())
    spread = prosody.f0_range_factor * speaker.f0_range_factor
    lift = np.log2(speaker.f0_factor) + prosody.f0_semitones / 12
    low = centre + (float(np.percentile(heard, 5)) - centre) * spread + lift
    last_parts = {part.stretch: (k, part) for k, s in enumerate(sentences) for part in s.parts}
    for k, (sentence, track) in enumerate(zip(sentences, tracks, strict=True)):
        moved = centre + (track - centre) * spread + lift
        is_voiced, level_db = sentence.voiced, sentence.level_db
        for index, (at, part) in last_parts.items():
            if at == k:
                within = slice(part.start, part.end)
                heard = audibly_voiced(is_voiced[within], level_db[within])
                moved[within] = with_tone(moved[within], heard, FRAME_S, stretches[index].ending.tone, low)
        sentence.f0 = np.where(is_voiced, np.clip(2.0**moved, LOWEST_HZ, HIGHEST_HZ), 0.0)


def _shaped(sentence: _Sentence, speaker: Speaker, prosody: Prosody, chance: np.random.Generator) -> _Sentence:
    """The spectra of another vocal tract, brighter or darker.

    The phases of the free branch belong to the network's own F0; where F0 was moved they are drawn by chance instead, as
    breath has them.
    """
    voiced = sentence.voiced[None, :]
    factor = speaker.formant_factor
    bins = sentence.lh.shape[0]
    nearest = np.minimum(np.round(np.arange(bins) / factor).astype(int), bins - 1)
    turned = np.exp(1j * np.pi * np.tanh(sentence.theta.astype(np.float64)))
    turned = gaussian_filter1d(turned.real, SMOOTH_BINS, axis=0) + 1j * gaussian_filter1d(turned.imag, SMOOTH_BINS, axis=0)
    theta = np.arctanh(np.clip(np.angle(turned) / np.pi, -0.999, 0.999))
    smooth_lh = gaussian_filter1d(sentence.lh, SMOOTH_BINS, axis=0)
    tilt = speaker.tilt_db_per_octave + prosody.tilt_db_per_octave
    octaves = np.log2(np.maximum(np.arange(bins) * 20.0, 50.0) / TILT_PIVOT_HZ)
    gain = np.clip(tilt * octaves, -MOST_TILT_DB, MOST_TILT_DB)[:, None] * np.log(10) / 20
    chance_phase = chance.uniform(-np.pi, np.pi, sentence.phi.shape)
    return _Sentence(
        lh=(_warped(np.where(voiced, smooth_lh, sentence.lh), factor) + gain).astype(np.float32),
        theta=theta[nearest].astype(np.float32),
        ln=(_warped(sentence.ln, factor) + gain).astype(np.float32),
        lr=(_warped(sentence.lr, factor) + gain).astype(np.float32),
        phi=np.where(voiced, chance_phase, sentence.phi[nearest]).astype(np.float32),
        f0=sentence.f0,
        parts=sentence.parts,
    )


def _warped(rows: Float32, factor: float) -> NDArray[np.float64]:
    """Columns stretched along frequency by `factor`, the last bin held beyond the end."""
    source = np.minimum(np.arange(rows.shape[0]) / factor, rows.shape[0] - 1)
    low = np.minimum(source.astype(int), rows.shape[0] - 2)
    share = (source - low)[:, None]
    return np.asarray(rows[low] * (1 - share) + rows[low + 1] * share, dtype=np.float64)


def _wave(sentence: _Sentence, part: _Part, chance: np.random.Generator) -> Float32:
    from hibari import dsp

    if part.end - part.start < 1:
        return np.zeros(0, dtype=np.float32)
    frames = [
        np.ascontiguousarray(x[:, part.start : part.end])
        for x in (sentence.lh, sentence.theta, sentence.ln, sentence.lr, sentence.phi)
    ]
    return np.asarray(dsp.synth(*frames, sentence.f0[part.start : part.end], chance), dtype=np.float32)
