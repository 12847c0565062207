"""Options of commands that call an agent at an address: its kind, and the file in which its profile is saved."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from harness.agents.address import AgentAddress
from harness.agents.profile import load_profile, parse_profile
from harness.errors import UserError
from harness.files import for_others, write_whole

Kind = Annotated[
    str | None,
    typer.Option(
        metavar="KIND", show_default="found out", help="How the agent at the address is spoken to: raw-pcm, pipecat and others."
    ),
]
SaveProfile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", show_default="none", help="Write the profile of the address to this .toml file, to edit it."),
]
Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL", show_default="none", help="Address of a running agent, in place of a profile or beside others."
    ),
]


def agent_named(url: str, kind: str | None, named: str) -> AgentAddress:
    """The agent at an address. `named`: the option or command that has the address, for errors.

    Raises:
        UserError: the address or the kind is wrong, or the kind has to be named.
        AgentError: it had to be asked what it is, and does not answer.
    """
    from harness.agent_check.which_kind import agent_at

    found = asyncio.run(agent_at(url, kind, named))
    load_profile(str(found))
    return found


def saved(address: AgentAddress, file: Path, *, quietly: bool = False) -> Path:
    """The file, in which the profile of the address is now; the agent has the file's name from here on.

    Raises:
        UserError: the file is there already, or its name is no name of a profile.
    """
    if file.suffix != ".toml":
        raise UserError(f"--save-profile {file}: a profile's name ends with .toml; write {file.with_suffix('.toml')}")
    if file.exists():
        raise UserError(f"--save-profile {file}: is there already; name another file, or use it: --agent {file}")
    parse_profile(address.profile_text, file)
    try:
        write_whole(file, address.profile_text)
    except OSError as error:
        raise UserError(f"--save-profile {file}: cannot be written ({error.strerror}); name another file") from error
    for_others(file)
    if not quietly:
        print(f"{file} is written: the profile of this address. Keys go into the environment, and their names into it.")
    return file
