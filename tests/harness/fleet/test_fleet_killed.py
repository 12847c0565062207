"""Workers, their runs and the head killed at random on a real cluster: nothing that arrived is lost or played again.

What was played is counted by the agent that was asked, a process of its own that outlives every kill. A session has arrived
when the run folder holds it; what was being played or was on its way at a kill may be asked for again, and nothing else may.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from harness.fleet.worker import LOOK_EVERY_S
from harness.store.database import DATABASE
from harness.store.run_store import RunStore
from tests.harness.fleet.conftest import ANSWER_S, Started, Starts, asked

MANY = int(os.environ.get("HARNESS_TEST_KILLS", "50"))
CONTEXTS, SHARDS = 60, 2
KILL_EVERY_S = (0.5, 25.0)
"""Bounds of what lies between two kills: a shard starts in five to twenty seconds, so some fall into that, some between
sessions."""
HEAD_OF = 5
"""Every so manieth kill is the head's."""
PACK = """
pack: sixty
source: tests
licence: Apache-2.0
contexts:
"""
CONTEXT = """
  - id: c{n}
    subset: regular
    emotion: sadness
    problem: moving away
    turns:
      - {{role: seeker, text: "It is day {n} without them."}}
"""


@dataclass
class Run:
    """One run on the cluster, killed and gone on with until it is done."""

    folder: Path
    address: str
    line: list[str]
    head: "subprocess.Popen[str] | None" = None
    kept: dict[str, int | None] = field(default_factory=dict)

    def go_on(self) -> None:
        more = ["--resume", "--judge", "none", "--ray", self.address] if (self.folder / DATABASE).exists() else self.line
        log = (self.folder.parent / "head.log").open("a")
        self.head = subprocess.Popen(
            [sys.executable, "-m", "harness", "run", *more, "--out", str(self.folder)],
            cwd=self.folder.parent, stdout=log, stderr=log, text=True,
        )  # fmt: skip

    def look(self) -> None:
        """What is kept is never touched again."""
        if not (self.folder / DATABASE).exists():
            return
        with closing(RunStore.open(self.folder)) as store:
            here = {s.id: s.started_ns for s in store.sessions() if s.status == "finished"}
        assert {name: here.get(name) for name in self.kept} == self.kept, "a session was lost or played again"
        self.kept = here


def victims(of: Started) -> list[psutil.Process]:
    """Workers that have a shard, and the runs that they started."""
    found = []
    for process in psutil.Process(of.pid).children(recursive=True):
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if line.startswith("ray::shard") or "--elsewhere" in line:
            found.append(process)
    return found


@pytest.mark.long
@pytest.mark.parametrize("kills", [MANY])
def test_kills_at_random_lose_nothing_and_play_nothing_twice(
    cluster: Starts, slow_writer: Path, tmp_path: Path, kills: int
) -> None:
    seed = int(os.environ.get("HARNESS_TEST_SEED", random.randrange(2**32)))
    print(f"HARNESS_TEST_SEED={seed}", flush=True)
    chance = random.Random(seed)
    pack = tmp_path / "sixty.yaml"
    pack.write_text(PACK + "".join(CONTEXT.format(n=n) for n in range(CONTEXTS)))
    here, done, runs = cluster(SHARDS), 0, 0
    while done < kills:
        before = len(asked(tmp_path))
        line = ["--agent", str(slow_writer), "--pack", str(pack), "--judge", "none"]
        run = Run(tmp_path / f"run-{runs}", here.address, [*line, "--ray", here.address])
        runs, of_this = runs + 1, 0
        run.go_on()
        while True:
            assert run.head is not None
            try:
                code = run.head.wait(chance.uniform(*KILL_EVERY_S) if done < kills else 300)
            except subprocess.TimeoutExpired:
                assert done < kills, "the run does not end"
                if done % HEAD_OF == HEAD_OF - 1:
                    run.head.send_signal(signal.SIGKILL)
                    run.head.wait()
                    what = "head"
                    time.sleep(1.0)
                elif not (there := victims(here)):
                    continue
                else:
                    victim = chance.choice(there)
                    try:
                        what = "run" if "--elsewhere" in victim.cmdline() else "worker"
                        victim.kill()
                    except psutil.Error:
                        continue
                done, of_this = done + 1, of_this + 1
                run.look()
                print(f"kill {done}: {what}, {len(run.kept)} of {CONTEXTS} kept", flush=True)
                if what == "head":
                    run.go_on()
                continue
            assert code in (0, 3), (tmp_path / "head.log").read_text()[-3_000:]
            run.look()
            if code == 0:
                break
            run.go_on()  # a shard was given up after three losses in a row
        assert len(run.kept) == CONTEXTS
        times = Counter(Counter(asked(tmp_path)[before:]).values())
        again = sum(n - 1 for n in Counter(asked(tmp_path)[before:]).values())
        on_the_way = (1 + int(LOOK_EVERY_S * 2 / ANSWER_S)) * SHARDS
        assert again <= of_this * on_the_way, f"asked again: {times}"
        print(f"run {runs}: {of_this} kills, {again} of {CONTEXTS} asked again", flush=True)


@pytest.mark.long
def test_ctrl_c_stops_every_shard_and_keeps_what_had_arrived(cluster: Starts, slow_writer: Path, tmp_path: Path) -> None:
    pack = tmp_path / "sixty.yaml"
    pack.write_text(PACK + "".join(CONTEXT.format(n=n) for n in range(CONTEXTS)))
    here = cluster(SHARDS)
    line = ["--agent", str(slow_writer), "--pack", str(pack), "--judge", "none", "--ray", here.address]
    run = Run(tmp_path / "run", here.address, line)
    run.go_on()
    assert run.head is not None
    deadline = time.monotonic() + 180
    while len(asked(tmp_path)) < 6 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(asked(tmp_path)) >= 6
    run.head.send_signal(signal.SIGINT)
    assert run.head.wait(90) == 130, (tmp_path / "head.log").read_text()[-3_000:]
    deadline = time.monotonic() + 15
    while victims(here) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert victims(here) == []
    run.look()
    assert run.kept
    before, arrived = len(asked(tmp_path)), len(run.kept)
    assert before - arrived <= 2 * SHARDS
    run.go_on()
    assert run.head.wait(300) == 0
    run.look()
    assert len(run.kept) == CONTEXTS
    assert len(asked(tmp_path)) == before + CONTEXTS - arrived, "what had arrived is not asked for again"
