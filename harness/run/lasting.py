"""The expected length of a context's call, estimated from the caller's words."""

from pathlib import Path
from typing import Final

import soundfile

from harness.scenarios.context import Context, spoken_indices
from harness.scenarios.pack import Pack

WORD_S: Final = 0.4
"""Seconds per word: people in distress speak about 150 words a minute, pauses included."""
REPLY_S: Final = 10.0
"""Seconds of a call per turn in addition to the caller's words: the wait, the reply, and the silence that ends it."""


def lasting_s(context: Context, pack: Pack, mode: str) -> float:
    """The expected seconds of a call with one context of a pack."""
    turns = [context.turns[index] for index in spoken_indices(context, mode)]
    return sum(_spoken_s(pack.recording_of(turn), turn.text) + REPLY_S for turn in turns)


def _spoken_s(recording: Path | None, text: str) -> float:
    return len(text.split()) * WORD_S if recording is None else float(soundfile.info(str(recording)).duration)
