"""`harness load`: the load that an agent, or this machine, can serve: callers at once, or callers that come at a rate."""

import asyncio
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from harness.commands.load_output import print_load
from harness.commands.play_options import NOTHING, Named, of_an_experiment
from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.experiment import BUDGET_MS, Experiment
from harness.files import write_whole
from harness.progress import RunProgress

if TYPE_CHECKING:
    from harness.load.agent import LoadRequest
    from harness.load.soak import SoakResult
    from harness.store.manifest import RunManifest

CALLERS: Final = "1,2,5,10"
MINUTES: Final = 3.0
"""Default length of a step of an open loop: twelve stretches of 15 s, and an interval needs eight."""
EXPECTED_CALLS: Final = 100
"""Expected calls with which a step without any does not happen."""


@of_an_experiment({"pack", "limit", "mode", "seed"})
def load(
    agent: Annotated[str, typer.Option(help="A shipped profile or a .toml file.")],
    named: Named = NOTHING,
    callers: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,N", show_default=CALLERS, help="Simultaneous callers in each step; auto: search for the limit."
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="R,R,R", show_default="none", help="Callers that come in each step, in calls a second, whoever waits."
        ),
    ] = None,
    arrivals: Annotated[
        str | None,
        typer.Option(metavar="poisson|burst", show_default="poisson", help="With --rate: law of the gaps between callers."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            "--for",
            metavar="M",
            show_default=f"{MINUTES:g} with --rate",
            min=0,
            help="Minutes of each step of --rate; with one number of --callers repeat it and report figures that drift.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(help="Times to play each step of --callers; default: once, with auto as often as a p95 needs.", min=1),
    ] = None,
    budget_ms: Annotated[
        float | None,
        typer.Option(help="Limit for the p95 of TTFA, in ms; default: none with --callers, with auto and --rate 500.", min=1),
    ] = None,
    isolate: Annotated[bool, typer.Option("--isolate", hidden=True)] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for figures, page and log; default: a new one under runs/.")] = None,
    as_json: AsJson = False,
) -> None:
    """Call an agent by more and more callers until it, the machine or the caller exceeds its bounds; draw the curves."""
    from harness.load.agent import load_agent, soak_agent
    from harness.reports.load_page import write_load

    if isolate:
        raise UserError("--isolate: is no more; leave it out: the page shows the stages of the slowest turns at each load")
    folder = out or Path("runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-load"
    request = _request(agent, named, callers, rate, arrivals, minutes, rounds, budget_ms, folder)
    with RunProgress() as progress:
        if minutes is not None and not request.arrivals:
            _tell_soak(*asyncio.run(soak_agent(request, minutes, progress)), folder, as_json)
            return
        run, result = asyncio.run(load_agent(request, progress, write_load))
        text, page = write_load(run, result)
    if as_json:
        print(text)
    else:
        print_load(run.manifest, result, page)


def _request(
    agent: str,
    named: Named,
    callers: str | None,
    rate: str | None,
    law: str | None,
    minutes: float | None,
    rounds: int | None,
    budget_ms: float | None,
    folder: Path,
) -> "LoadRequest":
    """The test that the options ask for. Raises UserError if they contradict each other."""
    from harness.load.agent import LoadRequest, parse_callers
    from harness.load.arrivals import Arrivals, parse_law, parse_rates

    experiment = Experiment().with_named({**named, "agents": [agent]})
    for option, number in (("--for", minutes), ("--budget-ms", budget_ms)):
        if number is not None and not math.isfinite(number):
            raise UserError(f"{option} {number:g}: write a finite number")
    if rate is None:
        for option, given in (("--rounds", rounds), ("--budget-ms", budget_ms)):
            if given is not None and minutes is not None:
                raise UserError(f"{option}: has no effect on the waves of --callers N --for M; leave it out")
        if law is not None:
            raise UserError(f"--arrivals {law}: is the law of callers that come at a rate; name rates with --rate")
        steps = parse_callers(callers or CALLERS)
        budget = BUDGET_MS if budget_ms is None and steps is None else budget_ms
        return LoadRequest(experiment, folder, tuple(steps) if steps is not None else None, rounds=rounds, budget_ms=budget)
    if callers is not None:
        raise UserError("--callers: wait for their replies, and callers of --rate do not; leave one of the two out")
    if rounds is not None:
        raise UserError("--rounds: is for --callers; with --rate allow more --for")
    lasts_s = 60 * (MINUTES if minutes is None else minutes)
    if not lasts_s:
        raise UserError("--for 0: nobody would call; give minutes, as in --for 3")
    chosen = parse_law(law or "poisson")
    each = tuple(Arrivals(chosen, one, lasts_s, experiment.seed) for one in parse_rates(rate))
    for one in each:
        # The expected number first: a long test draws millions.
        if one.rate * lasts_s < EXPECTED_CALLS and not one.offsets_ns():
            raise UserError(f"--rate {one.rate:g}: nobody would call in {lasts_s / 60:g} minutes; allow more --for")
    return LoadRequest(experiment, folder, arrivals=each, budget_ms=BUDGET_MS if budget_ms is None else budget_ms)


def _tell_soak(manifest: "RunManifest", found: "SoakResult", folder: Path, as_json: bool) -> None:
    from harness.load.result import made_of, without_nan
    from harness.load.soak import FEWEST_WAVES
    from harness.reports.load_words import cautions

    said = cautions(manifest)
    whole = {**found.to_json(), "made": made_of(manifest), "cautions": [caution.model_dump() for caution in said]}
    text = json.dumps(without_nan(whole), indent=2)
    write_whole(folder / "soak.json", text)
    if as_json:
        print(text)
        return
    failed = sum(look.step.record.failed for look in found.looks)
    print(
        f"{found.callers} callers, {len(found.looks)} waves in {found.looks[-1].at_s / 60:.1f} minutes; {failed} calls failed"
    )
    for drift in found.drifts:
        print(drift.in_words())
    if not found.drifts:
        print(f"fewer than {FEWEST_WAVES} waves cannot show a drift; allow more --for")
    for caution in said:
        print(f"{caution.topic}: {caution.text}")
    print(f"figures {folder / 'soak.json'}")
