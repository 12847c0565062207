"""Turns of a load test as an agent with a queue would give them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.load.arrivals import Arrivals
from harness.store.load_files import LoadMade, LoadTurn, append_turns, write_load

MADE = LoadMade(agent="my", pack="heart-mini", pack_hash="a", contexts=8, machine="here", harness_version="1")


def turn(number: int, at_s: float, ttfa_ms: float | None = 400.0, **more: Any) -> LoadTurn:
    at_ns = round(at_s * 1e9)
    return LoadTurn(
        step=more.pop("step", 0), session=f"0-{number}", context="c", begin_ns=at_ns, begin_unix_ns=at_ns, spoken_end_ns=at_ns,
        end_ns=at_ns, ttfa_ms=ttfa_ms, no_reply=ttfa_ms is None, **more,
    )  # fmt: skip


def queued(
    rate: float, lasts_s: float, seed: int, *, serves: float = 10.0, step: int = 0, slower: float = 1.0
) -> list[LoadTurn]:
    """Turns at a rate, each answered 300 ms after a queue of one server with exponential service lets it through."""
    at_s = np.array(Arrivals("poisson", rate, lasts_s, seed).offsets_ns()) / 1e9
    service_s = np.random.default_rng(seed).exponential(1 / serves, at_s.size)
    free_s, found = 0.0, []
    for number, (at, needs) in enumerate(zip(at_s, service_s, strict=True)):
        free_s = max(free_s, at) + needs
        found.append(turn(number, at, slower * (300 + 1_000 * (free_s - at)), step=step, rate=rate))
    return found


def stored(folder: Path, turns: Sequence[Sequence[LoadTurn]], *, made: LoadMade = MADE, **late: str) -> Path:
    """The folder of a load test with these steps. `late`: why a step, by its place (`at_1`), says nothing about its agent."""
    folder.mkdir()
    steps = []
    for place, rows in enumerate(turns):
        append_turns(folder, [row.model_copy(update={"step": place}) for row in rows])
        why = late.get(f"at_{place}")
        steps.append({"rate": rows[0].rate, "says_of_agent": why is None, "out_of_bounds": [why] if why else []})
    data = {"schema": 1, "arrivals": "poisson", "for_s": 180.0, "steps": steps, "made": made.model_dump()}
    write_load(folder, data)
    return folder
