"""The input of a voice's network: whole sentences, which may contain several stretches of a turn.

A sentence with a pause inside is spoken in one pass and cut afterwards, so its first half sounds like the first half of a
sentence. Stretches are converted to phonemes one by one, so that the place of the cut among the phonemes is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.audio.speech_floor import Stretch

VOWELS = frozenset("aeiouyæɐɑɒɔəɚɛɜɝɪʊʌᵻɨʉøœɯɤAIOQWY")
"""IPA as Piper's espeak writes it, and the one-letter diphthongs of hibari's alphabet."""
_MARKS = frozenset(" ,.;:!?—…\"“”'()-")


@dataclass(frozen=True, slots=True)
class Piece:
    """The phonemes of one stretch inside one sentence; `lengthening` is a factor on those of its last syllable."""

    stretch: int
    phonemes: tuple[str, ...]
    lengthening: float = 1.0

    @property
    def last_syllable(self) -> range:
        """The indices of the phonemes from the last vowel to the last sound; empty without a vowel."""
        vowels = [k for k, symbol in enumerate(self.phonemes) if symbol in VOWELS]
        if not vowels:
            return range(0)
        sounds = [k for k, symbol in enumerate(self.phonemes) if symbol not in _MARKS]
        return range(vowels[-1], sounds[-1] + 1)


def sentences_of(
    stretches: Sequence[Stretch], phonemes: Callable[[str], Sequence[Sequence[str]]], most_phonemes: int | None = None
) -> list[list[Piece]]:
    """The pieces of each sentence of a turn. `phonemes` gives a text's sentences as phonemes.

    A sentence longer than `most_phonemes` is divided between two stretches.
    """
    sentences: list[list[Piece]] = []
    open_sentence = False
    for k, stretch in enumerate(stretches):
        said = [tuple(found) for found in phonemes(stretch.text) if found]
        for j, found in enumerate(said):
            last = j + 1 == len(said)
            piece = Piece(k, found, stretch.ending.final_lengthening if last else 1.0)
            fits = most_phonemes is None or (
                bool(sentences) and sum(len(p.phonemes) + 1 for p in sentences[-1]) + len(found) <= most_phonemes
            )
            if j == 0 and open_sentence and fits:
                sentences[-1].append(piece)
            else:
                sentences.append([piece])
        if said:
            open_sentence = not stretch.closes
    return sentences
