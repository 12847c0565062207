"""`harness calibrate`: the measurement error of the harness on this machine."""

import asyncio
from typing import Annotated

import typer

from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.progress import RunProgress


def calibrate(
    trials: Annotated[int, typer.Option(help="Number of calls; a 95th percentile needs 60 measured ones.")] = 64,
    at_once: Annotated[int, typer.Option(help="Calls at once.")] = 4,
    seed: Annotated[
        int | None,
        typer.Option(hidden=True, help="Seed of the replies and their delays; default: drawn."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure replies of known sound and delay over a real socket, and save the errors for later runs to quote."""
    for name, value in (("--trials", trials), ("--at-once", at_once)):
        if value < 1:
            raise UserError(f"{name} {value}: must be at least 1")
    from harness.calibrate import calibrate as measure_errors

    with RunProgress() as progress:
        progress.phase("Calibrating", trials)
        found = asyncio.run(measure_errors(trials, at_once=at_once, seed=seed, progress=progress.count))
    if as_json:
        print(found.to_json())
        return
    error, pacing, arrival, lag = found.ttfa_error_ms, found.pacing_error_ms, found.arrival_error_ms, found.loop_lag_ms
    p95 = f"p95 {error.p95:.2f}, " if found.gives_p95 else ""
    print(f"TTFA error over {found.measured} calls: bias {error.bias:+.2f} ms, {p95}largest {error.max:.2f}")
    print(f"frames sent late by p99 {pacing.p99:.2f} ms (p99.9 {pacing.p999:.2f}, max {pacing.max:.2f})")
    print(f"frames arrived late by p99 {arrival.p99:.2f} ms (p99.9 {arrival.p999:.2f}, max {arrival.max:.2f})")
    print(f"event-loop lag p99 {lag.p99:.2f} ms, max {lag.max:.2f}; caller priority: {found.priority}")
    if found.independent is not None:
        other = found.independent
        print(f"{other.tool} agrees on {other.trials} clean calls: p95 {other.p95_ms:.2f} ms, max {other.max_ms:.2f}")
    for reason, count in sorted(found.discarded.items()):
        print(f"discarded {count}: {reason}")
