"""The client's side of one RTVI session over any transport: readiness, history, and the bot's messages.

The history goes beyond a stock bot, as RTVI provides for: a `client-message` of type `history` (`{"messages": [{"role",
"text"}, …]}`), which the bot acknowledges with a `server-response`, and before which no audio is sent. A bot that does not know
it still works: it is played without history. What else RTVI carries is in `harness.agents.connections.rtvi`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.agents.connection import ConnectionFailed, Event
from harness.agents.connections import rtvi
from harness.agents.connections.wire import refuse_history, shown
from harness.agents.message import Message

_HISTORY_ID: Final = "history"


@dataclass(frozen=True, slots=True)
class Told:
    """The events of one message, and the messages (JSON text) to answer."""

    events: tuple[Event, ...] = ()
    replies: tuple[str, ...] = ()


_NOTHING: Final = Told()


class RtviSession:
    """The client's side of one session. `speaks_rtvi`: false for bots without, whose audio starts with the line."""

    def __init__(self, accepts_history: bool = False, speaks_rtvi: bool = True) -> None:
        self._accepts_history = accepts_history
        self.speaks_rtvi = speaks_rtvi
        self._history: tuple[Message, ...] = ()
        self._bot_ready = not speaks_rtvi
        self._history_taken = not accepts_history

    @property
    def ready(self) -> bool:
        """True if the bot is ready and has accepted the history."""
        return self._bot_ready and self._history_taken

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
        return (rtvi.client_ready(),)

    def receive(self, message: Mapping[str, Any], arrival_ns: int) -> Told:
        """The meaning of a message of the bot.

        Raises:
            Garbage: it is RTVI, and not as RTVI has it.
            ConnectionFailed: the bot refuses the client or the history.
        """
        kind, fields = rtvi.kind_of(message), rtvi.fields_of(message)
        if kind is None:
            return _NOTHING
        match kind:
            case "bot-ready":
                return self._on_bot_ready()
            case "server-response" if message.get("id") == _HISTORY_ID:
                self._history_taken = True
                return _NOTHING
            case "error-response" if message.get("id") == _HISTORY_ID:
                raise ConnectionFailed(f"the bot refuses the history: {shown(str(fields.get('error')))}", "no_history")
            case "error-response" if message.get("id") == rtvi.CLIENT_READY:
                raise ConnectionFailed(f"the bot refuses the client: {shown(str(fields.get('error')))}", "refused")
        return Told(events=rtvi.events_of(kind, fields, arrival_ns))

    def _on_bot_ready(self) -> Told:
        if self._bot_ready:
            return _NOTHING
        self._bot_ready = True
        if self._history_taken:
            return _NOTHING
        turns = [{"role": turn.role, "text": turn.text} for turn in self._history]
        data = {"t": "history", "d": {"messages": turns}}
        return Told(replies=(rtvi.envelope("client-message", _HISTORY_ID, data),))
