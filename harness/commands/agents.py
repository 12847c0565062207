"""`harness agents`: the profiles that ship, and one in full."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from agents.profile import ProfileError, load_profile, shipped_profiles
from harness.errors import UserError

app = typer.Typer(invoke_without_command=True, help="List agents, or show one.")


@app.callback()
def agents(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """List the profiles that ship."""
    if context.invoked_subcommand is not None:
        return
    profiles = [load_profile(name) for name in shipped_profiles()]
    if as_json:
        rows = {p.name: {"kind": p.kind, "family": p.family, "hash": p.hash, "description": p.description} for p in profiles}
        print(json.dumps({"schema": 1, "agents": rows}, indent=2))
        return
    table = Table("agent", "kind", "what it is", box=None, pad_edge=False)
    for profile in profiles:
        table.add_row(profile.name, profile.kind, profile.description)
    Console().print(table)


@app.command("show")
def show(name: Annotated[str, typer.Argument(help="A shipped profile or a .toml file.")]) -> None:
    """Print a profile as it is written, without what is secret in it."""
    try:
        print(load_profile(name).shown_text, end="")
    except ProfileError as error:
        raise UserError(str(error)) from error
