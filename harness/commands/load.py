"""`harness load`: the number of simultaneous callers that an agent, or this machine, can serve."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from harness.commands.screen import AsJson, screen
from harness.progress import RunProgress

if TYPE_CHECKING:
    from harness.load.soak import SoakResult


def load(
    agent: Annotated[str, typer.Option(help="A shipped profile or a .toml file.")],
    callers: Annotated[str, typer.Option(help="Simultaneous callers in each step; auto: search for the limit.")] = "1,2,5,10",
    pack: Annotated[str, typer.Option(help="Pack whose first context every caller speaks.")] = "heart-mini",
    rounds: Annotated[
        int | None, typer.Option(help="Times to play each step; default: once, with auto as often as a p95 needs.", min=1)
    ] = None,
    budget_ms: Annotated[
        float | None, typer.Option(help="Limit for the p95 of TTFA in each step, in ms; default: none, with auto 500.", min=1)
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="M",
            show_default="each step as often as --rounds says",
            min=0,
            help="Repeat one number of callers for this many minutes, and report figures that drift.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for figures, chart and log; default: a new one under runs/.")] = None,
    as_json: AsJson = False,
) -> None:
    """Increase the number of simultaneous calls until the agent or the pacer exceeds its bounds; draw a chart."""
    from harness.commands.table import milliseconds
    from harness.experiment import BUDGET_MS
    from harness.load.agent import LoadRequest, load_agent, parse_callers, soak_agent
    from harness.reports.charts.load import write_chart
    from harness.wording import counted

    folder = out or Path("runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-load"
    with RunProgress() as progress:
        steps = parse_callers(callers)
        budget = BUDGET_MS if budget_ms is None and steps is None else budget_ms
        request = LoadRequest(agent, tuple(steps) if steps is not None else None, pack, rounds, folder / "logs", budget)
        if minutes is not None:
            soaked = asyncio.run(soak_agent(request, minutes, progress))
            _tell_soak(soaked, folder, as_json)
            return
        found = asyncio.run(load_agent(request, progress))
    picture = folder / "load.html"
    write_chart(found, picture)
    text = json.dumps(_without_nan(found.to_json() | {"chart": str(picture)}), indent=2)
    (folder / "load.json").write_text(text, encoding="utf-8")
    if as_json:
        print(text)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("callers", "TTFA p50", "p95", "no reply", "failed", "pacing p99", "ratio", "machine", "out of bounds"):
        table.add_column(name, justify="left" if name == "out of bounds" else "right", no_wrap=name != "out of bounds")
    for step in found.steps:
        table.add_row(
            str(step.callers),
            milliseconds(step.ttfa_ms, "p50"),
            milliseconds(step.ttfa_ms, "p95"),
            f"{step.no_reply}/{step.sessions}",
            str(step.failed),
            f"{step.pacing_p99_error_ms:.2f}",
            f"{step.realtime_ratio:.4f}",
            f"{step.used.machine:.0%}" if step.used is not None else "",
            "; ".join(step.out_of_bounds),
        )
    console = screen()
    console.print(table)
    ceiling = "none of these" if found.ceiling is None else f"{found.ceiling} caller(s)"
    console.print(f"within every bound up to: {ceiling} (caller priority: {found.priority})", soft_wrap=True)
    if found.limit is not None:
        above, limit = found.limit
        console.print(f"at {above}: {limit.in_words()}", soft_wrap=True)
    if used := next((s.used for s in found.steps if s.callers == found.ceiling), None):
        console.print(
            f"the caller takes {used.cores_a_caller:.1%} of a core and {used.mib_a_caller:.1f} MiB for each, in "
            f"{counted(used.processes, 'process', 'processes')}",
            soft_wrap=True,
        )
    console.print(f"chart   {picture}", soft_wrap=True, highlight=False)


def _tell_soak(found: "SoakResult", folder: Path, as_json: bool) -> None:
    from harness.load.soak import FEWEST_WAVES

    text = json.dumps(_without_nan(found.to_json()), indent=2)
    (folder / "soak.json").write_text(text, encoding="utf-8")
    if as_json:
        print(text)
        return
    failed = sum(look.step.failed for look in found.looks)
    print(
        f"{found.callers} callers, {len(found.looks)} waves in {found.looks[-1].at_s / 60:.1f} minutes; {failed} calls failed"
    )
    for drift in found.drifts:
        print(drift.in_words())
    if not found.drifts:
        print(f"fewer than {FEWEST_WAVES} waves cannot show a drift; allow more --minutes")
    print(f"figures {folder / 'soak.json'}")


def _without_nan(value: Any) -> Any:
    """The value with null for NaN, which JSON does not have: the figure of a step in which nothing was played."""
    if isinstance(value, dict):
        return {k: _without_nan(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_nan(v) for v in value]
    return None if isinstance(value, float) and value != value else value
