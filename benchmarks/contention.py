"""At which pressure does TTFA move? `python benchmarks/contention.py steps [rounds]`, then `… runs loaded|quiet [how many]`.

`steps` calls two cascades again and again while other programs keep 0 to 2 cores busy, in random order, and sets each call's
TTFA against the same agent's median without added load. What the harness measured of the call (the *lost share*) stands on one
axis, how far TTFA moved on the other: the bound is where the median has moved by 5 %. Writes `docs/pictures/contention.svg`.

`runs loaded` and `runs quiet` make whole runs with and without load past the bound, and count how many said so.
"""

import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import altair as alt

from harness.agents.profile import load_profile
from harness.audio.vocal import silero
from harness.caller import CallerProcess
from harness.progress import RunProgress
from harness.run.caller_turns import render_turns
from harness.run.plan import RunOptions, make_plan, new_manifest
from harness.run.running_agents import RunningAgents
from harness.run.sessions import SessionPlayer
from harness.run.weights import weights_of_agents
from harness.store.run_store import RunStore
from harness.timing.figures import MOST_LOST, NO_REPLY_MS

AGENTS = ("tuned-stock", "polaris-like")
"""One that works after the caller has ended, one that hides its work behind its wait."""
LOADS_CORES = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
PERIOD_S = 0.05
MOVED = 1.05
PAST_THE_BOUND_CORES = 2.0
BINS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 10.0)
LINES = (
    "I moved here for the job, and now I eat my dinner alone every single night.",
    "My brother has stopped calling me back. I keep telling myself that he is only busy, and I do not believe it any more.",
    "They gave my shifts to somebody else and never told me why.",
)
PICTURE = Path("docs/pictures/contention.svg")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the load that was added, and what was measured."""

    agent: str
    line: int
    load_cores: float
    ttfa_ms: float
    lost_share: float
    others_cores: float
    waited_cores: float


def steps(rounds: int) -> None:
    """Measure, print a table, draw the picture."""
    calls = asyncio.run(_all_calls(rounds))
    usual = {
        (a, k): statistics.median(c.ttfa_ms for c in calls if (c.agent, c.line, c.load_cores) == (a, k, 0.0))
        for a in AGENTS
        for k in range(len(LINES))
    }
    moved = [(c, c.ttfa_ms / usual[c.agent, c.line]) for c in calls]
    print(f"{'added cores':>12} {'calls':>6} {'TTFA ×':>8} {'lost, median':>13} {'contended':>10}")
    for load in LOADS_CORES:
        mine = [(c, ratio) for c, ratio in moved if c.load_cores == load]
        over = sum(c.lost_share > MOST_LOST for c, _ in mine) / len(mine)
        lost = statistics.median(c.lost_share for c, _ in mine)
        print(f"{load:12.2f} {len(mine):6} {statistics.median(r for _, r in mine):8.2f} {lost:13.3f} {over:10.0%}")
    print(f"\n{'lost share':>12} {'calls':>6} {'TTFA ×':>8} {'moved by 5 %':>13}")
    for low, high in pairwise(BINS):
        ratios = [ratio for c, ratio in moved if low <= c.lost_share < high]
        if ratios:
            share = sum(r > MOVED for r in ratios) / len(ratios)
            print(f"{low:5.2f}–{high:5.2f}  {len(ratios):6} {statistics.median(ratios):8.2f} {share:13.0%}")
    _draw([{**asdict(c), "moved": ratio} for c, ratio in moved])


def runs(cores: float, count: int) -> None:
    """Whole runs of one call, with so many cores of other work."""
    said = 0
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        pack, profile = _pack(there), _short(there, AGENTS[0])
        for k in range(count):
            command = [sys.executable, "-m", "harness", "run", "--agent", str(profile), "--pack", str(pack), "--json"]
            command += ["--judge", "none", "--limit", "1", "--seed", str(k), "--out", str(there / f"run-{k}")]
            with _load(cores):
                done = subprocess.run(command, check=False, capture_output=True, text=True)
            contended = any(c["code"] == "contended" for c in json.loads(done.stdout)["cautions"])
            said += contended
            (session,) = RunStore.open(there / f"run-{k}").sessions()
            print(f"{k + 1}/{count}: said so: {contended}; {session.timing and session.timing.contention}", flush=True)
    print(f"with {cores} cores of added load {said} of {count} runs say so")


async def _all_calls(rounds: int) -> list[Call]:
    order = random.Random(1)
    calls: list[Call] = []
    progress = RunProgress()
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        agents = tuple(str(_short(there, name)) for name in AGENTS)
        plan = make_plan(RunOptions(agents=agents, pack=str(_pack(there))))
        weights = weights_of_agents(plan, progress)
        turns, vocal = render_turns(plan, progress), silero()
        (there / "logs").mkdir()
        async with RunningAgents(plan.profiles, weights, there / "logs", progress) as running:
            caller = CallerProcess()
            await caller.start()
            try:
                for k in range(rounds):
                    for load in order.sample(LOADS_CORES, len(LOADS_CORES)):
                        store = RunStore.create(there / f"{k}-{load}", new_manifest(plan), plan.contexts)
                        with _load(load):
                            await SessionPlayer(plan, store, turns, running, caller, vocal, progress).play_all()
                        calls += _calls(store, load)
                        store.close()
            finally:
                await caller.stop()
    return calls


def _calls(store: RunStore, load: float) -> Iterator[Call]:
    for session in store.sessions():
        timing = session.timing
        if timing is None or timing.contention is None or timing.discarded is not None or timing.signed_ms is not None:
            continue
        ttfa_ms = timing.ttfa_ms if timing.ttfa_ms is not None else NO_REPLY_MS
        lost = timing.contention
        line = int(session.key.context_id.removeprefix("line-"))
        yield Call(session.key.agent, line, load, ttfa_ms, lost.lost_share, lost.others_cores, lost.waited_cores)


@contextmanager
def _load(cores: float) -> Iterator[None]:
    """Keep so many cores busy: whole ones without a break, a part of one in bursts, as compilers and browsers do."""
    parts = [1.0] * int(cores) + ([cores % 1] if cores % 1 else [])
    programs = [subprocess.Popen([sys.executable, __file__, "burn", str(part)]) for part in parts]
    if parts:
        time.sleep(1.0)
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _burn(part: float) -> None:
    while True:
        until = time.monotonic() + PERIOD_S * part
        while time.monotonic() < until:
            pass
        if part < 1:
            time.sleep(PERIOD_S * (1 - part))


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
    data = alt.InlineData(values=[{**c, "lost": max(0.001, float(str(c["lost_share"])))} for c in calls])
    points = (
        alt.Chart(data)
        .mark_point(size=34, opacity=0.7)
        .encode(
            x=alt.X("lost:Q", scale=alt.Scale(type="log"), axis=alt.Axis(title="Lost share of the turn")),
            y=alt.Y(
                "moved:Q",
                scale=alt.Scale(type="log", domain=[0.8, 20]),
                axis=alt.Axis(title="TTFA against the median without load"),
            ),
            color=alt.Color("load_cores:O", legend=alt.Legend(title="Cores of load"), scale=alt.Scale(scheme="viridis")),
            shape=alt.Shape("agent:N", legend=alt.Legend(title=None)),
        )
    )
    bound = alt.Chart(alt.InlineData(values=[{"at": MOST_LOST}])).mark_rule(strokeDash=[6, 4], color="#c2410c").encode(x="at:Q")
    moved = alt.Chart(alt.InlineData(values=[{"at": MOVED}])).mark_rule(strokeDash=[2, 3], color="#666").encode(y="at:Q")
    (points + bound + moved).properties(width=560, height=340).save(str(PICTURE))


def main() -> None:
    """See the module's head."""
    match sys.argv[1:]:
        case ["burn", part]:
            _burn(float(part))
        case ["steps", *rounds]:
            steps(int(rounds[0]) if rounds else 4)
        case ["runs", ("loaded" | "quiet") as which, *count]:
            runs(PAST_THE_BOUND_CORES if which == "loaded" else 0.0, int(count[0]) if count else 20)
        case _:
            print(__doc__, file=sys.stderr)
            sys.exit(2)


if __name__ == "__main__":
    main()
