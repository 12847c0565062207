"""Calls of a load test as an agent with a queue would give them."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.figures.steps import step_figures
from harness.load.arrivals import Arrivals
from harness.load.result import LoadResult, Step
from harness.store.database import create_database
from harness.store.load_part import FILLING, LoadPart, StepRecord, step_name
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey, UnrecordedCall
from harness.timing.figures import Stage, TurnTiming, Utterance, Waterfall

MADE: dict[str, Any] = {
    "created": "2026-11-26", "harness_version": "1", "pack": "heart-mini", "pack_source": "heart-mini", "pack_hash": "a",
    "context_ids": ["c"], "agents": [AgentEntry(name="my", kind="cascade", profile_hash="p", profile_text="")],
    "mode": "seeded", "conditions": ["clean"], "repeats": 1, "seed": 1, "machine_id": "here",
}  # fmt: skip


def turn(
    number: int,
    at_s: float,
    ttfa_ms: float | None = 400.0,
    *,
    rate: float = 1.0,
    failure: str | None = None,
    detail: str = "",
    counted: bool = True,
    filler: bool = False,
    stages: Mapping[Any, tuple[float, float]] | None = None,
    **more: Any,
) -> UnrecordedCall:
    """A call of one turn, whose caller ends at this second."""
    lost = {"discarded": FILLING} if not counted else {}
    timing = TurnTiming(
        "made", 0.0, None if more.get("signed_ms") is not None else ttfa_ms, no_reply=ttfa_ms is None,
        utterances=(Utterance(0.0, 1.0, "filler"),) if filler else (),
        waterfall=Waterfall(tuple(Stage(name, *times) for name, times in stages.items())) if stages else None,
        **{**more, **lost},
    )  # fmt: skip
    key = SessionKey("c", "h", "my", "p", "seeded", "clean", number, step_name(rate, "poisson"))
    return UnrecordedCall(key, round(at_s * 1e9), (timing,), failure, detail)


def changed(call: UnrecordedCall, **timing: Any) -> UnrecordedCall:
    """The call with these figures of its turns."""
    return replace(call, turn_timings=tuple(replace(one, **timing) for one in call.turn_timings))


def queued(rate: float, lasts_s: float, seed: int, *, serves: float = 10.0, slower: float = 1.0) -> list[UnrecordedCall]:
    """Calls at a rate, each answered 300 ms after a queue of one server with exponential service lets it through."""
    at_s = np.array(Arrivals("poisson", rate, lasts_s, seed).offsets_ns()) / 1e9
    service_s = np.random.default_rng(seed).exponential(1 / serves, at_s.size)
    free_s, found = 0.0, []
    for number, (at, needs) in enumerate(zip(at_s, service_s, strict=True)):
        free_s = max(free_s, at) + needs
        found.append(turn(number, at, float(slower * (300 + 1_000 * (free_s - at))), rate=rate))
    return found


def step(calls: Sequence[UnrecordedCall], *, rate: float = 1.0, late: str = "", **more: Any) -> Step:
    """The step of these calls. `late`: why it says nothing about its agent."""
    record: dict[str, Any] = {
        "name": step_name(rate, "poisson"), "rate": rate, "callers": 40, "calls_at_once": 12 * rate, "sessions": len(calls),
        "out_of_bounds": (late,) if late else (), "says_of_agent": not late,
    } | more  # fmt: skip
    return Step(StepRecord(**record), step_figures(calls))


def result_of(*steps: Step, budget_ms: float | None = None, **more: Any) -> LoadResult:
    """An open loop with these steps."""
    records = tuple(one.record for one in steps)
    part: dict[str, Any] = {"law": "poisson", "for_s": 240.0, "budget_ms": budget_ms, "records": records, "contexts": 8} | more
    return LoadResult(LoadPart(**part), steps)


def written(folder: Path, result: LoadResult, calls: Sequence[UnrecordedCall] = (), made: Mapping[str, Any] = MADE) -> RunStore:
    """The run of a load test."""
    folder.mkdir(exist_ok=True)
    manifest = RunManifest(**made, load=result.part)
    store = RunStore(folder, create_database(folder, manifest, ()))
    store.add_calls(calls)
    return store


def stored(
    folder: Path, steps: Sequence[Sequence[UnrecordedCall]], made: Mapping[str, Any] = MADE, contexts: int = 8, **late: str
) -> Path:
    """The folder of a load test with these steps. `late`: why a step, by its place (`at_1`), says nothing about its agent."""
    found = []
    for place, calls in enumerate(steps):
        rate = float(calls[0].key.step.removesuffix(" calls/s"))
        found.append(step(calls, rate=rate, late=late.get(f"at_{place}", "")))
    every = [call for calls in steps for call in calls]
    with closing(written(folder, result_of(*found, for_s=180.0, contexts=contexts), every, made)):
        return folder
