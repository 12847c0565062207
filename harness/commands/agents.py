"""`harness agents`: list the shipped profiles, print one, write a new one, and test one with a call."""

import asyncio
import json
import shlex
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness.agents.new_profile import commented_profile
from harness.agents.profile import load_profile, profile_kinds, shipped_profiles
from harness.commands.screen import AsJson, next_step, screen
from harness.errors import AgentError, UserError
from harness.files import for_others, write_whole
from harness.printable import visible_json
from harness.progress import RunProgress

if TYPE_CHECKING:
    from harness.agent_check.report import TrialReport

app = typer.Typer(invoke_without_command=True, help="List agents, show one, write a new profile, or test one with a call.")


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
            metavar="URL", show_default="none", help="Address of a running agent. Without it the harness starts the agent."
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
    print(f"{file} is written. Edit it for your agent, then test it: {next_step('agents', 'try', file)}")


@app.command("try")
def try_(
    name: Annotated[str, typer.Argument(metavar="PROFILE", help="A shipped profile or a .toml file.")],
    as_json: AsJson = False,
) -> None:
    """Test an agent with one call: does the profile work, and which figures can a run measure?"""
    from harness.agent_check.call import try_agent
    from harness.agent_check.report import report_of

    profile = load_profile(name)
    with tempfile.TemporaryDirectory(prefix="agent-") as logs, RunProgress() as progress:
        found = report_of(profile, asyncio.run(try_agent(profile, Path(logs), progress)))
    if as_json:
        print(visible_json(json.dumps({"schema": 1, "agent": profile.name, **asdict(found)}, indent=2, ensure_ascii=False)))
    else:
        _show(name, found)
    if not found.works:
        if as_json:
            raise typer.Exit(3)
        raise AgentError(f'agent "{profile.name}" does not work yet: see the line marked failed')


def _show(name: str, found: "TrialReport") -> None:
    # An agent's own messages are hostile text: printed as received, never as markup.
    console = Console(markup=False, highlight=False)
    for check in found.checks:
        console.print(f"{check.verdict:8} {check.name:16} {check.detail}", soft_wrap=True)
    if found.figures:
        console.print("\nA run will measure:")
    for figure in found.figures:
        console.print(f"{'yes' if figure.there else '–':8} {figure.figure:32} {figure.detail}", soft_wrap=True)
    if found.log:
        console.print(f"\nThe agent's log:\n{found.log}", soft_wrap=True)
    if found.works:
        mode = () if found.takes_history else ("--mode", "replay")
        console.print(f"\nTo run it: {next_step('run', '--agent', name, *mode, '--limit', 4)}", soft_wrap=True)
