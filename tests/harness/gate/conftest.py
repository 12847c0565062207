"""A run of an older version on disk, runs of turns that others may have delayed, and one in which the harness was at fault."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.experiment import Experiment
from harness.figures.validity import with_validity
from harness.recording.record import FRAME_MS, CallerTrack, Recording, SpokenTurn
from harness.run.plan import make_plan, new_manifest
from harness.store.run_store import RunStore
from harness.timeline import NS_PER_MS
from harness.timing.figures import Contention, TurnTiming
from tests.harness.conftest import peer
from tests.harness.store.conftest import old_run
from tests.made_run import play

__all__ = ["busy_run", "faulty_run", "old_run"]

AGENT = "raw-pcm-echo"
QUIET = Contention(others_cores=0.0, waited_cores=0.0, stolen_cores=0.0, at_most_ms={"ttfa": 0.0})
TURN = TurnTiming(method="test", spoken_end_ms=0, ttfa_ms=2_500.0, contention=QUIET)
RATE_HZ = 16_000


def others_could_have(owed_ms: float, turn: TurnTiming = TURN) -> TurnTiming:
    """The turn, of whose time others could have caused that much."""
    busy = replace(QUIET, at_most_ms={"ttfa": owed_ms}, others=(("chromium", 0.4), ("python3", 0.2)))
    return replace(turn, contention=busy)


def run_of(folder: Path, turns: Sequence[TurnTiming], at_fault: Collection[int] = (), repeats: int = 1) -> RunStore:
    """A run with these turns, one a call, over a pack of 72 conversations. In those `at_fault` the event loop stopped."""
    plan = make_plan(Experiment(agents=(str(peer(AGENT)),), pack="heart-open", judges=("none",), repeats=repeats))
    store = RunStore.create(folder, new_manifest(plan), plan.contexts)
    places = [(context.id, repeat) for repeat in range(repeats) for context in plan.contexts]
    for k, ((context, repeat), turn) in enumerate(zip(places, turns, strict=False)):
        play(store, context, AGENT, repeat=repeat, recording=_late_call() if k in at_fault else None, timing=turn)
    if at_fault:
        store.set_manifest(with_validity(store))
        assert store.manifest.invalid
    return store


def _late_call() -> Recording:
    said = np.full(RATE_HZ, 1_000, np.int16)
    frames = np.arange(1_000 // FRAME_MS, dtype=np.int64) + 1
    caller = CallerTrack(
        rate_hz=RATE_HZ, dry=said, played=said, t0_ns=10**9, departures_ns=10**9 + frames * FRAME_MS * NS_PER_MS,
        speech_start_sample=0, speech_end_sample=said.size, turns=(SpokenTurn(0, said.size),),
    )  # fmt: skip
    return Recording(caller=caller, agent_rate_hz=RATE_HZ, agent_pcm=said, loop_lag_ms=(500.0,))


@pytest.fixture
def busy_run(tmp_path: Path) -> RunStore:
    """A run of calls answered after 2.5 s; others could have caused 700 ms of each but the last ten."""
    return run_of(tmp_path / "run", [others_could_have(700.0)] * 62 + [TURN] * 10)


@pytest.fixture
def faulty_run(tmp_path: Path) -> RunStore:
    """The same calls on a quiet machine; in the first ten the harness was at fault."""
    return run_of(tmp_path / "run", [TURN] * 72, at_fault=range(10))
