"""What answers at an address that somebody typed: its kind, where that can be found out, and otherwise the question to ask.

A wrong guess would be measured, so none is made. The scheme alone names a telephone; a path that one kind of agent alone serves
names that kind; an OpenAI Realtime server says who it is before it is spoken to; and an OpenAI-compatible endpoint lists its
models. All other agents wait for their caller's first message, whose form is what is not known: so their kinds are named, and
`--kind` is asked for.
"""

import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from harness.agents.address import SCHEMES, AgentAddress, kind_of_route, kinds_at, lacks_a_scheme, scheme_of, unencrypted
from harness.agents.connection import Capabilities, ConnectionFailed
from harness.agents.connections.inbox import Limits
from harness.agents.connections.websocket import WebSocketConnection
from harness.agents.connections.wire import NOTHING, Outgoing, Received, Wire
from harness.agents.message import Message
from harness.agents.new_profile import AT_AN_ADDRESS, NEEDS_A_PROFILE, with_model, without_model
from harness.agents.secret_places import in_settings
from harness.agents.secrets import learn, redact_foreign
from harness.agents.this_machine import is_loopback
from harness.errors import AgentError, UserError
from harness.nearest import or_one_of

if TYPE_CHECKING:
    import httpx2

SPEAKS_UNASKED: Final = "session.created"
"""The message with which a server of the OpenAI Realtime protocol begins every call."""
LISTENED_S: Final = 1.0
"""Time for that message: a server sends it with its first breath."""
_PROBE_S: Final = 5.0
_MOST_LISTED: Final = 5
_LARGEST_LIST: Final = 4 * 1024 * 1024
_WORDS: Final = {
    "ws": "pipecat-eval or pipecat (a bot made with pipecat), raw-pcm (PCM16 both ways), openai-realtime, openai-live, "
    "gemini-live, elevenlabs, deepgram-agent, livekit (a room server), or the stream of a telephone's carrier (twilio, plivo, "
    "telnyx, exotel, vonage, genesys)",
    "http": "text (an OpenAI-compatible endpoint), vapi, ultravox, or webrtc (a bot that takes SmallWebRTC offers)",
}


def is_address(word: str) -> bool:
    """True if a word is meant as the address of an agent, and not as a profile."""
    return scheme_of(word) is not None or lacks_a_scheme(word)


async def agent_at(url: str, kind: str | None, named: str) -> AgentAddress:
    """The agent at an address. `named`: the option or argument that has the address, for errors.

    Raises:
        UserError: the address or the kind is wrong, or the kind has to be named.
        AgentError: it had to be asked what it is, and does not answer.
    """
    _refuse_what_is_none(url, named)
    if kind is not None:
        _refuse_kind(url, kind)
    found = kind or _only(kinds_at(scheme_of(url) or "")) or kind_of_route(url)
    if found is None and scheme_of(url) in ("ws", "wss"):
        found = "openai-realtime" if await _says_that_it_is_realtime(url) else None
    elif found in (None, "text"):
        return await _text_model(url, named, asked=found is not None)
    if found is None:
        raise UserError(_which(url, named))
    return AgentAddress.of(found, url)


def _only(kinds: Sequence[str]) -> str | None:
    return kinds[0] if len(kinds) == 1 else None


def _refuse_what_is_none(url: str, named: str) -> None:
    scheme = scheme_of(url)
    if scheme is None:
        like = f"ws://{url}" if lacks_a_scheme(url) else "ws://localhost:8765/"
        raise UserError(f"{named} {url}: has no scheme; write {like}, or begin it with http:// or sip:")
    if scheme not in SCHEMES:
        raise UserError(f"{named} {url}: agents are called at ws://, wss://, http://, https:// and sip:; write one of them")
    if secrets := list(in_settings({"url": url}, {})):
        learn(secrets)
        raise UserError(
            f"{named}: the address holds a password, a key or a token, which every run would store; set it in the environment "
            "and write ${NAME} in its place, or have it in a profile: harness agents new KIND --url URL"
        )


def _refuse_kind(url: str, kind: str) -> None:
    if kind == NEEDS_A_PROFILE:
        raise UserError(
            f"--kind {kind}: its messages are described in a profile; write one: harness agents new {kind} --url URL"
        )
    if kind not in AT_AN_ADDRESS:
        raise UserError(f"--kind {kind}: is no kind of agent that an address names{or_one_of(kind, AT_AN_ADDRESS)}")
    if kind not in kinds_at(scheme_of(url) or ""):
        fit = ", ".join(kinds_at(scheme_of(url) or ""))
        raise UserError(f"--kind {kind}: is not called at {scheme_of(url)}: addresses; choose one of {fit}, or another address")


def _which(url: str, named: str) -> str:
    return f"{named} {url}: it does not say what it is; add --kind with {_WORDS[unencrypted(scheme_of(url) or '')]}"


class _Listening(Wire):
    """A wire that says nothing, and remembers the first words of the other side."""

    capabilities = Capabilities(accepts_history=False, input_rate_hz=16_000, output_rate_hz=16_000)

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self.first: str | bytes = b""

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        del history
        return ()

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        del arrival_ns
        if not self.heard.is_set():
            self.first = message
            self.heard.set()
        return NOTHING

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del frame, now_ns
        return ()


async def _says_that_it_is_realtime(url: str) -> bool:
    wire = _Listening()
    line = WebSocketConnection(url, wire, Limits(open_timeout_s=_PROBE_S))
    try:
        await line.open(())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LISTENED_S):
                await wire.heard.wait()
    except ConnectionFailed as error:
        raise AgentError(redact_foreign(str(error))) from error
    finally:
        await line.close()
    try:
        said = json.loads(wire.first)
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and said.get("type") == SPEAKS_UNASKED


async def _text_model(url: str, named: str, *, asked: bool) -> AgentAddress:
    """The text model at an address; `asked`: it is known to be one, and only its name may be missing."""
    if without_model("text", url)[1] is not None and asked:
        return AgentAddress.of("text", url)
    place, models = await _models(url)
    if not models:
        if not asked:
            raise UserError(_which(url, named))
        raise UserError(f"{named} {url}: it lists no models; name one at the end of the address, as in {url}?model=NAME")
    if without_model("text", url)[1] is not None:
        return AgentAddress.of("text", url)
    if len(models) > 1:
        more = ", …" if len(models) > _MOST_LISTED else ""
        listed = ", ".join(redact_foreign(model) for model in models[:_MOST_LISTED]) + more
        raise UserError(
            f"{named} {url}: it has {len(models)} models; name one, as in {with_model(place, models[0])} ({listed})"
        )
    return AgentAddress("text", place, models[0])


async def _models(url: str) -> tuple[str, list[str]]:
    """The base address of an OpenAI-compatible endpoint, and the names of its models; none for any other server."""
    import httpx2

    bare = without_model("text", url)[0].rstrip("/")
    try:
        async with httpx2.AsyncClient(timeout=_PROBE_S, trust_env=not is_loopback(url)) as client:
            for place in (bare, f"{bare}/v1"):
                async with client.stream("GET", f"{place}/models") as response:
                    found = await _listed(response)
                if found:
                    return place, found
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise AgentError(
            f"{url}: cannot be reached ({redact_foreign(str(error)) or type(error).__name__}); is it running?"
        ) from error
    return bare, []


async def _listed(response: "httpx2.Response") -> list[str]:
    body = bytearray()
    if response.is_success:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _LARGEST_LIST:
                return []
    try:
        data = json.loads(bytes(body))["data"]
        return [str(model["id"]) for model in data if model["id"]]
    except (ValueError, RecursionError, KeyError, TypeError):
        return []
