"""One session over a WebSocket, for all wire formats: dialling, bounds, named failures.

The agent under test is not trusted to behave. Everything it can do wrong ends the session with one `Closed` that names
the failure, and nothing it sends can use more memory than the bounds allow. Arrivals are stamped in the socket's read
callback, before parsing or scheduling. A frame of the caller goes to the socket at once, within the callback that is due;
while the socket is full, frames wait in a bounded queue for a task that writes them, so that an agent which stops reading
fails by name and never delays the caller's next frame.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import broadcast
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI, ProxyError

from harness.agents.connection import (
    CLOSED_WITH,
    ENDS_TURNS,
    FELL_BACK,
    AudioChunk,
    ConnectionFailed,
    Event,
    FailureKind,
)
from harness.agents.connections.access import Access
from harness.agents.connections.credentials import BEARER, KeyForm
from harness.agents.connections.diagnosis import explained, explained_status, settled, timed_out, trusted, words_in
from harness.agents.connections.inbox import Inbox, Limits, dialled
from harness.agents.connections.what_to_check import ROWS, Fault, failed, sentence
from harness.agents.connections.wire import Garbage, Outgoing, Wire, shown
from harness.agents.message import Message
from harness.agents.this_machine import is_loopback

HUNG_UP: Final = "hung_up"
"""`ConnectionFailed.fault` of an agent that took the call and hung up before it was ready."""


class _StampedConnection(ClientConnection):
    """A connection that stamps reads of the socket: parsing and task switches come later and must not count."""

    read_ns: int = 0

    def data_received(self, data: bytes) -> None:
        self.read_ns = time.monotonic_ns()
        super().data_received(data)


class Dialling(connect):
    """A dialling that takes its headers to the host that the profile names, and to no other: they hold keys."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        keyed = bool(self.additional_headers)
        place = super().process_redirect(exc)
        moved = isinstance(place, str) and urlsplit(place)[:2] != urlsplit(self.uri)[:2]
        return exc if keyed and moved else place


_REFUSES_KEYS: Final = (1008, 3000, 3003, 4001, 4003, 4401, 4403)
"""Close codes of servers that take a call and then its key amiss."""
_TRY_LATER: Final = 1013
_LEAVES: Final = MappingProxyType({1001: "it goes away", 1012: "its service restarts", _TRY_LATER: "it is overloaded"})
"""Close codes of a server that ends all its calls, whatever is said in them (IANA's registry of them)."""


class WebSocketConnection:
    """A `Connection` that gives a `Wire` a socket."""

    def __init__(
        self, url: str, wire: Wire, limits: Limits | None = None, access: Access | None = None, hint: str = ""
    ) -> None:
        """Make a connection. `access`: how it is dialled, if it takes more than `url`; `hint` is advice for an agent that does
        not become ready."""
        self._url = url
        self._wire = wire
        self.capabilities = wire.capabilities
        self._limits = limits or Limits()
        self._access = access or Access(url, timeout_s=self._limits.open_timeout_s)
        self._dialled = self._access.start_url or url
        self._hint = f" ({hint})" if hint else ""
        self._socket: _StampedConnection | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._inbox = Inbox(self._limits)
        self._unsent: asyncio.Queue[Sequence[Outgoing]] = asyncio.Queue(self._limits.unsent_frames)
        self._writing = False

    async def open(self, history: Sequence[Message]) -> None:
        async with dialled(self._limits.open_timeout_s, self._too_late, self._abandon, self.close):
            hello = self._wire.hello(history)
            self._socket = await self._dial()
            self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]
            self._unsent.put_nowait(hello)
            while not self._wire.ready and self._inbox.ended is None:
                await self._inbox.changed.wait()
                self._inbox.changed.clear()
        if self._wire.fell_back:
            self._inbox.note(FELL_BACK, why=self._wire.fell_back)
        if self._wire.ends_turns:
            self._inbox.note(ENDS_TURNS, why=self._wire.ends_turns)
        if (ended := self._inbox.ended) is not None:
            why = f"{ended.error or 'closed at once'}{self._hint}"
            await self._abandon(ConnectionFailed(why, ended.kind or "refused", HUNG_UP))

    async def _too_late(self) -> ConnectionFailed | None:
        if self._socket is None:
            return await timed_out(self._dialled, self._access.place)
        if self._wire.unanswered():
            return None
        why = f"{self._wire.waits_for} did not come within {self._limits.open_timeout_s:g} s{self._hint}"
        return ConnectionFailed(why, "open_timeout")

    def send(self, frame: bytes) -> None:
        self._hand_over(lambda: self._wire.audio(frame, time.monotonic_ns()))

    def end_turn(self) -> None:
        self._hand_over(self._wire.end_turn)

    def _hand_over(self, made: Callable[[], Sequence[Outgoing]]) -> None:
        if self._inbox.ended is not None:
            return
        messages: Sequence[Outgoing] = ()
        with self._inbox.ours("on the caller's sound"):
            messages = made()
        if self._socket is not None and self._nothing_waits(self._socket):
            for message in messages:
                broadcast((self._socket,), message)
            return
        try:
            self._unsent.put_nowait(messages)
        except asyncio.QueueFull:
            seconds = self._limits.unsent_frames * 0.02
            self._inbox.end(f"the agent stopped reading: {seconds:g} s of caller audio wait unsent", "overflow")

    def _nothing_waits(self, socket: _StampedConnection) -> bool:
        """True if a message that is written now overtakes none: in the queue, in the writer's hand, or in the socket."""
        return self._unsent.empty() and not self._writing and not socket.transport.get_write_buffer_size()

    def events(self) -> AsyncIterator[Event]:
        return self._inbox.events()

    async def close(self) -> None:
        if self._inbox.ended is None and self._socket is not None:
            with contextlib.suppress(ConnectionClosed, TimeoutError), self._inbox.ours("at its goodbye"):
                async with asyncio.timeout(self._limits.close_timeout_s):
                    for message in self._wire.goodbye():
                        await self._socket.send(message)
        self._inbox.end(None, None)
        await self._hang_up()

    async def _dial(self) -> _StampedConnection:
        self._dialled, headers = await self._access.opened()
        place = self._access.place
        try:
            socket = await Dialling(
                self._dialled,
                create_connection=_StampedConnection,
                additional_headers=headers,
                compression=None,
                # The caller judges silence itself; a library's ping would hang up on an agent that is merely slow.
                ping_interval=None,
                open_timeout=None,
                close_timeout=self._limits.close_timeout_s,
                max_size=self._limits.message_bytes,
                proxy=None if is_loopback(self._dialled) else True,
                ssl=trusted() if urlsplit(self._dialled).scheme == "wss" else None,
            )
            assert isinstance(socket, _StampedConnection)
            return socket
        except InvalidStatus as error:
            status, body = error.response.status_code, bytes(error.response.body or b"")
            raise await explained_status(status, self._dialled, place, words_in(body), body) from error
        except InvalidMessage as error:
            fault: Fault = "broken" if isinstance(error.__cause__, EOFError) else "not_http"
            raise await settled(fault, "", url=self._dialled, place=place) from error
        except ProxyError as error:
            raise failed("proxy", place, detail=str(error)) from error
        except InvalidURI as error:
            raise failed("bad_address", place, detail=error.msg) from error
        except (OSError, EOFError) as error:
            raise await explained(error, self._dialled, place) from error
        except (ValueError, ImportError, InvalidHandshake) as error:
            raise failed("failed_otherwise", place, detail=str(error) or type(error).__name__) from error

    async def _read(self) -> None:
        assert self._socket is not None
        # A wire format of another package may fail in any way, and a session must end all the same.
        with self._inbox.ours("on a message"):
            try:
                while self._inbox.ended is None:
                    message = await self._socket.recv()
                    try:
                        self._take(message, self._socket.read_ns)
                    except Garbage as error:
                        self._inbox.refuse(error)
            except ConnectionClosed as closed:
                why, kind = self._why_closed(closed)
                reason = shown(closed.rcvd.reason, 200) if closed.rcvd is not None else ""
                if closed.rcvd is not None and reason and reason not in (why or ""):
                    self._inbox.note(CLOSED_WITH, code=closed.rcvd.code, reason=reason)
                self._inbox.end(why, kind)
            except ConnectionFailed as error:
                self._inbox.end(str(error), error.kind)

    def _take(self, message: str | bytes, arrival_ns: int) -> None:
        if not self._inbox.takes(len(message)):
            return
        received = self._wire.receive(message, arrival_ns)
        if not any(isinstance(event, AudioChunk) for event in received.events):
            self._inbox.count_text(len(message))
        for event in received.events:
            self._inbox.put(event)
        if received.replies:
            try:
                self._unsent.put_nowait(received.replies)
            except asyncio.QueueFull:
                raise ConnectionFailed("the agent asks more than it reads", "overflow") from None
        self._inbox.changed.set()

    async def _write(self) -> None:
        assert self._socket is not None
        with self._inbox.ours("as it wrote"), contextlib.suppress(ConnectionClosed):
            while True:
                messages = await self._unsent.get()
                self._writing = True
                for message in messages:
                    await self._socket.send(message)
                self._writing = False

    def _why_closed(self, closed: ConnectionClosed) -> tuple[str | None, FailureKind | None]:
        if closed.sent is not None and not closed.rcvd_then_sent:
            if closed.sent.code == 1009:
                return f"the agent sent one message of more than {self._limits.message_bytes >> 20} MiB", "flood"
            if closed.sent.code in (1002, 1007):
                return f"the agent broke the WebSocket protocol ({closed.sent.reason or closed.sent.code})", "garbage"
        if closed.rcvd is None:
            return "the line broke without a goodbye: the agent died, or hung up", "closed_early"
        if (refused := self._wire.refusal(closed.rcvd.code, closed.rcvd.reason)) is not None:
            return str(refused), refused.kind
        if closed.rcvd.code in _LEAVES and self._inbox.heard_audio:
            said = f": {shown(closed.rcvd.reason)}" if closed.rcvd.reason else ""
            return f"the agent hung up in the call: {_LEAVES[closed.rcvd.code]} (code {closed.rcvd.code}{said})", "hung_up"
        if closed.rcvd.code not in (1000, 1001, 1005):
            why = f"code {closed.rcvd.code}{f': {shown(closed.rcvd.reason)}' if closed.rcvd.reason else ''}"
            if closed.rcvd.code == _TRY_LATER and not self._inbox.heard_audio:
                return sentence("busy", self._access.place, status=why), ROWS["busy"].kind
            if closed.rcvd.code in _REFUSES_KEYS and not self._inbox.heard_audio:
                return sentence("hung_up_on_key", self._access.place, detail=why), ROWS["hung_up_on_key"].kind
            return f"the agent hung up with an error ({why})", "closed_early"
        if not self._inbox.heard_audio:
            return "the agent hung up before it said anything", "closed_early"
        return None, None

    @property
    def _where(self) -> str:
        """The address for display; of one that only the answer to a request named, the host alone."""
        if self._url.startswith("ws") or self._dialled == self._access.start_url:
            return place_of(self._url)
        return place_of(urlunsplit((*urlsplit(self._dialled)[:2], "", "", "")))

    async def _abandon(self, error: ConnectionFailed) -> None:
        message = f"{self._where}: {error}"
        self._inbox.end(message, error.kind)
        await self._hang_up()
        raise ConnectionFailed(message, error.kind, error.fault)

    async def _hang_up(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        socket, self._socket = self._socket, None
        if socket is not None:
            # The library waits for its write buffer first, which an agent that does not read never empties.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.close_timeout_s):
                    await socket.close()
            socket.transport.abort()


def place_of(url: str) -> str:
    """An address for display, without query and password, which may contain tokens."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def settings_of(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The options of these names that are given; the others have the wire's own defaults."""
    return {name: options[name] for name in names if name in options}


def over_websocket(
    url: str,
    wire: Wire,
    options: Mapping[str, Any],
    *,
    route: str = "",
    transport: str = "",
    hint: str = "",
    key_form: KeyForm = BEARER,
    key_words: str = "",
) -> WebSocketConnection:
    """The connection of a wire by the options that all share: `api_key_env`, `headers`, `start_url`, `open_timeout_s`.

    `route`: where agents of the kind usually answer; `transport`: its name in a request that starts a bot; `key_form`: how the
    key is sent, and `key_words` the same for a caller whose key is refused.
    """
    access = Access.of(url, options, route, transport, key_form, key_words)
    return WebSocketConnection(url, wire, Limits(open_timeout_s=access.timeout_s), access, hint)
