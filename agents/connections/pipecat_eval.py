"""pipecat's own evaluation wire: JSON RTVI messages, the audio among them, over which a bot takes a history.

Bots under pipecat's runner serve it at `/ws` once their `transport_params` have an entry for it; the scaffold writes one only
if asked (`pipecat init --eval`). A bot without the entry hangs up on the first message, and is then called at `/ws-client`, its
plain route, if that answers: it gets no history there, and a mark in the recording says why. A call that brings a history is
refused instead, because the bot would be judged on words that it never got.

The harness plays the client that pipecat's evaluations are: `eval-connect` first, then RTVI's `client-ready`; after `bot-ready`
the conversation so far as `eval-context`, which replaces the messages of the bot's context. pipecat acknowledges none of this,
so a message that no bot knows follows: its refusal shows that everything before it has been read, and no audio is sent before
that. A greeting would be after the history in the context, so the history is given again when the greeting is over.

The bot's audio is asked for (`capture_bot_audio`), and its detector's raw stamps (`vad_user_speaking`), which a bot keeps to
itself otherwise.

Source: `pipecat.evals.serializer` and `pipecat.evals.fastapi_transport` of pipecat 1.14; `pipecat.evals.transport` of 1.12,
which serves this wire by itself (`bot.py -t eval`).
"""

import base64
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from harness.agents.connection import FELL_BACK, Capabilities, Cleared, Connection, ConnectionFailed, Event, Mark
from harness.agents.connections import pipecat_ws, rtvi
from harness.agents.connections.about import METRICS, UVICORN, About
from harness.agents.connections.start_request import StartedByRequest
from harness.agents.connections.websocket import HUNG_UP, over_websocket, place_of, settings_of
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    Outgoing,
    Received,
    Wire,
    audio_of,
    from_base64,
    parse_object,
    refuse_history,
    shown,
)
from harness.agents.message import Message
from harness.agents.profile_spoken import PcmBot

_BARRIER: Final = "history-read"
_ENTRY: Final = '"eval": lambda: EvalTransportParams(audio_in_enabled=True, audio_out_enabled=True)'
_HINT: Final = f"the bot's transport_params need {_ENTRY}, and its runner serves this wire at /ws"
_PLAIN_ROUTE: Final = "/ws-client"
_SOUND: Final = "capture_bot_audio=true"
_SHARED: Final = ("input_rate_hz", "open_timeout_s", "api_key_env", "headers", "start_url")
"""Options that the plain wire has too."""
_OFF: Final = f"the bot's evaluation wire is off: its transport_params have no {_ENTRY}"


class PipecatEvalWire(Wire):
    """One session with a pipecat bot, as in pipecat's evaluations."""

    def __init__(self, input_rate_hz: int = 16_000, accepts_history: bool = True, system_messages: Sequence[str] = ()) -> None:
        self.capabilities = Capabilities(accepts_history=accepts_history, input_rate_hz=input_rate_hz, output_rate_hz=None)
        self._system_messages = tuple(system_messages)
        self._context: list[dict[str, str]] = []
        self._bot_ready = False
        self._history_read = False
        self._caller_heard = False
        self._frames = 0
        self._events = rtvi.BotEvents()

    @property
    def ready(self) -> bool:
        return self._bot_ready and self._history_read

    @property
    def waits_for(self) -> str:
        return "the sign that the history was read" if self._bot_ready else "the bot's answer to RTVI client-ready"

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, self.capabilities.accepts_history, "remove accepts_history = false")
        if history:
            rules = [{"role": "system", "content": text} for text in self._system_messages]
            self._context = [*rules, *({"role": turn.role, "content": turn.text} for turn in history)]
        self._history_read = not self._context
        flags = {"skip_tts": False, "capture_bot_audio": True, "capture_bot_images": False}
        return (_client_message("eval-connect", flags), rtvi.client_ready())

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes):
            raise Garbage(f"binary where pipecat's evaluation wire has JSON: {shown(repr(message), 20)}")
        data = parse_object(message)
        kind, fields = rtvi.kind_of(data), rtvi.fields_of(data)
        match kind:
            case None:
                return NOTHING
            case "eval-bot-audio":
                return audio_of(from_base64(fields.get("audio")), fields.get("sampleRate"), arrival_ns)
            case "bot-ready":
                return self._on_bot_ready()
            case "error-response" if data.get("id") == _BARRIER:
                self._history_read = True
                return NOTHING
            case "error-response" if data.get("id") == rtvi.CLIENT_READY:
                raise ConnectionFailed(f"the bot refuses the client: {shown(str(fields.get('error')))}", "refused")
        self._caller_heard = self._caller_heard or kind == "user-started-speaking"
        events: tuple[Event, ...] = self._events.of(kind, fields, arrival_ns)
        if kind == "bot-interrupted":
            return Received(events=(*events, Cleared(arrival_ns)))
        if kind == "bot-stopped-speaking" and not self._caller_heard and self._context:
            return Received(events=events, replies=(self._history(),))
        return Received(events=events)

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del now_ns
        self._frames += 1
        sound = {
            "base64Audio": base64.b64encode(frame).decode(),
            "sampleRate": self.capabilities.input_rate_hz,
            "numChannels": 1,
        }
        return (rtvi.envelope("raw-audio", str(self._frames), sound),)

    def goodbye(self) -> Sequence[Outgoing]:
        return (_client_message("eval-cancel", {}),)

    def _on_bot_ready(self) -> Received:
        if self._bot_ready:
            return NOTHING
        self._bot_ready = True
        asked = [_client_message("eval-configure", {"vad_user_speaking": True})]
        if self._context:
            asked += [self._history(), rtvi.envelope(_BARRIER, _BARRIER, {})]
        return Received(replies=tuple(asked))

    def _history(self) -> str:
        return _client_message("eval-context", {"messages": self._context})


def _client_message(kind: str, data: Mapping[str, Any]) -> str:
    return rtvi.envelope("client-message", kind, {"t": kind, "d": data})


class PipecatEvalConnection:
    """A call over the evaluation wire or, of a bot that has it off, over the plain one."""

    _off: Final = set[str]()
    """Addresses whose evaluation wire this process has found off. Shared by all calls on purpose: each would meet the same, the
    bot would log an error in each, and its failed session would load the machine while the next is timed. A caller's process
    lives for one run, so what one run found out is not believed in another."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._url = url
        self._options = dict(options)
        self._line: Connection = _evaluation(url, options)
        self._plain_url = _plain_address(url)
        self._fell_back = False

    @property
    def capabilities(self) -> Capabilities:
        return self._line.capabilities

    async def open(self, history: Sequence[Message]) -> None:
        refused = await self._refusal(history) if self._url not in self._off else None
        if self._url not in self._off and refused is None:
            return
        if refused is None and history:
            raise self._takes_no_history()
        plain = pipecat_ws.connect(self._plain_url or self._url, {k: v for k, v in self._options.items() if k in _SHARED})
        try:
            await plain.open(())
        except ConnectionFailed as error:
            # The bot takes no call at all, so that the evaluation wire is not at fault.
            raise refused or error from None
        self._off.add(self._url)
        if history:
            await plain.close()
            raise self._takes_no_history()
        self._line, self._fell_back = plain, True

    async def _refusal(self, history: Sequence[Message]) -> ConnectionFailed | None:
        """Why the evaluation wire may be off; None for an open call. Raises what it cannot explain."""
        try:
            await self._line.open(history)
        except ConnectionFailed as error:
            hung_up = error.fault == HUNG_UP and error.kind == "closed_early"
            if self._plain_url is None or not (hung_up or error.fault in ("turned_away", "no_route")):
                raise
            return error
        return None

    def _takes_no_history(self) -> ConnectionFailed:
        why = f"{_OFF}; add it, or play the bot with --mode replay"
        return ConnectionFailed(f"{place_of(self._url)}: {why}", "no_history")

    def send(self, frame: bytes) -> None:
        self._line.send(frame)

    async def events(self) -> AsyncIterator[Event]:
        if self._fell_back:
            now_ns = time.monotonic_ns()
            why = f"{_OFF}; called at {_PLAIN_ROUTE} instead, without a history"
            yield Mark(FELL_BACK, now_ns, now_ns, {"why": why, "stamped": "arrival"})
        async for event in self._line.events():
            yield event

    async def close(self) -> None:
        await self._line.close()


def _with_sound(url: str) -> str:
    """The address, which until pipecat 1.12 is where the bot's audio is asked for; later bots read `eval-connect` alone."""
    parts = urlsplit(url)
    if parts.scheme not in ("ws", "wss") or _SOUND.partition("=")[0] in parts.query:
        return url
    return parts._replace(query="&".join(filter(None, (parts.query, _SOUND)))).geturl()


def _plain_address(url: str) -> str | None:
    """The plain route of the runner that serves evaluations at this address, or the runner's own request that starts either;
    None if it is not known."""
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        return url
    return parts._replace(path=_PLAIN_ROUTE).geturl() if parts.path.rstrip("/") == "/ws" else None


class PipecatEvalProfile(StartedByRequest, PcmBot):
    """A pipecat bot reached over pipecat's evaluation wire, and given the conversation so far."""

    kind: Literal["pipecat-eval"]
    accepts_history: bool = True
    system_messages: tuple[str, ...] = ()
    """The bot's own context, as messages of the role `system`, because the history replaces all of it."""

    @property
    def takes_a_greeting(self) -> bool:
        """False: a bot that has this wire off is called over one without a history, and a greeting must not cost the call."""
        return False


PROFILE: Final = PipecatEvalProfile
ABOUT: Final = About(
    comment=(
        "# A pipecat bot over pipecat's own evaluation wire, which gives it the conversation so far. Its scaffold leaves that",
        f"# wire off: add {_ENTRY},",
        "# to transport_params (pipecat.evals.transport has that class). Without it, the bot is called at /ws-client.",
    ),
    url="ws://localhost:{port}/ws",
    command="python bot.py --port {port}",
    ready=UVICORN,
    route="pipecat's runner serves it at /ws",
    brings_ttft=METRICS,
    brings_words="a recogniser that pushes transcriptions",
    brings_history=f"{_ENTRY} in the bot's transport_params, which switches its evaluation wire on",
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """An evaluation of a pipecat bot; options: `input_rate_hz`, `accepts_history`, `system_messages`, and every wire's."""
    return PipecatEvalConnection(url, options)


def _evaluation(url: str, options: Mapping[str, Any]) -> Connection:
    wire = PipecatEvalWire(**settings_of(options, "input_rate_hz", "accepts_history", "system_messages"))
    # The runner serves evaluations where telephones call, and starts them as such.
    return over_websocket(_with_sound(url), wire, options, route=ABOUT.route, transport="twilio", hint=_HINT)
