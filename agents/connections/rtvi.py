"""RTVI: the messages of pipecat's bots and clients in addition to the audio, over any transport.

Two things go beyond a stock bot, each as RTVI provides for: marks come as a `server-message` `{"type": "mark", "name",
"at_ns", "detail"}`, and RTVI's own events become marks named `rtvi.<type>`. The latter carry no time of their own and are
therefore stamped on arrival, and say so.

Source: the models of `pipecat.processors.frameworks.rtvi` in pipecat 1.14.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from harness.agents.connection import ConnectionFailed, Event, Mark, Transcript
from harness.agents.connections.raw_pcm import mark_of
from harness.agents.connections.wire import NOTHING, Garbage, Received, refuse_history, shown
from harness.agents.message import Message
from harness.agents.reply_signs import MORE_COMES

LABEL: Final = "rtvi-ai"
VERSION: Final = "2.0.0"
"""Any 2.x bot serves a 2.x client; the newest minor version is not needed for what is used here."""
CLIENT_READY: Final = "client-ready"
SPEAKS_ALL_THE_SAME_S: Final = 1.0
"""A bot whose pipeline runs answers `client-ready` in milliseconds: one that speaks for so long and does not has no RTVI."""
_NO_RTVI: Final = (
    "the bot does not answer RTVI's client-ready, and is called without RTVI: "
    "set rtvi = false in its profile, or switch RTVI on in the bot"
)

_MARKED: Final = frozenset(
    {
        "user-started-speaking", "user-stopped-speaking", "vad-user-started-speaking", "vad-user-stopped-speaking",
        "bot-llm-started", "bot-llm-text", "bot-llm-stopped", "bot-tts-started", "bot-tts-stopped",
        "bot-started-speaking", "bot-stopped-speaking", "bot-interrupted", "metrics", "error", "error-response",
        "llm-function-call", "llm-function-call-in-progress", "llm-function-call-stopped",
    }
)  # fmt: skip
"""RTVI's own events that become marks. The other messages repeat these, or concern a screen."""


def envelope(kind: str, message_id: str, data: Mapping[str, Any]) -> str:
    """One message of the client, as JSON text."""
    return json.dumps({"label": LABEL, "type": kind, "id": message_id, "data": data})


def client_ready() -> str:
    """The first message of a client; the bot answers `bot-ready`."""
    return envelope(CLIENT_READY, CLIENT_READY, {"version": VERSION, "about": {"library": "heart-voice-harness"}})


def kind_of(message: Mapping[str, Any]) -> str | None:
    """The type of an RTVI message; None for anything else."""
    kind = message.get("type")
    return kind if message.get("label") == LABEL and isinstance(kind, str) else None


def fields_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of a message; empty if it has none."""
    data = message.get("data")
    return data if isinstance(data, dict) else {}


class BotEvents:
    """The events in a bot's messages: transcripts, its own marks, and RTVI's events as marks.

    A bot speaks each answer of its model for itself. `bot-stopped-speaking` after a filler is therefore like the one after the
    answer; what still runs tells them apart: the model, a function, or an answer whose voice has not begun.
    """

    def __init__(self) -> None:
        self._writing = False
        self._unvoiced = 0
        """Answers of the model whose voice has not begun."""
        self._has_text = False
        self._functions: set[str] = set()
        self._answer_due = False
        """A function's result is there, and the model has not yet begun to answer it."""

    def of(self, kind: str, fields: Mapping[str, Any], arrival_ns: int) -> tuple[Event, ...]:
        """The events of one message.

        Raises:
            Garbage: a transcript without text, or a mark without name and time.
        """
        self._follow(kind, fields)
        match kind:
            case "server-message" if fields.get("type") == "mark":
                return (mark_of(fields, arrival_ns),)
            case "user-transcription":
                final = bool(fields.get("final", True))
                mark = (_mark(kind, {}, arrival_ns),) if final else ()
                return (*mark, _transcript("user", fields, final, arrival_ns))
            case "bot-tts-text":
                return (_transcript("assistant", fields, True, arrival_ns),)
            case "bot-stopped-speaking" if self._more_comes:
                return (_mark(kind, {**fields, MORE_COMES: True}, arrival_ns),)
            case _ if kind in _MARKED:
                return (_mark(kind, fields, arrival_ns),)
        return ()

    @property
    def _more_comes(self) -> bool:
        return self._writing or self._answer_due or bool(self._unvoiced) or bool(self._functions)

    def _follow(self, kind: str, fields: Mapping[str, Any]) -> None:
        match kind:
            case "bot-llm-started":
                self._writing, self._has_text, self._answer_due = True, False, False
            case "bot-llm-text" if not self._has_text:
                self._has_text = True
                self._unvoiced += 1
            case "bot-llm-stopped":
                self._writing = False
            case "bot-tts-started":
                self._unvoiced = max(0, self._unvoiced - 1)
            case "llm-function-call-in-progress":
                self._functions.add(str(fields.get("tool_call_id")))
            case "llm-function-call-stopped":
                self._functions.discard(str(fields.get("tool_call_id")))
                self._answer_due = not fields.get("cancelled")
            case "bot-interrupted" | "user-started-speaking":
                self._writing, self._unvoiced, self._answer_due = False, 0, False


def _mark(kind: str, fields: Mapping[str, Any], arrival_ns: int) -> Mark:
    return Mark(f"rtvi.{kind}", arrival_ns, arrival_ns, {**fields, "stamped": "arrival"})


def _transcript(role: Literal["user", "assistant"], fields: Mapping[str, Any], final: bool, arrival_ns: int) -> Transcript:
    text = fields.get("text")
    if not isinstance(text, str):
        raise Garbage(f"a transcript without text: {shown(repr(dict(fields)))}")
    return Transcript(arrival_ns=arrival_ns, role=role, text=text, final=final)


_HISTORY_ID: Final = "history"


class RtviSession:
    """The client's side of one session. `speaks_rtvi`: false for bots without, whose audio starts with the line.

    The history goes beyond a stock bot, as RTVI provides for: a `client-message` of type `history` (`{"messages": [{"role",
    "text"}, …]}`), which the bot acknowledges with a `server-response`, and before which no audio is sent. A bot that does
    not know it still works: it is played without history.
    """

    _silent: ClassVar = set[str]()
    """Addresses whose bots this process has found without RTVI. Shared by all calls on purpose: each would wait as long. A
    caller's process lives for one run, so what one run found out is not believed in another."""

    def __init__(self, accepts_history: bool = False, speaks_rtvi: bool = True, address: str = "") -> None:
        """Make a session. `address`: the bot's; without one, nothing is remembered of it."""
        self._accepts_history = accepts_history
        self.speaks_rtvi = speaks_rtvi
        self._address = address
        self._history: tuple[Message, ...] = ()
        known = speaks_rtvi and not accepts_history and address in self._silent
        self.fell_back = _NO_RTVI if known else ""
        """The reason why the session goes on without RTVI, although its profile has it; empty if it does not."""
        self._bot_ready = not speaks_rtvi or known
        self._first_heard_ns: int | None = None
        self._history_taken = not accepts_history
        self._events = BotEvents()

    @property
    def ready(self) -> bool:
        """True if the bot is ready and has accepted the history."""
        return self._bot_ready and self._history_taken

    def heard(self, arrival_ns: int) -> None:
        """The bot sent sound: one that goes on speaking and does not answer has no RTVI."""
        if self._first_heard_ns is None:
            self._first_heard_ns = arrival_ns
        if not self._bot_ready and arrival_ns - self._first_heard_ns > SPEAKS_ALL_THE_SAME_S * 1e9:
            self.unanswered()

    def unanswered(self) -> str:
        """The reason to go on without RTVI; empty where a history has to be given over it."""
        if not self._bot_ready and not self._accepts_history:
            self._bot_ready, self.fell_back = True, _NO_RTVI
            self._silent.update((self._address,) if self._address else ())
        return self.fell_back

    @property
    def waits_for(self) -> str:
        """The event for which `ready` waits, in words."""
        if not self._bot_ready:
            return "the bot's answer to RTVI client-ready (rtvi = false is for bots without RTVI)"
        return 'the acknowledgement of the history (a server-response to the client-message "history")'

    def hello(self, history: Sequence[Message]) -> tuple[str, ...]:
        """The first messages.

        Raises:
            ConnectionFailed: there is a history, and the bot takes none.
        """
        how = 'have it answer the client-message "history" and set accepts_history = true'
        refuse_history(history, self._accepts_history, how)
        if not self.speaks_rtvi:
            if self._accepts_history:
                raise ConnectionFailed("accepts_history needs RTVI: remove rtvi = false", "no_history")
            return ()
        self._history = tuple(history)
        return (client_ready(),)

    def receive(self, message: Mapping[str, Any], arrival_ns: int) -> Received:
        """The meaning of a message of the bot.

        Raises:
            Garbage: it is RTVI, and not as RTVI has it.
            ConnectionFailed: the bot refuses the client or the history.
        """
        kind, fields = kind_of(message), fields_of(message)
        if kind is None:
            return NOTHING
        match kind:
            case "bot-ready":
                self._silent.discard(self._address)
                return self._on_bot_ready()
            case "server-response" if message.get("id") == _HISTORY_ID:
                self._history_taken = True
                return NOTHING
            case "error-response" if message.get("id") == _HISTORY_ID:
                raise ConnectionFailed(f"the bot refuses the history: {shown(str(fields.get('error')))}", "refused")
            case "error-response" if message.get("id") == CLIENT_READY:
                raise ConnectionFailed(f"the bot refuses the client: {shown(str(fields.get('error')))}", "refused")
        return Received(events=self._events.of(kind, fields, arrival_ns))

    def _on_bot_ready(self) -> Received:
        if self._bot_ready:
            return NOTHING
        self._bot_ready = True
        if self._history_taken:
            return NOTHING
        turns = [{"role": turn.role, "text": turn.text} for turn in self._history]
        data = {"t": "history", "d": {"messages": turns}}
        return Received(replies=(envelope("client-message", _HISTORY_ID, data),))
