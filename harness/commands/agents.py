"""`harness agents`: list the shipped profiles, print one, and write a new one."""

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from harness import wording
from harness.agents.new_profile import commented_profile
from harness.agents.profile import load_profile, profile_kinds, shipped_profiles
from harness.commands.screen import AsJson, screen
from harness.errors import UserError
from harness.files import for_others, write_whole

app = typer.Typer(invoke_without_command=True, help="List agents, show one, or write a new profile.")


@app.callback()
def agents(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """List the shipped profiles."""
    if context.invoked_subcommand is not None:
        return
    profiles = [load_profile(name) for name in shipped_profiles()]
    if as_json:
        rows = {
            p.name: {
                "kind": p.kind, "family": p.family, "hash": p.hash,
                "description": p.description, "about_replies": p.about_replies,
            }
            for p in profiles
        }  # fmt: skip
        print(json.dumps({"schema": 1, "agents": rows}, indent=2))
        return
    table = Table("agent", "kind", "what it is", box=None, pad_edge=False)
    for profile in profiles:
        table.add_row(profile.name, profile.kind, f"{profile.description} {profile.about_replies}".strip())
    screen().print(table)


@app.command("show")
def show(name: Annotated[str, typer.Argument(help="A shipped profile or a .toml file.")]) -> None:
    """Print a profile as a run stores it: possible secrets as hashes. A shipped profile is printed in full."""
    print(load_profile(name).shown_text, end="")


@app.command("new")
def new(
    kind: Annotated[
        str,
        typer.Argument(help="Protocol: pipecat-eval, pipecat, webrtc, sip, twilio, openai-realtime, raw-pcm and others."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default="the kind with .toml", help="Profile to write; default: the kind with .toml."
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            hidden=True,
            show_default="none",
            help="Address of a running agent. Without it the harness starts the agent.",
        ),
    ] = None,
    command: Annotated[str, typer.Option(help='Command that starts the agent, as in "python bot.py --port {port}".')] = "",
) -> None:
    """Write a commented profile to start from."""
    if kind not in profile_kinds():
        raise UserError(f"agents new {kind}: not a kind of agent; choose one of {', '.join(profile_kinds())}")
    file = out or Path(f"{kind}.toml")
    if file.exists():
        raise UserError(f"{file} is there already; name another file with --out")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"--command: {error}; write it as in a shell") from error
    write_whole(file, commented_profile(kind, url, words))
    for_others(file)
    print(f"{file} is written. Edit it for your agent, then test it: {wording.command('try', file)}")
