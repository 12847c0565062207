"""Is what a figure could owe to others a bound, and how wide is it? `python benchmarks/contention.py known [minutes]`, then `…
calls [rounds] [load …]`.

`known` has an agent whose work is known: 300 ms of processor time, by one process or handed between two, with pauses in which
it gives up the processor. Its quiet latency is the sum of its work and its pauses, on however busy a machine, so each of some
hundred turns says whether the bound holds. Others keep 0.1 to 2 cores busy, steadily or in bursts like a browser's: many short
programs at once.

`calls` plays calls to two cascades beside the same loads, in random order. The quiet TTFA of a turn is known there only as the
range of the same agent's calls without added load: the low end of a loaded call may not lie above all of them. Writes
`docs/pictures/contention.svg`. One round of it takes five minutes.

`cost` measures the processor time of the samples themselves.

The first two print the width of the bound three times, as median/p95 in ms: over the whole stretch at once, from one sample to
the next, and the same where the machine shows others' work only in steps of 10 ms.
"""

import asyncio
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import altair as alt

from harness.agents.profile import load_profile
from harness.audio.vocal import silero
from harness.caller import Callers
from harness.experiment import Experiment
from harness.machine.busy_clock import TICK_MS
from harness.machine.call_watch import CallWatch, Watches
from harness.progress import RunProgress
from harness.recording.files import load as load_recording
from harness.recording.machine_track import MachineTrack
from harness.run.caller_turns import render_turns
from harness.run.plan import make_plan, new_manifest
from harness.run.running_agents import RunningAgents
from harness.run.sessions import SessionPlayer
from harness.run.weights import weights_of_agents
from harness.store.run_store import RunStore
from harness.timeline import NS_PER_MS
from harness.timing.contention import owed, stretch_ns
from harness.timing.figures import NO_REPLY_MS

AGENTS = ("tuned-stock", "polaris-like")
"""One that works after the caller has ended, one that hides its work behind its wait."""
LOADS = {"0.1": (0.1,), "0.3": (0.3,), "0.5": (0.5,), "1": (1.0,), "2": (1.0, 1.0), "bursts": (-0.1, -0.1, -0.1, -0.1)}
"""The part of a core that each program takes; negative: in bursts."""
CALLS_BESIDE = ("0.3", "0.5", "1", "2", "bursts")
PROGRAMS = str(Path(__file__).with_name("contention_programs.py"))
KNOWN_A_LOAD = 4
COST_S = 5.0
SPREAD_MS = 3.0
"""Thirty pauses end a tenth of a millisecond late each, on a quiet machine too."""
LINES = (
    "I moved here for the job, and now I eat my dinner alone every single night.",
    "My brother has stopped calling me back. I keep telling myself that he is only busy, and I do not believe it any more.",
    "They gave my shifts to somebody else and never told me why.",
)
PICTURE = Path("docs/pictures/contention.svg")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that a stretch could owe to others, three times, in ms."""

    at_once_ms: float
    by_sample_ms: float
    in_steps_ms: float


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the load that was added, and what was measured."""

    agent: str
    line: int
    load: str
    ttfa_ms: float
    owed: Bounds
    others: tuple[tuple[str, float], ...]


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


def calls(rounds: int, beside: Sequence[str]) -> None:
    """Measure calls beside these loads, print a table, draw the picture."""
    found = asyncio.run(_all_calls(rounds, beside))
    print(f"{'agent':>14} {'load':>8} {'calls':>6} {'TTFA, ms':>9}   at most: {'at once':>9} {'by sample':>9} "
          f"{'in steps':>9} {'beyond':>7}  others")  # fmt: skip
    quiet = {
        (c.agent, c.line): [q.ttfa_ms for q in found if (q.agent, q.line, q.load) == (c.agent, c.line, "0")] for c in found
    }
    for agent in AGENTS:
        for load in ("0", *beside):
            mine = [c for c in found if (c.agent, c.load) == (agent, load)]
            beyond = sum(c.ttfa_ms - c.owed.by_sample_ms > max(quiet[c.agent, c.line], default=0.0) for c in mine)
            named = ", ".join(f"{name} {cores:.2f}" for name, cores in mine[0].others) if mine else ""
            print(
                f"{agent:>14} {load:>8} {len(mine):6} {statistics.median(c.ttfa_ms for c in mine):9.0f} {'':10}"
                f"{_widths([c.owed for c in mine])} {beyond:7}  {named}"
            )
    rows = [(c, c.ttfa_ms - statistics.median(quiet[c.agent, c.line])) for c in found if quiet[c.agent, c.line]]
    _draw([{**asdict(c), "owed": max(1.0, c.owed.by_sample_ms), "moved": max(1.0, ms)} for c, ms in rows])


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


def _bounds(track: MachineTrack, begin_ns: int, end_ns: int, over_ms: float = math.inf) -> Bounds | None:
    whole, steps = owed(track, begin_ns, end_ns), owed(_in_steps(track), begin_ns, end_ns)
    if whole is None or steps is None:
        return None
    waited_ms = whole.waited_ms if whole.waited_ms is not None else math.inf
    at_once_ms = min(whole.others_ran_ms, waited_ms) + whole.stolen_ms + (whole.quota_ms or 0.0)
    return Bounds(min(at_once_ms, whole.lasted_ms, over_ms), min(whole.at_most_ms, over_ms), min(steps.at_most_ms, over_ms))


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


@asynccontextmanager
async def _playing(names: tuple[str, ...]) -> AsyncIterator[tuple[Callable[..., tuple[SessionPlayer, RunStore]], Path]]:
    """Agents loaded once. Gives what makes a player with a store of its own (a folder, and which line; all, left out)."""
    progress = RunProgress()
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        agents = tuple(str(_short(there, name)) for name in names)
        plan = make_plan(Experiment(agents=agents, pack=str(_pack(there))))
        weights = weights_of_agents(plan, progress)
        turns, vocal = render_turns(plan, progress), silero()
        (there / "logs").mkdir()
        async with RunningAgents(plan.profiles, weights, there / "logs", progress) as running:
            callers = Callers()
            await callers.enough_for(1)

            def player_of(place: Path, line: int | None = None) -> tuple[SessionPlayer, RunStore]:
                mine = plan if line is None else replace(plan, contexts=plan.contexts[line : line + 1])
                mine = mine if line is None else replace(mine, whole=mine.contexts)
                store = RunStore.create(place, new_manifest(mine), mine.contexts)
                return SessionPlayer(mine, store, turns, running, callers, vocal, progress), store

            try:
                yield player_of, there
            finally:
                await callers.stop()


async def _all_calls(rounds: int, beside: Sequence[str]) -> list[Call]:
    order = random.Random(1)
    found: list[Call] = []
    async with _playing(AGENTS) as (player_of, there):
        for k in range(rounds):
            for load in order.sample(("0", "0", *beside), len(beside) + 2):
                player, store = player_of(there / f"{k}-{len(found)}")
                with _load(load):
                    await player.play_all()
                found += _calls(store, load)
                store.close()
    return found


def _calls(store: RunStore, load: str) -> Iterator[Call]:
    for session in store.sessions():
        timing, track = session.timing, store.machine_track(session)
        if timing is None or timing.contention is None or timing.discarded is not None or timing.signed_ms is not None:
            continue
        t0_ns = load_recording(session.folder).caller.t0_ns
        ttfa_ms = timing.ttfa_ms if timing.ttfa_ms is not None else NO_REPLY_MS
        found = _bounds(track, *stretch_ns(track, t0_ns, timing), ttfa_ms) if track is not None else None
        if found is not None:
            line = int(session.key.context_id.removeprefix("line-"))
            yield Call(session.key.agent, line, load, ttfa_ms, found, timing.contention.others)


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


def _pack(folder: Path) -> Path:
    about = "subset: regular, emotion: sadness, problem: home"
    contexts = "".join(
        f"  - {{id: line-{k}, {about}, turns: [{{role: seeker, text: {json.dumps(t)}}}]}}\n" for k, t in enumerate(LINES)
    )
    path = folder / "pack.yaml"
    path.write_text(f"pack: lines\nsource: benchmark\nlicence: Apache-2.0\ncontexts:\n{contexts}")
    return path


def _short(folder: Path, name: str) -> Path:
    """The profile with replies of a few words: what comes after the first sound is not looked at here."""
    path = folder / f"{name}.toml"
    text = load_profile(name).source_text
    path.write_text(text.replace("max_tokens = 60", "max_tokens = 12").replace("max_tokens = 80", "max_tokens = 12"))
    return path


def _draw(calls: list[dict[str, object]]) -> None:
    data = alt.InlineData(values=calls)
    points = (
        alt.Chart(data)
        .mark_point(size=34, opacity=0.7)
        .encode(
            x=alt.X("owed:Q", scale=alt.Scale(type="log"), axis=alt.Axis(title="At most others', ms")),
            y=alt.Y(
                "moved:Q",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(title="TTFA above its median without load, ms"),
            ),
            color=alt.Color("load:N", legend=alt.Legend(title="Load"), sort=["0", *LOADS], scale=alt.Scale(scheme="viridis")),
            shape=alt.Shape("agent:N", legend=alt.Legend(title=None)),
        )
    )
    ends = alt.InlineData(values=[{"at": 1.0}, {"at": NO_REPLY_MS}])
    bound = alt.Chart(ends).mark_line(strokeDash=[6, 4], color="#c2410c").encode(x="at:Q", y="at:Q")
    (points + bound).properties(width=560, height=340).save(str(PICTURE))


def main() -> None:
    """See the module's head."""
    match sys.argv[1:]:
        case ["known", *minutes]:
            known(float(minutes[0]) if minutes else 3.0)
        case ["cost"]:
            cost()
        case ["calls"]:
            calls(1, CALLS_BESIDE)
        case ["calls", rounds, *beside]:
            calls(int(rounds), beside or CALLS_BESIDE)
        case _:
            print(__doc__, file=sys.stderr)
            sys.exit(2)


if __name__ == "__main__":
    main()
