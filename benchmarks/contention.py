"""Is what a figure could owe to others a bound, and how wide is it? `python benchmarks/contention.py known [minutes] | cost`.

`known` has an agent whose work is known: 300 ms of processor time, by one process or handed between two, with pauses in which
it gives up the processor. Its quiet latency is the sum of its work and its pauses, on however busy a machine, so each of some
hundred turns says whether the bound holds. Others keep 0.1 to 2 cores busy, steadily or in bursts like a browser's: many short
programs at once. The width of the bound is printed three times, as median/p95 in ms: over the whole stretch at once, from one
sample to the next, and the same where the machine shows others' work only in steps of 10 ms.

`cost` measures the processor time of the samples themselves.
"""

import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from harness.machine.busy_clock import TICK_MS
from harness.machine.call_watch import CallWatch, Watches
from harness.recording.machine_track import MachineTrack
from harness.timeline import NS_PER_MS
from harness.timing.contention import owed

LOADS = {"0.1": (0.1,), "0.3": (0.3,), "0.5": (0.5,), "1": (1.0,), "2": (1.0, 1.0), "bursts": (-0.1, -0.1, -0.1, -0.1)}
"""The part of a core that each program takes; negative: in bursts."""
PROGRAMS = str(Path(__file__).with_name("contention_programs.py"))
KNOWN_A_LOAD = 4
COST_S = 5.0
SPREAD_MS = 3.0
"""Thirty pauses end a tenth of a millisecond late each, on a quiet machine too."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that a stretch could owe to others, three times, in ms."""

    at_once_ms: float
    by_sample_ms: float
    in_steps_ms: float


@dataclass(frozen=True, slots=True)
class KnownTurn:
    """One turn of the agent whose work is known: by how much it was late, and what it could owe."""

    agent: str
    load: str
    lost_ms: float
    spread_ms: float
    """The most that the harness itself has cost it, and the pauses that end late on a quiet machine too."""
    owed: Bounds


def known(minutes: float) -> None:
    """Turns of the agents whose work is known, beside each load in random order."""
    order, turns, until_s = random.Random(1), list[KnownTurn](), time.monotonic() + 60 * minutes
    while time.monotonic() < until_s:
        for load in order.sample(tuple(LOADS), len(LOADS)):
            with _load(load):
                turns += [_known_turn(load, processes) for _ in range(KNOWN_A_LOAD) for processes in (1, 2)]
    print(f"{'agent':>14} {'load':>8} {'turns':>6} {'lost, ms':>9} {'p95':>6}   at most: {'at once':>9} {'by sample':>9} "
          f"{'in steps':>9} {'beyond':>7} {'in steps':>9}")  # fmt: skip
    for processes in (1, 2):
        for load in LOADS:
            mine = [t for t in turns if (t.agent, t.load) == (f"known-{processes}", load)]
            lost = [t.lost_ms for t in mine]
            print(
                f"{mine[0].agent:>14} {load:>8} {len(mine):6} {statistics.median(lost):9.1f} {_p95(lost):6.0f} {'':10}"
                f"{_widths([t.owed for t in mine])} {sum(t.lost_ms > t.owed.by_sample_ms + t.spread_ms for t in mine):7} "
                f"{sum(t.lost_ms > t.owed.in_steps_ms + t.spread_ms for t in mine):9}"
            )
    worst = sorted((t.lost_ms - t.owed.by_sample_ms - t.spread_ms for t in turns), reverse=True)[:5]
    beyond = sum(t.lost_ms > t.owed.by_sample_ms + t.spread_ms for t in turns)
    print(f"beyond the bound: {beyond} of {len(turns)}; furthest, ms: "
          + ", ".join(f"{ms:.1f}" for ms in worst))  # fmt: skip


def cost() -> None:
    """Measure the processor time of the samples themselves, for an agent of a dozen threads."""
    threads = "import threading, time\nfor _ in range(11): threading.Thread(target=time.sleep, args=(60,)).start()"
    agent = subprocess.Popen([sys.executable, "-S", "-c", threads])
    time.sleep(1.0)
    try:
        for overlapping in (1, 200):
            watches = Watches()
            with ExitStack() as open_calls:
                found = [open_calls.enter_context(watches.watch((agent.pid,), ())) for _ in range(overlapping)]
                began_s, began_cpu_s = time.monotonic(), time.process_time()
                time.sleep(COST_S)
                share = (time.process_time() - began_cpu_s) / (time.monotonic() - began_s)
            samples = len(found[-1].track.samples) / COST_S if found[-1].track is not None else 0.0
            print(f"{overlapping:4} calls: {100 * share:.2f} % of a core, {samples:.0f} samples a second")
    finally:
        agent.kill()
        agent.wait()


def _widths(owed_by: Sequence[Bounds]) -> str:
    each = ([getattr(o, name) for o in owed_by] for name in ("at_once_ms", "by_sample_ms", "in_steps_ms"))
    return " ".join(f"{statistics.median(ms):4.0f}/{_p95(ms):<4.0f}" for ms in each)


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, math.ceil(0.95 * len(values)) - 1)]


def _bounds(track: MachineTrack, begin_ns: int, end_ns: int) -> Bounds | None:
    whole, steps = owed(track, begin_ns, end_ns), owed(_in_steps(track), begin_ns, end_ns)
    if whole is None or steps is None:
        return None
    waited_ms = whole.waited_ms if whole.waited_ms is not None else math.inf
    at_once_ms = min(whole.others_ran_ms, waited_ms) + whole.stolen_ms + (whole.quota_ms or 0.0)
    return Bounds(min(at_once_ms, whole.lasted_ms), whole.at_most_ms, steps.at_most_ms)


def _in_steps(track: MachineTrack) -> MachineTrack:
    """The same samples as a machine shows them that counts idle time in steps of 10 ms."""
    if track.grain_ms:
        return track
    first_ns, samples = track.samples[0].at_ns, []
    for sample in track.samples:
        all_ms = track.cores * (sample.at_ns - first_ns) / NS_PER_MS
        samples.append(replace(sample, busy_ms=all_ms - math.floor((all_ms - sample.busy_ms) / TICK_MS) * TICK_MS))
    return replace(track, samples=tuple(samples), grain_ms=TICK_MS, late_ms=0.0)


def _known_turn(load: str, processes: int) -> KnownTurn:
    command = [sys.executable, "-S", PROGRAMS, "work", str(processes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdout.readline()
        with CallWatch((agent.pid,), ()) as watch:
            time.sleep(0.1)
            agent.stdin.write("go\n")
            agent.stdin.flush()
            began_ns, ended_ns, quiet_ns = map(int, agent.stdout.readline().split())
            time.sleep(0.1)
        agent.stdin.close()
    assert watch.track is not None
    found = _bounds(watch.track, began_ns, ended_ns)
    assert found is not None
    inside = [s.harness_ran_ms for s in watch.track.samples if began_ns <= s.at_ns <= ended_ns]
    return KnownTurn(
        f"known-{processes}", load, (ended_ns - began_ns - quiet_ns) / NS_PER_MS, max(inside) - min(inside) + SPREAD_MS, found
    )


@contextmanager
def _load(load: str) -> Iterator[None]:
    """Keep so many cores busy: whole ones without a break, a part of one in turns of 50 ms, or in bursts."""
    each = LOADS.get(load, ())
    programs = [
        subprocess.Popen([sys.executable, "-S", PROGRAMS, "burn", str(part)], start_new_session=True) for part in each
    ]  # Linux shares the processor between sessions first.
    if programs:
        time.sleep(1.0)
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def main() -> None:
    """See the module's head."""
    match sys.argv[1:]:
        case ["known", *minutes]:
            known(float(minutes[0]) if minutes else 3.0)
        case ["cost"]:
            cost()
        case _:
            print(__doc__, file=sys.stderr)
            sys.exit(2)


if __name__ == "__main__":
    main()
