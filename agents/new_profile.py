"""A commented profile for each kind of agent as a starting point, which loads without changes.

It has the settings that most users need, at most ten; docs/agents.md has the others. The text is made
and not kept as files, because an agent that already runs (`url`) and one that the harness starts (`command`) need other lines.
A kind without an entry here has its words in the file of its connection (`ABOUT`).
"""

import importlib
import json
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from harness.agents.connections.about import About
from harness.agents.connections.spec import WIRES

_UVICORN: Final = 'ready_pattern = "Uvicorn running on"   # a line of its output that says it is ready'
_TCP: Final = 'ready_url = "tcp://127.0.0.1:{port}"       # ready when somebody listens there'

_STARTED: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        # kind: where it answers once started, how it is started, how it says that it is ready
        "pipecat": ("ws://localhost:{port}/ws-client", "python bot.py --port {port}", _UVICORN),
        "pipecat-eval": ("ws://localhost:{port}/ws", "python bot.py --port {port}", _UVICORN),
        "webrtc": ("http://localhost:{port}/api/offer", "python bot.py --transport webrtc --port {port}", _UVICORN),
        "raw-pcm": ("ws://127.0.0.1:{port}/", "./serve --port {port}", _TCP),
        "openai-realtime": ("ws://127.0.0.1:{port}/v1/realtime", "./serve --port {port}", _TCP),
        "plugin": ("ws://127.0.0.1:{port}/", "./serve --port {port}", _TCP),
    }
)
_ABOUT: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "pipecat": (
            "# A pipecat bot on its plain WebSocket route (protobuf and RTVI). It begins every call knowing nothing, so run it",
            '# with --mode replay; kind = "pipecat-eval" gives it the conversation so far.',
        ),
        "pipecat-eval": (
            "# A pipecat bot over pipecat's own evaluation wire: unmodified, and given the conversation so far. The bot needs",
            '# transport_params["eval"] = lambda: EvalTransportParams(audio_in_enabled=True, audio_out_enabled=True).',
        ),
        "webrtc": (
            "# A bot that takes SmallWebRTC offers, called as a browser calls it (needs the extra 'webrtc'). It begins every",
            "# call knowing nothing, so run it with --mode replay.",
        ),
        "raw-pcm": ("# Any agent that takes and gives PCM16 over a WebSocket.",),
        "openai-realtime": ("# A server of the OpenAI Realtime protocol.",),
        "text": ("# A language model that is asked in writing: TTFT, and no TTFA.",),
        "plugin": ("# An agent behind a connection that another installed package brings.",),
        "cascade": ("# The cascade that ships, with settings of yours (agents/cascade/settings.py has them all).",),
    }
)
_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "webrtc": (
            "rtvi = true                # false for a bot without RTVI on the data channel",
            '# ice_servers = ["stun:stun.example.org:3478"]   # for a bot on another network',
        ),
        "raw-pcm": (
            "input_rate_hz = 16000      # what it hears",
            "output_rate_hz = 24000     # what it says, until it says otherwise",
            'accepts_history = false    # true once it takes "history" in the start message and answers "ready"',
        ),
        "openai-realtime": (
            'model = "some-realtime-model"',
            'api_key_env = "EXAMPLE_API_KEY"            # the variable that holds the key, never the key',
            'transcription_model = "some-transcriber"   # so that it says what it understood; remove it if it has none',
        ),
        "text": (
            'model = "some-model"',
            'api_key_env = "EXAMPLE_API_KEY"   # the variable that holds the key, never the key',
            "# temperature, top_p, reasoning_effort: see docs/agents.md; models that think refuse the first two",
        ),
        "plugin": ('connection = "name-of-the-connection"',),
        "cascade": (
            "[cascade.llm]",
            'model = "smollm2-135m"                         # a weight of `harness models`, or the endpoint\'s name for it',
            '# base_url = "http://127.0.0.1:8000/v1"         # any OpenAI-compatible endpoint',
        ),
    }
)
_GREETS: Final = "# greets = true   # it speaks first: the caller lets it finish (left out, the first call finds out)"


def kinds_to_write() -> tuple[str, ...]:
    """The kinds that a profile can be written for."""
    return (*_ABOUT, *(kind for kind in WIRES if kind not in _ABOUT and kind != "scripted"))


def commented_profile(kind: str, url: str | None = None, command: Sequence[str] = ()) -> str:
    """The text of a profile. `url`: address of a running agent; otherwise `command` starts it (default: an example)."""
    words = _words(kind)
    lines = [*words.comment, f'kind = "{kind}"']
    if kind == "text":
        lines.append(f"base_url = {json.dumps(url or 'https://api.example.org/v1')}")
    elif words.url:
        lines.append(f"url = {json.dumps(url or words.url)}")
    lines += words.settings
    if words.url:
        lines.append(_GREETS)
        lines += _process(words, command) if url is None else []
    return "\n".join(lines) + "\n"


def _words(kind: str) -> About:
    if kind in _ABOUT:
        return About(_ABOUT[kind], *_STARTED.get(kind, ("", "", "")), _SETTINGS.get(kind, ()))
    words: About = importlib.import_module(WIRES[kind]).ABOUT
    return words


def _process(words: About, command: Sequence[str]) -> list[str]:
    return [
        "",
        "[process]                  # how it is started; {port} becomes a free port",
        f"command = {json.dumps(list(command) or shlex.split(words.command))}",
        'cwd = "."                  # relative to this file',
        words.ready,
    ]
