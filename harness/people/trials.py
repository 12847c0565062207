"""The loop-back trial of a page, and the recordings for which it is true.

A latency is measured once, at the beginning, and believed until something disturbs the page's sound: after a lost block
Chromium's latency is another one for good (jumps of 20 to 64 ms were seen). So a recording that is disturbed before its speaker
has finished has no known latency, and the next one needs a trial of its own. Headphones and microphone may have two clocks:
then the latency grows by the drift that the trial measured, and the doubt about it grows too.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

import numpy as np

from harness.people import loop_back
from harness.people.loop_back import LoopBack
from harness.people.records import SeatStore, Take
from harness.people.track import RATE_HZ, Track
from harness.timing.unknown_waits import MOST_ERROR_MS

DISTURBING: Final = frozenset({"lost", "slept", "devices", "unplugged"})
"""Events after which the latency is another."""
_SPAN: Final = loop_back.places()[-1] - loop_back.places()[0]
"""Samples from the first sweep of a trial to the last."""


def measured(track: Track, ended: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a trial for its page: `heard`, and if so the latency with its error."""
    at = next((p["at"] for p in ended["played"] if p["name"] == "loop-back"), None)
    found = None if at is None else loop_back.loop_back(track, [at + place for place in loop_back.places()])
    lost_ms = round(sum(b - a for a, b in track.lost) / RATE_HZ * 1_000)
    if at is None or found is None:
        return {"heard": False, "lost_ms": lost_ms}
    return {
        "heard": True,
        "loop_back": asdict(found),
        "middle": at + float(np.median(loop_back.places())),
        "latency_ms": round(found.latency_samples / RATE_HZ * 1_000, 1),
        "error_ms": round(found.error_p95_ms, 1),
        "fit": found.error_p95_ms <= MOST_ERROR_MS,
        "lost_ms": lost_ms,
    }


def disturbances(track: Track, ended: Mapping[str, Any]) -> dict[str, bool]:
    """`disturbed`: the page needs another trial. `latency_known`: it was the trial's until the speaker had finished.

    Without the clock of the page (it was closed, or the computer slept) nothing is known.
    """
    pressed = ended.get("pressed")
    finished = track.end if pressed is None else pressed
    begun = [start for start, _ in track.lost]
    begun += [each["at"] for each in ended.get("happened", ()) if each["what"] in DISTURBING]
    return {
        "disturbed": bool(begun) or not ended["clock"],
        "latency_known": bool(ended["clock"]) and all(frame >= finished for frame in begun),
    }


def loop_of(records: SeatStore, take: Take) -> LoopBack | None:
    """The latency of the page when a recording was made; None without a trial that was heard and is still true."""
    if not take.found.get("latency_known"):
        return None
    trial = trial_of(records, take.person, take.tab, take)
    if trial is None or not trial.found.get("heard"):
        return None
    found = LoopBack(**trial.found["loop_back"])
    played = [each["at"] for each in take.ended.get("played", ())]
    since = (played[0] - trial.found["middle"]) if played else 0.0
    return replace(
        found,
        latency_samples=found.latency_samples + found.drift_ppm * 1e-6 * since,
        # A slope through points of this error over this span is off by as much again at the same distance.
        error_p95_ms=found.error_p95_ms * (1 + abs(since) / _SPAN),
    )


def trial_of(records: SeatStore, person: str, tab: str, until: Take | None = None) -> Take | None:
    """The last trial on a page before `until`, also one that its person went on without; None if a later recording was
    disturbed.
    """
    found: Take | None = None
    for take in records.takes(person):
        if until is not None and take.id == until.id:
            break
        if take.tab == tab and take.kind == "calibration" and take.state == "kept":
            found = take
        elif take.tab == tab and take.found.get("disturbed") and not (found and found.found.get("skipped")):
            found = None
    return found
