"""What is said of a call that cannot be placed: every fault with a real server, a real certificate, over every kind of door.

A WebSocket and an HTTP offer are the two ways in which calls are placed; each fault must give both the same sentence.
"""

import asyncio
import contextlib
import errno
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager

import pytest
from websockets.asyncio.server import ServerConnection, serve

from harness.agents.connection import Closed, ConnectionFailed
from harness.agents.connections import ConnectionSpec, diagnosis, make
from harness.agents.connections.what_to_check import ROWS, Place, fault_of_error, sentence
from harness.store.selection import is_agents_fault
from tests.agents.certificates import Authority

WEBSOCKETS = (
    ("raw-pcm", "ws", "/"),
    ("pipecat", "ws", "/ws"),
    ("twilio", "ws", "/"),
    ("openai-realtime", "ws", "/"),
    ("openai-live", "ws", "/"),
)
DOORS = (*WEBSOCKETS, ("webrtc", "http", "/offer"))
TWO = (WEBSOCKETS[0], DOORS[-1])
"""One of each kind, for what does not depend on the wire."""
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def status(line: str, *headers: str) -> Answer:
    """Answers any request with a status and nothing else."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
            await reader.readuntil(b"\r\n\r\n")
            head = "\r\n".join([f"HTTP/1.1 {line}", "Content-Length: 0", "Connection: close", *headers, "", ""])
            writer.write(head.encode())
            await writer.drain()
        writer.close()

    return answer


async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Calls the first bytes a bad request, as most servers do; `status` waits for the end of a request, as some do."""
    await reader.read(1_000)
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    writer.close()


async def sleeps(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.CancelledError, ConnectionError):
        while await reader.read(1_000):
            pass
    writer.close()


async def hangs_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def ssh(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def server(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server on a port of its own."""
    # A server that hangs up at once meets callers that still speak: asyncio reports that to nobody's use.
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    listening = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()


async def failure(kind: str, url: str, **options: object) -> ConnectionFailed:
    """How a call fails; in one line that begins with its address."""
    line = make(ConnectionSpec(kind, url, {"open_timeout_s": 5, **options}))
    with pytest.raises(ConnectionFailed) as caught:
        await line.open(())
    await line.close()
    said = str(caught.value)
    assert said.startswith(url.partition("?")[0]), said
    assert "\n" not in said
    assert "(): " not in said
    return caught.value


@pytest.mark.parametrize(("kind", "scheme", "path"), TWO)
@pytest.mark.parametrize(
    ("fault", "name", "days", "own", "words"),
    [
        ("certificate_expired", "localhost", -1, True, "its TLS certificate has expired: have it renewed"),
        ("certificate_early", "localhost", 30, True, "its TLS certificate is not valid yet: check the clocks"),
        ("certificate_untrusted", "localhost", 1, False, "is self-signed, and this machine does not know it: name the file"),
        ("certificate_other_name", "bot.example.org", 1, True, "for another name (Hostname mismatch, certificate is not"),
    ],
)
async def test_a_bad_certificate_is_named(
    kind: str, scheme: str, path: str, fault: str, name: str, days: int, own: bool, words: str,
    authority: Authority, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with server(status("200 OK"), authority.context(name, days=days, own=own)) as port:
        failed = await failure(kind, f"{scheme}s://localhost:{port}{path}")
    assert failed.fault == fault
    assert words in str(failed)


@pytest.mark.parametrize(("kind", "scheme", "path"), TWO)
async def test_an_authority_that_this_machine_does_not_know_can_be_named(
    kind: str, scheme: str, path: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    async with server(status("503 Busy"), authority.context()) as port:
        url = f"{scheme}s://localhost:{port}{path}"
        failed = await failure(kind, url)
        assert failed.fault == "certificate_untrusted"
        assert "SSL_CERT_FILE" in str(failed)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        assert (await failure(kind, url)).fault == "busy", "and then it is reached"


@pytest.mark.parametrize(("kind", "scheme", "path"), TWO)
async def test_tls_and_none_are_told_apart(
    kind: str, scheme: str, path: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "PROBE_S", 0.5)
    for answer in (hasty, status("404 Not Found")):
        async with server(answer) as port:
            failed = await failure(kind, f"{scheme}s://localhost:{port}{path}", open_timeout_s=0.5)
        assert failed.fault == "no_tls"
        assert f"write {scheme}:// in place of {scheme}s://" in str(failed)
    async with server(status("404 Not Found"), authority.context()) as port:
        failed = await failure(kind, f"{scheme}://localhost:{port}{path}")
    assert failed.fault == "needs_tls"
    assert f"write {scheme}s:// in place of {scheme}://" in str(failed)


@contextlib.contextmanager
def answers_in_plain(tls: ssl.SSLContext) -> Iterator[int]:
    """A port with TLS that says so to callers without it (HTTP 400), as nginx does."""

    def serve_each() -> None:
        with contextlib.suppress(OSError):
            while True:
                caller = listening.accept()[0]
                with contextlib.suppress(OSError), caller:
                    if caller.recv(1, socket.MSG_PEEK) == b"\x16":
                        tls.wrap_socket(caller, server_side=True).close()
                    else:
                        caller.recv(10_000)
                        caller.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve_each, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(("kind", "scheme", "path"), TWO)
async def test_a_bad_request_at_a_port_with_tls_is_a_wrong_scheme(
    kind: str, scheme: str, path: str, authority: Authority
) -> None:
    demanding = authority.context()
    demanding.verify_mode = ssl.CERT_REQUIRED  # in 1.2 it refuses a caller without a certificate in the handshake
    demanding.maximum_version = ssl.TLSVersion.TLSv1_2
    for tls in (authority.context(), demanding):
        with answers_in_plain(tls) as port:
            assert (await failure(kind, f"{scheme}://localhost:{port}{path}")).fault == "needs_tls"
    async with server(hasty) as port:
        assert (await failure(kind, f"{scheme}://localhost:{port}{path}")).fault == "refused_otherwise"


@pytest.mark.parametrize(("kind", "scheme", "path"), TWO)
async def test_a_port_that_hangs_up_on_tls_speaks_none(kind: str, scheme: str, path: str) -> None:
    async with server(hangs_up) as port:
        assert (await failure(kind, f"{scheme}s://localhost:{port}{path}")).fault == "no_tls"
        assert (await failure(kind, f"{scheme}://localhost:{port}{path}")).fault == "broken"
    async with server(ssh) as port:
        failed = await failure(kind, f"{scheme}://localhost:{port}{path}")
        assert failed.fault in ("not_http", "broken")
        assert f"check the port, and {scheme} or {scheme}s" in str(failed)


@pytest.mark.parametrize(("kind", "scheme", "path"), TWO)
async def test_nobody_there(kind: str, scheme: str, path: str) -> None:
    async with server(hangs_up) as port:
        pass
    assert (await failure(kind, f"{scheme}://localhost:{port}{path}")).fault == "nothing_listens"
    failed = await failure(kind, f"{scheme}://no-such-machine.invalid:9{path}")
    assert failed.fault == "unknown_host"
    assert "no machine of that name: check its spelling" in str(failed)


async def test_a_page_in_place_of_a_call_is_a_wrong_route() -> None:
    for kind, scheme, path in WEBSOCKETS:
        async with server(status("200 OK")) as port:
            failed = await failure(kind, f"{scheme}://localhost:{port}{path}")
        assert failed.fault == "no_route"
        assert ROUTES[kind] in str(failed)


@pytest.mark.parametrize("number", [errno.EHOSTUNREACH, errno.ENETUNREACH])
def test_a_network_without_a_way_is_not_a_port_where_nobody_listens(number: int) -> None:
    # As asyncio raises it; no network of a test's own refuses so.
    said = OSError(number, "Connect call failed ('192.0.2.7', 9)")
    assert fault_of_error(said) == ("no_way", os.strerror(number))
    assert not is_agents_fault(ROWS["no_way"].kind)


ROUTES = {
    "raw-pcm": "check its path",
    "pipecat": "pipecat's runner serves it at /ws-client",
    "twilio": "pipecat's runner serves it at /ws",
    "openai-realtime": "servers of this protocol take calls at /v1/realtime",
    "openai-live": "live sessions are at /v1/live/sessions",
    "webrtc": "pipecat's runner takes offers at /api/offer",
}


@pytest.mark.parametrize(("kind", "scheme", "path"), DOORS)
async def test_what_a_server_answers_says_what_to_mend(
    kind: str, scheme: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOOR_KEY", "opensesame-47")
    cases: tuple[tuple[str, dict[str, object], str, str], ...] = (
        ("401 Unauthorized", {}, "no_key", "it wants a key (HTTP 401): name the variable that holds it in api_key_env"),
        ("401 Unauthorized", {"api_key_env": "DOOR_KEY"}, "wrong_key", "the key (HTTP 401): check the value of DOOR_KEY"),
        ("403 Forbidden", {"headers": {"X-Key": "${DOOR_KEY}"}}, "turned_away", f"and the route: {ROUTES[kind]}"),
        ("404 Not Found", {}, "no_route", f"served at this address (HTTP 404): {ROUTES[kind]}"),
        ("405 Method Not Allowed", {}, "no_route", f"(HTTP 405): {ROUTES[kind]}"),
        ("407 Proxy Authentication Required", {}, "no_key", "it wants a key (HTTP 407)"),
        ("410 Gone", {}, "no_route", f"(HTTP 410): {ROUTES[kind]}"),
        ("426 Upgrade Required", {}, "no_route", f"(HTTP 426): {ROUTES[kind]}"),
        ("503 Service Unavailable", {}, "busy", "busy (HTTP 503): it takes no further caller at present"),
        ("429 Too Many Requests", {}, "busy", "busy (HTTP 429)"),
        ("500 Oops", {}, "server_error", "it failed while it took the call (HTTP 500): its own log"),
    )  # fmt: skip
    for line, options, fault, words in cases:
        async with server(status(line)) as port:
            failed = await failure(kind, f"{scheme}://localhost:{port}{path}", **options)
        assert failed.fault == fault, (line, str(failed))
        assert words in str(failed), line
        # A wrong key and a wrong address are the profile's.
        assert is_agents_fault(failed.kind) == (fault in ("busy", "server_error")), line
        assert "opensesame-47" not in str(failed)


@pytest.mark.parametrize("kind", ["plivo", "telnyx", "exotel", "vonage", "pipecat-eval"])
async def test_a_route_is_named_where_the_kind_has_one(kind: str) -> None:
    async with server(status("404 Not Found")) as port:
        failed = await failure(kind, f"ws://localhost:{port}/wrong")
    # pipecat's runner does not know Vonage.
    assert ("check its path" if kind == "vonage" else "pipecat's runner serves it at /ws") in str(failed)


@pytest.mark.parametrize(("kind", "scheme", "path"), TWO)
async def test_a_server_that_sleeps_is_no_dead_machine(
    kind: str, scheme: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "PROBE_S", 0.3)
    async with server(sleeps) as port:
        for secure in ("", "s"):
            failed = await failure(kind, f"{scheme}{secure}://localhost:{port}{path}", open_timeout_s=0.3)
            assert (failed.fault, failed.kind) == ("asleep", "open_timeout")
            assert "did not answer within 0.3 s: is it still starting or asleep?" in str(failed)


@pytest.mark.parametrize(("kind", "scheme", "path"), TWO)
async def test_a_proxy_that_lets_nobody_through_is_named(
    kind: str, scheme: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server(status("403 Forbidden")) as port:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        failed = await failure(kind, f"{scheme}s://bot.example.org{path}")
        # An agent of this machine is called without it, as no proxy could.
        async with server(status("503 Busy")) as near:
            assert (await failure(kind, f"{scheme}://localhost:{near}{path}")).fault == "busy"
    assert failed.fault == "proxy"
    assert "NO_PROXY" in str(failed)
    assert not is_agents_fault(failed.kind)


async def test_an_address_that_is_none_is_one_line() -> None:
    for url in ("ws://:0/", "http://localhost:1/"):
        line = make(ConnectionSpec("raw-pcm", url, {}))
        with pytest.raises(ConnectionFailed) as caught:
            await line.open(())
        assert "\n" not in str(caught.value)


def closes(code: int, reason: str, sound: bytes = b"") -> AbstractAsyncContextManager[object]:
    async def session(socket: ServerConnection) -> None:
        if sound:
            await socket.send(sound)
        await socket.close(code, reason)

    return serve(session, "127.0.0.1", 0)


LEAVES = ((1001, "it goes away"), (1012, "its service restarts"), (1013, "it is overloaded"))


@pytest.mark.parametrize(
    ("code", "sound", "kind", "words"),
    [
        (1013, b"", "busy", "busy (code 1013: full): it takes no further caller"),
        *((code, b"", "unauthorised", "check DOOR_KEY") for code in (1008, 3000, 3003, 4001, 4003, 4401, 4403)),
        (1011, b"", "closed_early", "the agent hung up with an error (code 1011: full)"),
        # An agent that has spoken had let the caller in.
        (1008, bytes(640), "closed_early", "the agent hung up with an error (code 1008: full)"),
        # A server that ends its calls: what was answered until then counts.
        *((code, bytes(640), "hung_up", f"the agent hung up in the call: {why} (code {code}: full)") for code, why in LEAVES),
    ],
)
async def test_a_server_that_takes_the_call_and_then_its_key_amiss(
    code: int, sound: bytes, kind: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOOR_KEY", "opensesame-47")
    async with closes(code, "full", sound) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]  # type: ignore[attr-defined]
        line = make(ConnectionSpec("raw-pcm", f"ws://localhost:{port}/", {"api_key_env": "DOOR_KEY"}))
        await line.open(())
        end = [event async for event in line.events()][-1]
        await line.close()
    assert isinstance(end, Closed)
    assert words in str(end.error)
    assert end.kind == kind


def test_every_row_is_one_sentence_that_says_how_to_mend() -> None:
    for fault, row in ROWS.items():
        said = sentence(fault, Place(), status=404, detail="why {x}\n", rate_hz=8_000)
        assert row.mend
        assert said.count("\n") == 0
        assert "{" not in said.replace("${NAME}", "").replace("{x}", "")
