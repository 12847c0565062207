"""`python -m tests.harness.known.render_voices`: renders the voices of `harness.known` with hibari (docs/voices.md).

The sentences say nothing that could trouble a listener; the answers begin with a plosive, fricative, nasal, vowel, /h/, liquid.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Final

import numpy as np
import soundfile

from harness.audio.level import block_power
from harness.audio.pcm import to_int16
from harness.calibrate.program import HIBARI, sentence
from harness.known.sounds import LEVEL_DB, VOICES_HZ

TEXTS: Final = (
    ("answer", "Could you say a bit more?"), ("answer", "Feel free to go on."), ("answer", "Many people feel like this."),
    ("answer", "Often it gets easier."), ("answer", "Has anybody helped you?"), ("answer", "Last week was different."),
    ("long", "You did the right thing when you called her, and whatever happens next, you do not have to decide it this week."),
    ("second", "Take all the time you need."), ("greeting", "Hello, it is good to hear you."),
    ("filler", "Let me think about that."), ("murmur", "Mm-hm."), ("cut", "You should call him."),
    ("caller", "My brother moved out on Sunday."), ("caller", "The kitchen table was empty this morning."),
    ("caller", "We used to have breakfast together."), ("caller", "Nobody asked me about the new plan."),
)  # fmt: skip
LONGEST_S: Final = 8.0
MS: Final = VOICES_HZ // 1_000
SWELL_DB: Final = 30.0
"""A voice is cut at its first millisecond within this of its level. A fricative swells through 10 ms from far below it, and a
truth should not be a matter of taste."""


def main() -> None:
    """Write `voices.flac` and `voices.json`."""
    folder, sounds, table, at = Path(str(files("harness.known"))), [], [], 0
    for name, text in TEXTS:
        said, begins = sentence(HIBARI, text, LONGEST_S)
        loud = np.flatnonzero(np.abs(said) > 0.01)
        begins += MS * int(np.flatnonzero(block_power(said[begins:], MS) >= 10 ** (-SWELL_DB / 10))[0])
        samples = to_int16(said[begins : loud[-1] + 1] * 10 ** (LEVEL_DB / 20))
        sounds.append(samples)
        table.append({"name": name, "text": text, "start": at, "end": at + len(samples)})
        at += len(samples)
    soundfile.write(folder / "voices.flac", np.concatenate(sounds), VOICES_HZ, subtype="PCM_16")
    (folder / "voices.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
