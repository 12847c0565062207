"""A commented profile for each kind of agent as a starting point, which loads without changes.

It has the settings that most users need, at most ten; docs/agents.md has the others. The text is made
and not kept as files, because an agent that already runs (`url`) and one that the harness starts (`command`) need other lines:
one that runs is called as the text is, so what is only an example there is a comment.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from harness.agents.connections.about import TCP, About
from harness.agents.connections.spec import WIRES, about

_NO_WIRE: Final[Mapping[str, About]] = MappingProxyType(
    {
        "text": About(
            comment=("# A language model that is asked in writing: TTFT, and no TTFA.",),
            url="https://api.example.org/v1",
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
NEEDS_A_PROFILE: Final = "websocket"
"""The kind whose messages are in its profile, so that an address alone calls nobody."""
AT_AN_ADDRESS: Final = (*(kind for kind in WIRES if kind != NEEDS_A_PROFILE), "text")
"""The kinds of which an address says enough to call them."""
NAMES_ITS_MODEL: Final = frozenset(("text", "openai-realtime", "openai-live", "gemini-live"))
"""The kinds whose address may end with `?model=NAME`, as OpenAI writes that of its Realtime servers."""
_KEY: Final = (
    '# api_key_env = "EXAMPLE_API_KEY"   # the variable that holds its key; headers = { X-Api-Key = "${EXAMPLE_API_KEY}" }'
)
_KEYS_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "api.openai.com": "OPENAI_API_KEY",
        "agent.deepgram.com": "DEEPGRAM_API_KEY",
        "api.vapi.ai": "VAPI_API_KEY",
        "api.ultravox.ai": "ULTRAVOX_API_KEY",
        "generativelanguage.googleapis.com": "GEMINI_API_KEY",
        "api.elevenlabs.io": "ELEVENLABS_API_KEY",
    }
)
"""Hosts whose callers all have the key in the same variable. No other host is sent a key that its profile does not name."""
_GREETS: Final = "# greets = true   # it speaks first: the caller lets it finish (left out, the first call finds out)"
_HAS_TO_BE_NAMED: Final = frozenset(
    (("text", "model"), ("gemini-live", "model"), ("elevenlabs", "agent_id"), ("vapi", "agent_id"))
)
"""Settings without which a kind cannot be called: their example stays for its user to replace."""
_EXAMPLE: Final = re.compile(r'(api_key_env(?= = )|\w+(?= = "(?:some-|EXAMPLE_))) = "[\w-]*"')


def commented_profile(kind: str, url: str | None = None, command: Sequence[str] = ()) -> str:
    """The text of a profile. `url`: address of a running agent; otherwise `command` starts it (default: an example)."""
    wire = words_about(kind)
    place, settings = url or wire.url, wire.settings
    if url is not None or not wire.command:
        place, model = without_model(kind, place)
        settings = tuple(_ready_to_call(line, kind, model, urlsplit(place).hostname or "") for line in settings)
    lines = [*wire.comment, f'kind = "{kind}"']
    if place:
        lines.append(f"{'base_url' if kind == 'text' else 'url'} = {json.dumps(place)}")
    lines += settings
    if wire.command:
        if url is not None and wire.keyed and not any("api_key_env" in line for line in wire.settings):
            lines.append(_KEY)
        lines += [_GREETS, *wire.tables]
        lines += _process(wire, command) if url is None else []
    return "\n".join(lines) + "\n"


def words_about(kind: str) -> About:
    """What is said of a kind for people."""
    found = _NO_WIRE.get(kind) or about(kind)
    assert found is not None, f"{kind} has no words of its own"
    return found


def without_model(kind: str, url: str) -> tuple[str, str | None]:
    """An address without the model that its query names, and that model; the rest of the address stays as written."""
    head, _, query = url.partition("?")
    parts = query.split("&") if kind in NAMES_ITS_MODEL else []
    named = [part for part in parts if part.startswith("model=") and part != "model="]
    if not named:
        return url, None
    rest = "&".join(part for part in parts if not part.startswith("model="))
    return f"{head}?{rest}" if rest else head, unquote(named[0].removeprefix("model="))


def with_model(url: str, model: str) -> str:
    """An address that names its model."""
    return f"{url}{'&' if '?' in url else '?'}model={quote(model, safe='/:@')}"


def _ready_to_call(line: str, kind: str, model: str | None, host: str) -> str:
    """A line of settings as it is in the profile of an agent that runs: no example is taken for a setting."""
    found = _EXAMPLE.match(line)
    if found is None:
        return line
    known = {"model": model, "api_key_env": _KEYS_OF.get(host)}.get(found[1])
    if known is not None:
        return f"{found[1]} = {json.dumps(known)}{line[found.end() :]}"
    return line if (kind, found[1]) in _HAS_TO_BE_NAMED else f"# {line}"


def _process(wire: About, command: Sequence[str]) -> list[str]:
    return [
        "",
        "[process]                  # how it is started; {port} becomes a free port",
        f"command = {json.dumps(list(command) or shlex.split(wire.command))}",
        'cwd = "."                  # relative to this file',
        wire.ready,
    ]
