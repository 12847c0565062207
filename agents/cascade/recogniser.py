"""The part of a cascade that turns a caller's sound into words, whichever model does it."""

import threading
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

RATE_HZ: Final = 16_000
_COMPRESSION_LIMIT: Final = 2.4
"""Whisper's own bound: text that zlib shrinks more than this repeats itself."""
_WORDS_PER_SECOND_LIMIT: Final = 6.0
"""Fast speech has four words a second; a decoder that claims more than six is making them up."""

_QUIET_SAMPLES: Final = RATE_HZ // 20
"""50 ms: shorter than a gap between two words, as long as a stop's closure, which is as good a place to cut."""


def on_threads(threads: int) -> Any:
    """Options of an onnxruntime session whose threads sleep between its runs: by default they spin for work, which on a machine
    of few cores takes these from the other stages."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


@dataclass(frozen=True, slots=True)
class Heard:
    """A transcript, how often a guard had to try again for it, and its tokens if a later call can continue from them."""

    text: str
    retries: int
    tokens: tuple[int, ...] = ()


class Recogniser(Protocol):
    """A loaded model. Safe to share by sessions and threads."""

    @property
    def piece_from_s(self) -> float:
        """The length from which a piece is closed at the next pause, so that the last one stays short."""

    @property
    def stretch_most_s(self) -> float:
        """The longest sound that it hears well as a whole."""

    def transcribe(
        self,
        samples: NDArray[np.float32],
        least_words: int = 0,
        known: Sequence[int] = (),
        stop: threading.Event | None = None,
    ) -> Heard:
        """The words in `samples` (16 kHz, -1 to 1), which begin with the tokens `known`; at least `least_words` of them if the
        beginning of these samples already gave that many. Cut short once `stop` is set, where the model can be stopped."""

    def text_of(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""

    def agreed(self, one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
        """The beginning of two transcripts of the same sound that more sound will hardly change; () if none can be reused."""


def timed(
    recogniser: Recogniser,
    samples: NDArray[np.float32],
    least_words: int = 0,
    known: tuple[int, ...] = (),
    stop: threading.Event | None = None,
) -> tuple[Heard, int]:
    """The words in `samples`, and when they were known on the monotonic clock."""
    return recogniser.transcribe(samples, least_words, known, stop), time.monotonic_ns()


def looks_looped(text: str, seconds: float) -> bool:
    """True if a transcript repeats itself, or has more words than anyone could say in `seconds`."""
    data = text.encode()
    if len(data) > 20 and len(data) / len(zlib.compress(data)) > _COMPRESSION_LIMIT:
        return True
    return len(text.split()) > 3 + seconds * _WORDS_PER_SECOND_LIMIT


def quietest_place(samples: NDArray[np.float32]) -> int:
    """The middle of the quietest 50 ms in the middle third of `samples`: where a long sound is cut with the least harm."""
    third = len(samples) // 3
    windows = samples[third : third + third // _QUIET_SAMPLES * _QUIET_SAMPLES].reshape(-1, _QUIET_SAMPLES)
    quietest = int(np.square(windows).sum(axis=1).argmin())
    return third + quietest * _QUIET_SAMPLES + _QUIET_SAMPLES // 2
