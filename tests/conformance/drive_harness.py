"""This harness, calling one agent or reading one recording: `python drive_harness.py URL|CALL OUT.json SETTINGS [WAV]`.

A call is placed by the process that places those of a run, and measured as they are; without words, so that the answer after a
filler is not claimed.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import soundfile

from harness.agents.connections import ConnectionSpec
from harness.caller import CallerProcess, CallerTurn, Limits, SessionPlan
from harness.calls.as_run import CallsAsked, measure_calls
from harness.calls.recordings import find_calls
from harness.known.ours import figures_of
from harness.progress import RunProgress
from harness.recording.files import load
from harness.timing import measure_turns
from harness.timing.figures import TurnTiming

CALLED, OUT, SETTINGS, *SOUNDS = sys.argv[1:]
LIMITS = Limits(quiet_s=2.0, no_reply_s=8.0, total_s=20.0)


async def called(url: str, sound: str, folder: Path) -> Sequence[TurnTiming]:
    samples, rate_hz = soundfile.read(sound, dtype="int16")
    caller = CallerProcess()
    await caller.start()
    try:
        plan = SessionPlan(ConnectionSpec("raw-pcm", url), (CallerTurn(samples),), rate_hz, lead_in_ms=300.0, limits=LIMITS)
        await caller.play(plan, folder)
        return measure_turns(load(folder))
    finally:
        await caller.stop()


def read(call: Path, folder: Path) -> Sequence[TurnTiming]:
    asked = CallsAsked(find_calls(call, caller="left"), call, "agent", folder / "run")
    with closing(measure_calls(asked, RunProgress(quiet=True))) as store:
        return store.sessions()[0].turn_timings


def rows(turns: Sequence[TurnTiming]) -> list[dict[str, Any]]:
    """A row for each turn; a yield is in that of the turn that interrupts."""
    found = [figures_of(turn) for turn in turns]
    yields = [None, *(figures["yield"] for figures in found)]
    return [
        {"turn": k, "yield_ms": yields[k - 1], **{f"{name}_ms": figures[name] for name in ("sound", "speech", "cut")}}
        for k, figures in enumerate(found, start=1)
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        measured = asyncio.run(called(CALLED, SOUNDS[0], place)) if SOUNDS else read(Path(CALLED), place)
    Path(OUT).write_text(json.dumps({"turns": rows(measured)}, indent=1), encoding="utf-8")
