"""One session over a WebSocket, for all wire formats: dialling, bounds, named failures.

The agent under test is not trusted to behave. Everything it can do wrong ends the session with one `Closed` that names
the failure, and nothing it sends can use more memory than the bounds allow. Arrivals are stamped in the socket's read
callback, before parsing or scheduling. Writing happens in a task of its own behind a bounded queue, so that an agent
which stops reading fails by name and never delays the caller's next frame.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from harness.agents.connection import (
    AudioChunk,
    ConnectionFailed,
    Event,
    FailureKind,
)
from harness.agents.connections.inbox import Inbox, Limits
from harness.agents.connections.wire import Garbage, Outgoing, Wire, shown
from harness.agents.message import Message
from harness.agents.this_machine import is_loopback


class _StampedConnection(ClientConnection):
    """A connection that stamps reads of the socket: parsing and task switches come later and must not count."""

    read_ns: int = 0

    def data_received(self, data: bytes) -> None:
        self.read_ns = time.monotonic_ns()
        super().data_received(data)


class WebSocketConnection:
    """A `Connection` that gives a `Wire` a socket."""

    def __init__(
        self,
        url: str,
        wire: Wire,
        limits: Limits | None = None,
        headers: Callable[[], Sequence[tuple[str, str]]] = tuple,
        hint: str = "",
    ) -> None:
        """Make a connection. `hint` is advice for an agent that does not become ready."""
        self._url = url
        self._wire = wire
        self.capabilities = wire.capabilities
        self._limits = limits or Limits()
        self._headers = headers
        self._hint = f" ({hint})" if hint else ""
        self._socket: _StampedConnection | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._inbox = Inbox(self._limits)
        self._unsent: asyncio.Queue[Sequence[Outgoing]] = asyncio.Queue(self._limits.unsent_frames)

    async def open(self, history: Sequence[Message]) -> None:
        try:
            async with asyncio.timeout(self._limits.open_timeout_s):
                hello = self._wire.hello(history)
                self._socket = await self._dial()
                self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]
                for message in hello:
                    self._unsent.put_nowait((message,))
                while not self._wire.ready and self._inbox.ended is None:
                    await self._inbox.changed.wait()
                    self._inbox.changed.clear()
        except TimeoutError:
            what = self._wire.waits_for if self._socket else "a connection"
            message = f"{place_of(self._url)}: {what} did not come within {self._limits.open_timeout_s:g} s{self._hint}"
            await self._abandon(message, "open_timeout")
        except ConnectionFailed as error:
            await self._abandon(f"{place_of(self._url)}: {error}", error.kind)
        except BaseException:
            await self.close()
            raise
        if (ended := self._inbox.ended) is not None:
            why = ended.error or "closed at once"
            await self._abandon(f"{place_of(self._url)}: {why}{self._hint}", ended.kind or "refused")

    def send(self, frame: bytes) -> None:
        if self._inbox.ended is not None:
            return
        try:
            self._unsent.put_nowait(self._wire.audio(frame, time.monotonic_ns()))
        except asyncio.QueueFull:
            seconds = self._limits.unsent_frames * 0.02
            self._inbox.end(f"the agent stopped reading: {seconds:g} s of caller audio wait unsent", "overflow")

    def events(self) -> AsyncIterator[Event]:
        return self._inbox.events()

    async def close(self) -> None:
        if self._inbox.ended is None and self._socket is not None:
            with contextlib.suppress(ConnectionClosed, TimeoutError):
                async with asyncio.timeout(self._limits.close_timeout_s):
                    for message in self._wire.goodbye():
                        await self._socket.send(message)
        self._inbox.end(None, None)
        await self._hang_up()

    async def _dial(self) -> _StampedConnection:
        try:
            socket = await connect(
                self._url,
                create_connection=_StampedConnection,
                additional_headers=self._headers(),
                compression=None,
                # The caller judges silence itself; a library's ping would hang up on an agent that is merely slow.
                ping_interval=None,
                open_timeout=None,
                close_timeout=self._limits.close_timeout_s,
                max_size=self._limits.message_bytes,
                proxy=None if is_loopback(self._url) else True,
            )
            assert isinstance(socket, _StampedConnection)
            return socket
        except (InvalidURI, ValueError) as error:
            raise ConnectionFailed(f"not a WebSocket address: {error}") from error
        except (OSError, EOFError, ImportError, InvalidHandshake) as error:
            raise ConnectionFailed(_why_refused(error)) from error

    async def _read(self) -> None:
        assert self._socket is not None
        try:
            while self._inbox.ended is None:
                message = await self._socket.recv()
                self._take(message, self._socket.read_ns)
        except ConnectionClosed as closed:
            self._inbox.end(*self._why_closed(closed))
        except Garbage as error:
            self._inbox.end(f"the agent sent {error}", "garbage")
        except ConnectionFailed as error:
            self._inbox.end(str(error), error.kind)
        except Exception as error:
            # A wire format of another package may fail in any way, and a session must end all the same.
            self._inbox.end(f"the connection failed on a message: {type(error).__name__}: {shown(str(error))}", "defect")

    def _take(self, message: str | bytes, arrival_ns: int) -> None:
        if not self._inbox.takes(len(message)):
            return
        received = self._wire.receive(message, arrival_ns)
        if not any(isinstance(event, AudioChunk) for event in received.events):
            self._inbox.count_text(len(message))
        for event in received.events:
            self._inbox.put(event)
        for reply in received.replies:
            try:
                self._unsent.put_nowait((reply,))
            except asyncio.QueueFull:
                raise ConnectionFailed("the agent asks more than it reads", "overflow") from None
        self._inbox.changed.set()

    async def _write(self) -> None:
        assert self._socket is not None
        with contextlib.suppress(ConnectionClosed):
            while True:
                for message in await self._unsent.get():
                    await self._socket.send(message)

    def _why_closed(self, closed: ConnectionClosed) -> tuple[str | None, FailureKind | None]:
        if closed.sent is not None and not closed.rcvd_then_sent:
            if closed.sent.code == 1009:
                return f"the agent sent one message of more than {self._limits.message_bytes >> 20} MiB", "flood"
            if closed.sent.code in (1002, 1007):
                return f"the agent broke the WebSocket protocol ({closed.sent.reason or closed.sent.code})", "garbage"
        if closed.rcvd is None:
            return "the line broke without a goodbye: the agent died, or hung up", "closed_early"
        if closed.rcvd.code not in (1000, 1001, 1005):
            why = f": {shown(closed.rcvd.reason)}" if closed.rcvd.reason else ""
            return f"the agent hung up with an error (code {closed.rcvd.code}{why})", "closed_early"
        if not self._inbox.heard_audio:
            return "the agent hung up before it said anything", "closed_early"
        return None, None

    async def _abandon(self, message: str, kind: FailureKind) -> None:
        self._inbox.end(message, kind)
        await self._hang_up()
        raise ConnectionFailed(message, kind)

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


def _why_refused(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error):
        return "nothing listens there"
    return f"the agent refused the connection: {error or type(error).__name__}".replace("\n", " ")
