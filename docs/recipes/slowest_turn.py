"""The slowest turn of a run, and its place in a trace of Nsight Systems: `python slowest_turn.py RUN [TRACE.sqlite]`.

Prints the session and turn with the longest TTFA. With a trace (`nsys export --type sqlite TRACE.nsys-rep`) it prints the start
and the length of each stage of that turn too, and the command that shows what the GPU did meanwhile. Turns are counted as in
the ranges: from 1, in the order in which the caller spoke in the call.
"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import harness

NS_PER_MS = 1_000_000
_RANGES = """
    SELECT COALESCE(event.text, string.value), event.start, event.end
    FROM NVTX_EVENTS AS event LEFT JOIN StringIds AS string ON string.id = event.textId
    WHERE event.end IS NOT NULL ORDER BY event.start
"""
Stage = tuple[str, int, int]


def slowest(run: harness.Run) -> tuple[str, int, float]:
    """(session, turn, TTFA in ms) of the longest TTFA."""
    found = [
        (timing.ttfa_ms, session.id, number)
        for session in run.sessions
        for number, timing in enumerate(session.turn_timings, 1)
        if timing.ttfa_ms is not None
    ]
    if not found:
        sys.exit(f"{run.folder}: no turn has a TTFA")
    ttfa_ms, session, turn = max(found)
    return session, turn, ttfa_ms


def stages(trace: Path, name: str) -> list[Stage]:
    """(stage, start, end in ns of the trace) of the ranges whose name begins so, in order."""
    try:
        with closing(sqlite3.connect(f"{trace.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            ranges = [(str(text), int(start), int(end)) for text, start, end in opened.execute(_RANGES)]
    except sqlite3.Error as error:
        sys.exit(f"{trace}: no trace with ranges ({error}); export it: nsys export --type sqlite TRACE.nsys-rep")
    return [(text.removeprefix(name).strip(": "), start, end) for text, start, end in ranges if text.startswith(f"{name}: ")]


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("python slowest_turn.py RUN [TRACE.sqlite]")
    folder, *traces = sys.argv[1:]
    try:
        with harness.load_run(folder) as run:
            session, turn, ttfa_ms = slowest(run)
    except harness.UserError as error:
        sys.exit(str(error))
    name = f"{session} turn {turn}"
    print(f"{name}: TTFA {ttfa_ms:,.0f} ms")
    for trace in map(Path, traces):
        found = stages(trace, name)
        if not found:
            sys.exit(f"{trace}: no range of this turn; trace with --trace=nvtx and with the extra 'gpu' installed")
        for stage, start, end in found:
            print(f"  from {start / NS_PER_MS:12,.1f} ms, {(end - start) / NS_PER_MS:9,.1f} ms: {stage}")
        window = f"{found[0][1]}/{max(end for _, _, end in found)}"
        print(f"nsys stats --report cuda_gpu_kern_sum --filter-time {window} {trace.with_suffix('.nsys-rep')}")


if __name__ == "__main__":
    main()
