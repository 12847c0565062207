"""The short form of the conformance kit, our acceptance test: twelve behaviours, four wires, and our own figures.

It is what a stranger does by docs/conformance.md: known agents in a process of their own, calls to them, errors by behaviour.
A call during which this machine could not pace its caller, or stamp what arrived, is invalid by the bounds of every run
(`harness.timing.pacing`); it is played again, and no bound is wider for it. In a valid call a packet may still be stamped late,
by at most the lag of the event loop that the call itself measured: the p95 of onsets, which is smaller than the lag that those
bounds allow, is that of the errors beyond it.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from harness.known.ours import figures_of
from harness.known.score import ALL, Score, Theirs, score
from harness.known.truth import TurnTruth
from harness.timing.figures import TurnTiming
from harness.timing.measure import measure_turns
from harness.timing.pacing import out_of_bounds
from tests.harness.known.live import Played, played

BEHAVIOURS: Final = (
    "fixed-100", "fixed-2500", "leading-silence", "click", "filler", "comfort-noise", "dc", "cut-over", "yields-60",
    "underrun", "two-replies", "no-reply",
)  # fmt: skip
WIRES: Final = {"pipecat": 3.0, "twilio": 3.0, "webrtc": 5.0, "sip": 5.0}
"""Wire → p95 of the onset errors in the long form, in ms. A message arrives whole; a track's sound by its packets' clock."""
MOST_MS: Final = 20.0
"""A frame of the caller."""
AT_ONCE: Final = (6, 3, 1)
"""Calls at once in the first try and in those after it: handshakes of WebRTC take a processor's time while others are paced."""


Measured = tuple[Played, Sequence[TurnTiming]]


def our_score(plays: Sequence[Measured], wordless: Collection[str] = ("filler",)) -> Score:
    """Our figures of these calls against their truth, without what we do not claim: the answers of the `wordless`.

    Without a transcriber a filler is a sentence as any.
    """
    truths: list[TurnTruth] = []
    theirs: list[Theirs] = []
    for play, turns in plays:
        for truth in (replace(each, call=play.behaviour) for each in play.truths):
            if truth.turn > len(turns):  # an interruption, of whose answer a call has no figure
                truth = replace(truth, sound_ms=None, speech_ms=None, answer_ms=None)
            truths.append(replace(truth, answer_ms=None) if play.behaviour in wordless else truth)
        for k, turn in enumerate(turns, start=1):
            for figure, ms in figures_of(turn).items():
                if ms is not None and not (figure == "answer" and play.behaviour in wordless):
                    theirs.append(Theirs(play.behaviour, k + (figure == "yield"), figure, ms))
    return score(truths, theirs)


async def played_validly(wire: str, behaviours: Sequence[str], folder: Path) -> list[Measured]:
    """A valid call to each of the behaviours, with our figures."""
    valid: dict[str, Measured] = {}
    for number, at_once in enumerate(AT_ONCE):
        into = folder / str(number)
        into.mkdir()
        for play in await played(wire, [name for name in behaviours if name not in valid], into, at_once=at_once):
            turns = measure_turns(play.recording)
            if not any(out_of_bounds(turn.pacing_p99_error_ms, turn.realtime_ratio, turn.loop_lag_max_ms) for turn in turns):
                valid[play.behaviour] = play, turns
        if len(valid) == len(behaviours):
            return list(valid.values())
    pytest.skip(f"this machine could not pace calls to {set(behaviours) - set(valid)} in {len(AT_ONCE)} tries")


@pytest.mark.parametrize("wire", WIRES)
async def test_every_figure_of_every_behaviour_is_true(wire: str, tmp_path: Path) -> None:
    plays = await played_validly(wire, BEHAVIOURS, tmp_path)
    found = our_score(plays)
    rows = [row for row in found.rows if row.behaviour != ALL]
    wrong = [
        (row.figure, *row.cells)
        for row in rows
        if row.missing or row.invented or np.max(np.abs([*row.errors_ms, 0.0])) > MOST_MS
    ]
    assert wrong == []
    assert found.unmatched == 0
    onsets = [
        (abs(error), max(turn.loop_lag_max_ms or 0.0 for turn in turns))
        for play, turns in plays
        if play.behaviour != "no-reply"
        for row in our_score([(play, turns)]).rows
        if row.figure == "speech" and row.behaviour != ALL
        for error in row.errors_ms
    ]
    assert len(onsets) > 10
    assert np.median([error for error, _ in onsets]) <= WIRES[wire]
    # Of twelve turns a twentieth is less than one.
    assert sum(error - lag > WIRES[wire] for error, lag in onsets) <= 1, onsets
