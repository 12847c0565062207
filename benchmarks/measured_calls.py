"""How far `harness measure` is from a run's own figures, on the stereo files of that run.

A run knows its caller's script and when every message arrived; a recording shows two channels. So a run's own stereo files are
measured as if somebody else had recorded them, and turn by turn the two TTFAs are compared: what differs is the error that a
recording adds. Usage: `python benchmarks/measured_calls.py RUN...` (finished runs with their report).
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.calls.as_run import CallsAsked, measure_calls
from harness.calls.recordings import find_calls
from harness.progress import RunProgress
from harness.store.run_store import RunStore
from harness.timing.figures import TurnTiming
from harness.wording import counted

NEAR_MS = 500.0
"""Turns whose ends are this near are the same turn."""
QUANTILES = (50, 95, 100)


def main() -> None:
    """Print the differences of each run, and of all."""
    every: list[tuple[str, TurnTiming, TurnTiming | None]] = []
    for run in map(Path, sys.argv[1:]):
        found = list(compared(run))
        _print(run.name, found)
        every += found
    if len(sys.argv) > 2:
        _print("all", every)


def compared(run: Path) -> Iterator[tuple[str, TurnTiming, TurnTiming | None]]:
    """Session, its turn as the run timed it, and as the recording shows it; None where no such turn was found."""
    with tempfile.TemporaryDirectory() as folder:
        calls = find_calls(run / "report-audio", caller="left")
        asked = CallsAsked(calls, run / "report-audio", "agent", Path(folder) / "run")
        store = measure_calls(asked, RunProgress(quiet=True))
        named = {call.id: Path(call.files.name).stem for call in calls}
        recorded = {named[session.key.context_id]: session for session in store.sessions()}
        for session in RunStore.open(run).sessions():
            if session.status != "finished" or session.id not in recorded:
                continue
            heard = recorded[session.id].turn_timings
            for turn in session.turn_timings:
                near = [t for t in heard if abs(t.spoken_end_ms - turn.spoken_end_ms) <= NEAR_MS]
                yield session.id, turn, min(near, key=lambda t: abs(t.spoken_end_ms - turn.spoken_end_ms), default=None)


def _print(name: str, found: list[tuple[str, TurnTiming, TurnTiming | None]]) -> None:
    timed = [(session, turn, other) for session, turn, other in found if turn.ttfa_ms is not None]
    both = [(s, t.ttfa_ms, o.ttfa_ms) for s, t, o in timed if o is not None and o.ttfa_ms is not None and t.ttfa_ms is not None]
    print(f"{name}: {counted(len(found), 'turn')}, {len(timed)} with TTFA, {len(both)} with TTFA in the recording too")
    if both:
        errors = np.abs([there - here for _, here, there in both])
        print("  |difference| " + ", ".join(f"p{q} {np.percentile(errors, q):.2f} ms" for q in QUANTILES))
        for k in np.argsort(errors)[::-1][:3]:
            print(f"    {both[k][0]}: {both[k][1]:.1f} ms in the run, {both[k][2]:.1f} ms in the recording")
    for session, turn, other in timed:
        if other is None or other.ttfa_ms is None:
            why = "no such turn" if other is None else other.discarded or f"began {other.signed_ms} ms"
            print(f"    {session}: TTFA {turn.ttfa_ms:.1f} ms, spoken end {turn.spoken_end_ms:.0f} ms: {why}")
    cut = [(turn.pauses_cut, other.pauses_cut) for _, turn, other in found if other is not None]
    print(f"  pauses cut: {sum(a for a, _ in cut)} in the run, {sum(b for _, b in cut)} in the recording")


if __name__ == "__main__":
    main()
