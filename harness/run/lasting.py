"""How long a context's call lasts, as far as that is known before it: from what the caller speaks."""

from pathlib import Path
from typing import Final

import soundfile

from harness.scenarios.context import Context
from harness.scenarios.pack import Pack
from harness.scenarios.spoken import spoken_indices

WORD_S: Final = 0.4
"""People in distress speak about 150 words a minute, pauses included."""
REPLY_S: Final = 10.0
"""What a call lasts beyond the caller's words, for each turn: the wait, the reply, and the silence that ends it."""


def lasting_s(context: Context, pack: Pack, mode: str) -> float:
    """Seconds on the line for one context of a pack."""
    turns = [context.turns[index] for index in spoken_indices(context, mode)]
    return sum(_spoken_s(pack.recording_of(turn), turn.text) + REPLY_S for turn in turns)


def _spoken_s(recording: Path | None, text: str) -> float:
    return len(text.split()) * WORD_S if recording is None else float(soundfile.info(str(recording)).duration)
