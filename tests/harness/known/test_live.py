"""The long form of the conformance kit: every behaviour on every wire that carries sound, and a thousand calls.

Words are heard by the transcriber of a run, for a filler is one by its words. The short form, on which it builds, is
`test_conformance`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from harness import models
from harness.agents.connection import ODD_SOUND
from harness.audio.transcribe import Transcriber
from harness.known.behaviours import BEHAVIOURS, FIXED_MS
from harness.known.wires import WIRES
from harness.measuring.transcribe import TRANSCRIBER, reply_heard
from harness.timing.measure import measure_turns
from tests.harness.known.live import played
from tests.harness.known.test_conformance import MOST_MS, Measured, our_score, played_validly

MISTAKEN: Final = tuple(name for name, does in BEHAVIOURS.items() if does.mistake is not None)
ALL: Final = (*(name for name in BEHAVIOURS if name not in MISTAKEN), *(f"fixed-{ms}" for ms in FIXED_MS))
SPOKEN: Final = tuple(wire for wire in WIRES if wire != "text")
BY_PACKETS: Final = ("webrtc", "sip")
CALLS: Final = 1_000
LEAST_DELAY_MS: Final = 150


def onsets_ms(plays: Sequence[Measured]) -> list[float]:
    """The sizes of all errors of onsets, none of which is missing or invented."""
    rows = [row for row in our_score(plays, wordless=()).rows if row.behaviour != "all"]
    assert [(row.figure, *row.cells) for row in rows if row.missing or row.invented] == []
    return [abs(error) for row in rows if row.figure in ("sound", "speech", "answer") for error in row.errors_ms]


async def test_sound_that_is_not_as_stated_is_named(tmp_path: Path) -> None:
    named = ("stereo", "byte-order", "fixed-300")
    for play in await played("raw-pcm", named, tmp_path):
        assert any(mark.name == ODD_SOUND for mark in play.recording.marks) == (play.behaviour != "fixed-300")


@pytest.mark.long
@pytest.mark.parametrize("wire", SPOKEN)
async def test_every_behaviour_is_measured_as_it_was(wire: str, tmp_path: Path) -> None:
    hears = Transcriber(models.resolve(TRANSCRIBER)).transcribe
    plays = [
        (
            play,
            measure_turns(play.recording, words=reply_heard(play.recording, hears)[1]) if play.behaviour == "filler" else turns,
        )
        for play, turns in await played_validly(wire, ALL, tmp_path)
    ]
    errors = onsets_ms(plays)
    assert len(errors) > 2 * len(ALL)
    assert np.percentile(errors, 95) <= (5.0 if wire in BY_PACKETS else 3.0)
    assert max(errors) <= MOST_MS


@pytest.mark.long
@pytest.mark.alone
async def test_a_thousand_calls_have_no_outlier(tmp_path: Path) -> None:
    delays = range(LEAST_DELAY_MS, LEAST_DELAY_MS + CALLS)
    errors = onsets_ms(await played_validly("raw-pcm", [f"fixed-{ms}" for ms in delays], tmp_path))
    assert len(errors) >= 3 * CALLS
    assert np.percentile(errors, 95) <= 3.0
    assert np.percentile(errors, 99.9) <= 20.0
