"""`harness try`: one call to an agent, at an address, in a profile or a shipped one: does it work, and what can be measured?"""

import asyncio
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from harness import wording
from harness.agents.profile import AgentProfile, load_profile
from harness.commands.at_address import Kind, SaveProfile, agent_named, saved
from harness.commands.screen import AsJson
from harness.errors import AgentError, UserError
from harness.printable import visible_json
from harness.progress import RunProgress

if TYPE_CHECKING:
    from harness.agent_check.report import TrialReport


def try_agent(
    agent: Annotated[
        str,
        typer.Argument(metavar="AGENT", help="An address (ws://, https:// or sip:), a .toml profile, or a shipped agent."),
    ],
    kind: Kind = None,
    save_profile: SaveProfile = None,
    as_json: AsJson = False,
) -> None:
    """Test an agent with one call. Shows whether it works, its first figure, and what would add more figures."""
    from harness.agent_check.call import try_agent as called
    from harness.agent_check.report import report_of
    from harness.agent_check.which_kind import is_address
    from harness.calibrate import newest
    from harness.figures.circumstances import onset_error

    if is_address(agent):
        name = agent_named(agent, kind, "try")
        to_run: tuple[object, ...] = ("--url", name.whole_url, "--kind", name.kind)
        if save_profile is not None:
            to_run = ("--agent", saved(name, save_profile, quietly=as_json))
        profile = load_profile(str(save_profile or name))
    else:
        for option, value in (("--kind", kind), ("--save-profile", save_profile)):
            if value is not None:
                raise UserError(
                    f"{option} {value}: is for an address, and {agent} is a profile, which has its own; leave it out"
                )
        profile, to_run = load_profile(agent), ("--agent", agent)
    calibration = newest()
    error = onset_error(calibration.quoted()) if calibration is not None else None
    with tempfile.TemporaryDirectory(prefix="agent-") as logs, RunProgress() as progress:
        found = report_of(profile, asyncio.run(called(profile, Path(logs), progress)), error)
    if as_json:
        print(visible_json(json.dumps({"schema": 1, "agent": profile.name, **asdict(found)}, indent=2, ensure_ascii=False)))
    else:
        _show(profile, found, to_run)
    if not found.works:
        if as_json:
            raise typer.Exit(3)
        raise AgentError(f'agent "{profile.name}" does not work yet: see the line marked failed')


def _show(profile: AgentProfile, found: "TrialReport", to_run: tuple[object, ...]) -> None:
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
        first = f": {found.one_call.words}" if found.one_call is not None else ""
        console.print(f"\n{profile.name} works{first}.", style="bold", soft_wrap=True)
        mode = () if found.takes_history else ("--mode", "replay")
        console.print(f"To run it: {wording.command('run', *to_run, *mode, '--limit', 4)}", soft_wrap=True)
