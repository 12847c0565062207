"""A caller's words in this turn so far: final words, and the start of the audio that is still transcribed again.

The answer waits for the last transcription of a turn, so it must be short; and Whisper hears better
the more it hears at once. Both can be had: a turn is cut into pieces at its pauses, and only the last piece is transcribed
when the caller falls silent, while the pieces before it are heard again as one stretch of sound once the caller speaks on and
nobody waits. Over the 60 regular turns of heart-open as they were played, pieces alone misheard 11.1 % of the words.
"""

from dataclasses import dataclass, field
from typing import Final

from harness.agents.cascade.short_context_whisper import RATE_HZ

FREEZE_FROM_SAMPLES: Final = 4 * RATE_HZ
"""A piece of up to 6 s costs no more than a shorter one would (the window is 8 s at least, and 2 s of it are padding), so it
is left to grow, with 2 s left to find a pause in. On the turns above, heard again: from 4 s 9.4 % misheard, from 5 s 9.6 %."""
STRETCH_MOST_SAMPLES: Final = 24 * RATE_HZ
"""Whisper takes 30 s at most, and two of them are padding; what has grown longer is settled for good. Over 40 last turns of
`heart-open`, 4.1 % of the words were misheard with 24 s, 7.7 % with 12 and 7.4 % with 8."""


@dataclass(slots=True)
class TurnText:
    """The caller's turn so far. Positions are samples of the call's audio.

    `said_before` is the text of the turn before, if that one was ended too soon and this one goes on with it.
    """

    stretch_start: int
    """Start of the audio that is transcribed again as a whole; earlier words are final."""
    said_before: str = ""
    piece_start: int = field(init=False)
    """Start of the piece that is transcribed at the next pause."""
    piece_words: int = 0
    """The most words that were heard in the open piece so far."""
    pieces: int = 0
    """Number of frozen pieces in the stretch."""
    _settled: str = ""
    _stretch: str = ""

    def __post_init__(self) -> None:
        self.piece_start = self.stretch_start

    @property
    def stretch_words(self) -> int:
        """The number of words in the frozen pieces of the stretch."""
        return len(self._stretch.split())

    @property
    def frozen(self) -> str:
        """The words before the open piece."""
        return f"{self._settled} {self._stretch}".strip()

    def with_piece(self, piece: str) -> str:
        """All words of the turn, if the open piece has these."""
        return f"{self.frozen} {piece}".strip()

    def heard_piece(self, words: int) -> None:
        """Record the number of words heard in the open piece."""
        self.piece_words = max(self.piece_words, words)

    def freeze(self, piece: str, silence_start: int, next_start: int) -> bool:
        """The caller goes on after a pause: freeze the open piece if it is long enough, and say whether the stretch up to
        the pause is worth hearing again."""
        if silence_start - self.piece_start < FREEZE_FROM_SAMPLES:
            return False
        self._stretch = f"{self._stretch} {piece}".strip()
        self.pieces += 1
        self.piece_words, self.piece_start = 0, next_start
        if silence_start - self.stretch_start <= STRETCH_MOST_SAMPLES:
            return self.pieces > 1
        self._settled, self._stretch, self.pieces = self.frozen, "", 0
        self.stretch_start = next_start
        return False

    def heard_again(self, stretch: str) -> None:
        """Replace the words of the frozen pieces by those of their common transcription."""
        self._stretch, self.pieces = stretch, 1
