"""What a Ray cluster costs on this machine, and what two workers bring: `python benchmarks/fleet.py [calls]`.

Costs: the time until a cluster of this machine stands, the memory of its processes (PSS, so that shared pages count once), a
task that does nothing, and a message as large as a session. Throughput: the same calls of an agent that only waits, dealt to
one worker and to two, in turn, twice each; each worker's calls over the time that it was calling, added up, because loading
happens once a worker however many calls follow. TTFA is held against the agent's own delay in both. 0 calls: the costs alone.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import psutil

from harness.fleet.cluster import connected
from harness.recording.record import Recording
from harness.store.run_store import RunStore
from harness.timing.measure import spoken_end_sample

SCRIPTED = Path(__file__).parents[1] / "tests" / "scripted"
sys.path.insert(0, str(SCRIPTED))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(SCRIPTED), os.environ.get("PYTHONPATH"))))
"""The wire of the agent that only waits, for this process and those that it starts."""
LOUD = 100
"""A caller sample above this is speech to that agent."""
PROFILE = """
kind = "plugin"
greets = false
connection = "scripted"
accepts_history = true

[[options.replies]]
delay_ms = {delay_ms}
sound = [{{ kind = "voice", ms = 1500 }}]
"""
DELAY_MS = 900
SESSION_BYTES = 700_000
TASKS, MESSAGES = 200, 50


def nothing() -> None:
    """A task that does nothing."""


def stream(count: int, size: int) -> Iterator[bytes]:
    """Messages of one size."""
    for _ in range(count):
        yield bytes(size)


def costs() -> None:
    """Print what Ray takes."""
    began = time.monotonic()
    with connected("local"):
        import ray

        up_s = time.monotonic() - began
        task = ray.remote(nothing)
        ray.get(task.remote())
        first_s = time.monotonic() - began - up_s
        each = []
        for _ in range(TASKS):
            at = time.monotonic()
            ray.get(task.remote())
            each.append(time.monotonic() - at)
        at = time.monotonic()
        for reference in ray.remote(stream).options(num_returns="streaming").remote(MESSAGES, SESSION_BYTES):
            ray.get(reference)
        message_ms = (time.monotonic() - at) / MESSAGES * 1000
        memory: dict[str, int] = {}
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                memory[process.name()] = memory.get(process.name(), 0) + process.memory_full_info().pss
        print(f"cluster up: {up_s:.1f} s; first task: {first_s:.1f} s; a task: {median(each) * 1000:.1f} ms")
        print(f"a message of {SESSION_BYTES / 1e6:.1f} MB: {message_ms:.1f} ms")
        print(f"memory of Ray's processes: {sum(memory.values()) / 2**20:.0f} MiB, {len(memory)} kinds")
        for name, size in sorted(memory.items(), key=lambda item: -item[1]):
            print(f"  {name}: {size / 2**20:.0f} MiB")


def throughput(calls: int) -> None:
    """Print calls an hour of one worker and of two."""
    with tempfile.TemporaryDirectory() as place:
        profile = Path(place) / "waits.toml"
        profile.write_text(PROFILE.format(delay_ms=DELAY_MS))
        found: dict[int, list[float]] = {1: [], 2: []}
        for again in range(2):
            for workers in (1, 2):
                found[workers].append(_calls_an_hour(profile, Path(place) / f"{workers}-{again}", calls, workers))
        print(f"two workers to one: {median(found[2]) / median(found[1]):.2f}")


def due_ms(recording: Recording) -> float:
    """The TTFA that the agent's own rule makes: it counts from the last loud sample, which is not always the spoken end."""
    caller = recording.caller
    last_loud = int(np.flatnonzero(np.abs(caller.played.astype(np.int32)) > LOUD)[-1])
    end = spoken_end_sample(recording, recording.caller.turns[-1])
    return DELAY_MS + (last_loud + 1 - end) / caller.rate_hz * 1e3


def _calls_an_hour(profile: Path, out: Path, calls: int, workers: int) -> float:
    line = [sys.executable, "-m", "harness", "run", "--agent", str(profile), "--limit", str(calls), "--judge", "none"]
    line += ["--ray", "local", "--ray-shards", str(workers), "--ray-cpus", "0.5", "--out", str(out), "--json"]
    began_s = time.monotonic()
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    whole_s = time.monotonic() - began_s
    assert done.returncode == 0, done.stderr
    store = RunStore.open(out)
    sessions = store.sessions()
    fleet = store.manifest.fleet
    assert fleet is not None
    each = []
    for contexts in fleet.dealt.values():
        mine = [s for s in sessions if s.key.context_id in contexts]
        last_ns = max(int(store.recording(s).caller.departures_ns[-1]) for s in mine)
        each.append(len(mine) / ((last_ns - min(s.started_ns or 0 for s in mine)) / 1e9))
    timed = [(s.timing, store.recording(s)) for s in sessions if s.timing is not None]
    off_ms = [abs(t.ttfa_ms - due_ms(r)) for t, r in timed if t.ttfa_ms is not None]
    print(
        f"{workers} worker(s): {len(sessions)} calls, {sum(each) * 3_600:.0f} an hour while calling, {whole_s:.0f} s in all; "
        f"TTFA off by p50 {np.percentile(off_ms, 50):.1f} ms, p95 {np.percentile(off_ms, 95):.1f} ms ({len(off_ms)}); "
        f"{sum((t.owed_ms('ttfa') or 0.0) >= 1 for t, _ in timed)} delayed by others"
    )
    return sum(each) * 3_600


def main() -> None:
    """Costs, then throughput."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    costs()
    if calls:
        throughput(calls)


if __name__ == "__main__":
    main()
