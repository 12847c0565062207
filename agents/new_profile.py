"""A commented profile for each kind of agent as a starting point, which loads without changes.

It has the settings that most users need, at most ten; docs/agents.md has the others. The text is made
and not kept as files, because an agent that already runs (`url`) and one that the harness starts (`command`) need other lines.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from harness.agents.connections.about import TCP, About
from harness.agents.connections.spec import about
from harness.agents.profile import profile_class

_NO_WIRE: Final[Mapping[str, About]] = MappingProxyType(
    {
        "text": About(
            comment=("# A language model that is asked in writing: TTFT, and no TTFA.",),
            url="",
            command="",
            ready="",
            settings=(
                'model = "some-model"',
                'api_key_env = "EXAMPLE_API_KEY"   # the variable that holds the key, never the key',
                "# temperature, top_p, reasoning_effort: see docs/agents.md; models that think refuse the first two",
            ),
        ),
        "plugin": About(
            comment=("# An agent behind a connection that another installed package brings.",),
            url="ws://127.0.0.1:{port}/",
            command="./serve --port {port}",
            ready=TCP,
            settings=('connection = "name-of-the-connection"',),
        ),
        "cascade": About(
            comment=("# The cascade that ships, with settings of yours (agents/cascade/settings.py has them all).",),
            url="",
            command="",
            ready="",
            settings=(
                "[cascade.llm]",
                'model = "smollm2-135m"                         # a weight of `harness models`, or the endpoint\'s name for it',
                '# base_url = "http://127.0.0.1:8000/v1"         # any OpenAI-compatible endpoint',
            ),
        ),
    }
)
"""The kinds without a wire of their own; the file of a wire has its own words (`ABOUT`)."""
_KEY: Final = (
    '# api_key_env = "EXAMPLE_API_KEY"   # the variable that holds its key; headers = { X-Api-Key = "${EXAMPLE_API_KEY}" }'
)
_GREETS: Final = "# greets = true   # it speaks first: the caller lets it finish (left out, the first call finds out)"


def commented_profile(kind: str, url: str | None = None, command: Sequence[str] = ()) -> str:
    """The text of a profile. `url`: address of a running agent; otherwise `command` starts it (default: an example)."""
    wire = _NO_WIRE.get(kind) or about(kind)
    assert wire is not None, f"{kind} has no words of its own"
    lines = [*wire.comment, f'kind = "{kind}"']
    if kind == "text":
        lines.append(f"base_url = {json.dumps(url or 'https://api.example.org/v1')}")
    elif wire.url:
        lines.append(f"url = {json.dumps(url or wire.url)}")
    lines += wire.settings
    if wire.url:
        takes_a_key = "api_key_env" in profile_class(kind).model_fields
        if url is not None and takes_a_key and not any("api_key_env" in line for line in wire.settings):
            lines.append(_KEY)
        lines.append(_GREETS)
        lines += _process(wire, command) if url is None else []
    return "\n".join(lines) + "\n"


def _process(wire: About, command: Sequence[str]) -> list[str]:
    return [
        "",
        "[process]                  # how it is started; {port} becomes a free port",
        f"command = {json.dumps(list(command) or shlex.split(wire.command))}",
        'cwd = "."                  # relative to this file',
        wire.ready,
    ]
