"""Does what a figure could owe to others bound what it lost, and do runs say so? `python benchmarks/contention.py steps
[rounds]`, then `… runs [how many]`.

`steps` calls two cascades again and again while other programs keep 0 to 2 cores busy, in random order, and sets each call's
TTFA against the same agent's median on the same turn without added load: how far it moved beside what it could at most owe.
A bound is one only if hardly any call moved further (the median has an error of its own). Writes
`docs/pictures/contention.svg`.

`runs` plays one call after another to one loaded agent, each a run of its own, by turns beside nothing and beside two busy
cores, and counts how many of the loaded ones called themselves contended, and how many of the quiet ones gave every figure.
Twenty of each are forty calls of about ten seconds.
"""

import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

import altair as alt

from harness.agents.profile import load_profile
from harness.audio.vocal import silero
from harness.caller import Callers
from harness.experiment import Experiment
from harness.figures.latency import FIGURES
from harness.figures.summarise import summarise
from harness.progress import RunProgress
from harness.run.caller_turns import render_turns
from harness.run.plan import make_plan, new_manifest
from harness.run.running_agents import RunningAgents
from harness.run.sessions import SessionPlayer
from harness.run.weights import weights_of_agents
from harness.store.run_store import RunStore
from harness.timing.figures import NO_REPLY_MS, TurnTiming
from harness.timing.left_out import MOST_OWED_MS, MOST_OWED_SHARE

AGENTS = ("tuned-stock", "polaris-like")
"""One that works after the caller has ended, one that hides its work behind its wait."""
LOADS_CORES = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
PERIOD_S = 0.05
PAST_THE_BOUND_CORES = 2.0
BINS_MS = (0.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1_000.0, NO_REPLY_MS + 1)
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
    owed_ms: float
    dropped: bool
    others_cores: float
    stolen_cores: float


def steps(rounds: int) -> None:
    """Measure, print two tables, draw the picture."""
    calls = asyncio.run(_all_calls(rounds))
    usual = {
        (a, k): statistics.median(c.ttfa_ms for c in calls if (c.agent, c.line, c.load_cores) == (a, k, 0.0))
        for a in AGENTS
        for k in range(len(LINES))
    }
    moved = [(c, c.ttfa_ms - usual[c.agent, c.line]) for c in calls]
    print(f"{'agent':>14} {'added cores':>12} {'calls':>6} {'moved, ms':>10} {'owed, ms':>9} {'dropped':>8} {'beyond':>7}")
    for agent in AGENTS:
        for load in LOADS_CORES:
            mine = [(c, ms) for c, ms in moved if (c.agent, c.load_cores) == (agent, load)]
            print(
                f"{agent:>14} {load:12.2f} {len(mine):6} {statistics.median(ms for _, ms in mine):10.0f} "
                f"{statistics.median(c.owed_ms for c, _ in mine):9.0f} {sum(c.dropped for c, _ in mine):8} {_beyond(mine):7}"
            )
    print(f"\n{'owed at most':>14} {'calls':>6} {'moved, ms':>10} {'beyond':>7}")
    for low, high in pairwise(BINS_MS):
        mine = [(c, ms) for c, ms in moved if low <= c.owed_ms < high]
        if mine:
            print(f"{low:6.0f}–{high:7.0f} {len(mine):6} {statistics.median(ms for _, ms in mine):10.0f} {_beyond(mine):7}")
    _draw([{**asdict(c), "moved": max(1.0, ms)} for c, ms in moved])


def _beyond(calls: list[tuple[Call, float]]) -> int:
    """Calls that came later than the bound allows: by more than it, and by more than a figure may be off unremarked."""
    return sum(ms > c.owed_ms + max(MOST_OWED_MS, MOST_OWED_SHARE * (c.ttfa_ms - ms)) for c, ms in calls)


def runs(count: int) -> None:
    """Runs of one call, by turns with and without load past the bound."""
    began_s = time.monotonic()
    said, whole = asyncio.run(_runs(count))
    print(f"beside {PAST_THE_BOUND_CORES:g} busy cores {said} of {count} runs call themselves contended")
    print(f"beside nothing {whole} of {count} runs give every figure; {time.monotonic() - began_s:.0f} s in all")


async def _runs(count: int) -> tuple[int, int]:
    said = whole = 0
    async with _playing(AGENTS[:1]) as (player_of, there):
        for k in range(2 * count):
            cores, line = PAST_THE_BOUND_CORES * (k % 2), (k // 2) % len(LINES)
            player, store = player_of(there / f"run-{k}", line)
            with _load(cores):
                await player.play_all()
            timing = store.sessions()[0].timing
            contended = any(c.code == "contended" for c in summarise(store).cautions)
            dropped = [f for f in FIGURES if timing is not None and timing.owes_too_much(f)]
            said += contended and cores > 0
            whole += not dropped and not contended and cores == 0
            print(f"{k + 1:3} {cores:g} cores: contended {contended}, dropped {dropped}; {_shown(timing)}", flush=True)
            store.close()
    return said, whole


def _shown(timing: TurnTiming | None) -> str:
    if timing is None or timing.contention is None:
        return "not watched"
    lost, ttfa = timing.contention, f"{timing.ttfa_ms:.0f}" if timing.ttfa_ms is not None else "none"
    waited = f"{lost.waited_cores:.2f}" if lost.waited_cores is not None else "–"
    return (
        f"TTFA {ttfa} ms, at most {timing.owed_ms('ttfa'):.0f} ms others' (programs {lost.others_ms:.0f}, host "
        f"{lost.stolen_ms:.0f}, quota {lost.quota_ms}); cores: others {lost.others_cores:.3f}, waited {waited}, "
        f"stolen {lost.stolen_cores:.3f}"
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


async def _all_calls(rounds: int) -> list[Call]:
    order = random.Random(1)
    calls: list[Call] = []
    async with _playing(AGENTS) as (player_of, there):
        for k in range(rounds):
            for load in order.sample(LOADS_CORES, len(LOADS_CORES)):
                player, store = player_of(there / f"{k}-{load}")
                with _load(load):
                    await player.play_all()
                calls += _calls(store, load)
                store.close()
    return calls


def _calls(store: RunStore, load: float) -> Iterator[Call]:
    for session in store.sessions():
        timing = session.timing
        if timing is None or timing.contention is None or timing.discarded is not None or timing.signed_ms is not None:
            continue
        ttfa_ms = timing.ttfa_ms if timing.ttfa_ms is not None else NO_REPLY_MS
        lost = timing.contention
        line = int(session.key.context_id.removeprefix("line-"))
        yield Call(
            session.key.agent, line, load, ttfa_ms, timing.owed_ms("ttfa") or 0.0, timing.contended, lost.others_cores,
            lost.stolen_cores,
        )  # fmt: skip


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
    data = alt.InlineData(values=[{**c, "owed": max(1.0, float(str(c["owed_ms"])))} for c in calls])
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
            color=alt.Color("load_cores:O", legend=alt.Legend(title="Cores of load"), scale=alt.Scale(scheme="viridis")),
            shape=alt.Shape("agent:N", legend=alt.Legend(title=None)),
        )
    )
    ends = alt.InlineData(values=[{"at": 1.0}, {"at": NO_REPLY_MS}])
    bound = alt.Chart(ends).mark_line(strokeDash=[6, 4], color="#c2410c").encode(x="at:Q", y="at:Q")
    (points + bound).properties(width=560, height=340).save(str(PICTURE))


def main() -> None:
    """See the module's head."""
    match sys.argv[1:]:
        case ["burn", part]:
            _burn(float(part))
        case ["steps", *rounds]:
            steps(int(rounds[0]) if rounds else 4)
        case ["runs", *count]:
            runs(int(count[0]) if count else 20)
        case _:
            print(__doc__, file=sys.stderr)
            sys.exit(2)


if __name__ == "__main__":
    main()
