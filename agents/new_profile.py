"""A commented profile for each kind of agent as a starting point, which loads without changes.

It has the settings that most users need, at most ten; docs/agents.md has the others. The text is made
and not kept as files, because an agent that already runs (`url`) and one that the harness starts (`command`) need other lines.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

_UVICORN: Final = 'ready_pattern = "Uvicorn running on"   # a line of its output that says it is ready'
_TCP: Final = 'ready_url = "tcp://127.0.0.1:{port}"       # ready when somebody listens there'
_SIP_READY: Final = 'ready_pattern = "ready"                  # a line of its output that says it is ready'

_STARTED: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        # kind: where it answers once started, how it is started, how it says that it is ready
        "pipecat": ("ws://localhost:{port}/ws-client", "python bot.py --port {port}", _UVICORN),
        "pipecat-eval": ("ws://localhost:{port}/ws", "python bot.py --port {port}", _UVICORN),
        "webrtc": ("http://localhost:{port}/api/offer", "python bot.py --transport webrtc --port {port}", _UVICORN),
        "raw-pcm": ("ws://127.0.0.1:{port}/", "./serve --port {port}", _TCP),
        "twilio": ("ws://localhost:{port}/ws", "python bot.py --port {port}", _UVICORN),
        "sip": ("sip:agent@127.0.0.1:{port}", "./serve --port {port}", _SIP_READY),
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
        "twilio": (
            "# A telephone bot that serves Twilio Media Streams; the harness takes Twilio's place. Run it with --mode replay.",
        ),
        "sip": (
            "# An agent that answers a telephone (SIP over UDP; needs the extra 'sip'). It begins every call knowing nothing,",
            "# so run it with --mode replay.",
        ),
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
        "sip": (
            'codecs = ["pcmu", "pcma", "opus"]   # opus first: in wide band where the agent has it',
            '# username = "caller"               # for the server\'s challenge, with the variable that holds the password:',
            '# password_env = "EXAMPLE_SIP_PASSWORD"',
            "# be_called = true                  # the agent calls: register at url as identity, and answer",
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
    return tuple(_ABOUT)


def commented_profile(kind: str, url: str | None = None, command: Sequence[str] = ()) -> str:
    """The text of a profile. `url`: address of a running agent; otherwise `command` starts it (default: an example)."""
    lines = [*_ABOUT[kind], f'kind = "{kind}"']
    if kind == "text":
        lines.append(f"base_url = {json.dumps(url or 'https://api.example.org/v1')}")
    elif kind in _STARTED:
        lines.append(f"url = {json.dumps(url or _STARTED[kind][0])}")
    lines += _SETTINGS.get(kind, ())
    if kind in _STARTED:
        lines.append(_GREETS)
        lines += _process(kind, command) if url is None else []
    return "\n".join(lines) + "\n"


def _process(kind: str, command: Sequence[str]) -> list[str]:
    words = list(command) or shlex.split(_STARTED[kind][1])
    return [
        "",
        "[process]                  # how it is started; {port} becomes a free port",
        f"command = {json.dumps(words)}",
        'cwd = "."                  # relative to this file',
        _STARTED[kind][2],
    ]
