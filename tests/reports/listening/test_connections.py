"""Strangers who open connections and never finish: nobody else waits for them, and no core is busy with them."""

import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

SERVER = """
import sys
from pathlib import Path
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from harness.reports.invited import connections
from harness.reports.invited.server import serve_on
from harness.reports.invited.address import address_of, opened

for name, value in zip(sys.argv[4::2], sys.argv[5::2]):
    setattr(connections, name, float(value))
async def hello(request):
    return PlainTextResponse(str(len(await request.body())))
async def long(request):
    async def blocks():
        for _ in range(400):
            yield bytes(65_536)
    return StreamingResponse(blocks())
async def broken(request):
    raise RuntimeError("an error of ours")
files = {"certificate": Path(sys.argv[2]), "key": Path(sys.argv[3])} if sys.argv[2] else {}
proxies = {"public": True, "url": "https://rater.test", "proxies": ["127.0.0.1"]} if sys.argv[1] == "proxy" else {}
routes = [Route("/", hello, methods=["GET", "POST"]), Route("/long", long), Route("/broken", broken)]
with opened(address_of(host="127.0.0.1", port=0, **files, **proxies)) as (bound, here):
    serve_on(bound, here, Starlette(routes=routes), None, "Pages", lambda _: print(here.port, flush=True))
"""
FILES = 1_024
"""The usual limit of a shell."""
HALF = (
    b"",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-a: b",
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
)
SLOW_S = 10.0
"""More than any answer takes on a busy machine, and less than the shortest time-out."""
LONG_S = 120.0


@dataclass
class Running:
    port: int
    process: psutil.Process
    secure: bool

    def ask(self, within_s: float = SLOW_S) -> float:
        """The seconds that a newcomer waits for an answer."""
        begun = time.monotonic()
        reply = httpx2.get(f"http{'s' * self.secure}://127.0.0.1:{self.port}/", timeout=within_s, verify=False, trust_env=False)
        assert reply.text == "0"
        return time.monotonic() - begun

    def connect(self, sent: bytes = b"") -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=SLOW_S)
        client.sendall(sent)
        return client

    def busy_share(self, seconds: float) -> float:
        """The share of a core that the server used."""
        before = sum(self.process.cpu_times()[:2])
        time.sleep(seconds)
        return (sum(self.process.cpu_times()[:2]) - before) / seconds


@contextmanager
def serving(
    *, proxy: bool = False, tls: tuple[Path, Path] | None = None, files: int = FILES, **times: float
) -> Iterator[Running]:
    """A server in a process of its own, and nothing on its error output at the end: a stranger could fill a disk with it.
    `times`: shorter time-outs than the usual."""
    changed = [text for name, value in times.items() for text in (name, str(value))]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, "proxy" if proxy else "", *(map(str, tls) if tls else ("", "")), *changed],
            stdout=subprocess.PIPE, stderr=errors, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        )  # fmt: skip
        try:
            assert process.stdout is not None
            running = Running(int(process.stdout.readline()), psutil.Process(process.pid), tls is not None)
            running.ask() if not proxy else None
            yield running
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
        errors.seek(0)
        said = errors.read()
        assert not said, said


@pytest.fixture
def many() -> Iterator[Callable[[Running, int, tuple[bytes, ...]], list[socket.socket]]]:
    """Opens connections that send something and then nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4_096:
        pytest.skip(f"this machine lets a process open {hard} files, and 2,000 connections are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4_096), hard))
    opened: list[socket.socket] = []

    def connections(running: Running, count: int, sent: tuple[bytes, ...] = HALF) -> list[socket.socket]:
        for k in range(count):
            with suppress(OSError):
                opened.append(running.connect(sent[k % len(sent)]))
        return opened

    yield connections
    for client in opened:
        client.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def ended(client: socket.socket, within_s: float) -> bool:
    """True if the server ends a connection, whatever it sends before."""
    until = time.monotonic() + within_s
    client.settimeout(0.1)
    while time.monotonic() < until:
        try:
            if not client.recv(65_536):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def answered(client: socket.socket) -> bool:
    """True if one whole answer comes."""
    got = b""
    while not got.endswith(b"\r\n\r\n0"):
        block = client.recv(4_096)
        if not block:
            return False
        got += block
    return got.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("tls", [False, True])
def test_two_thousand_unfinished_connections_stop_nobody(many: Any, tls: bool, certificate: tuple[Path, Path]) -> None:
    # Time-outs that no machine reaches here, however busy: nobody makes room but the server, and a newcomer who waits for a
    # stranger's time-out waits for all of it.
    with serving(tls=certificate if tls else None, HEADERS_S=LONG_S, BODY_S=LONG_S) as running:
        many(running, 2_000)
        waits = [running.ask(within_s=LONG_S) for _ in range(5)]
        assert max(waits) < LONG_S / 2
        assert running.busy_share(2) < 0.5
        assert running.process.num_fds() < FILES


def test_an_error_of_the_server_itself_is_said() -> None:
    with pytest.raises(AssertionError, match="an error of ours"), serving() as running:
        assert httpx2.get(f"http://127.0.0.1:{running.port}/broken", trust_env=False).status_code == 500


def test_who_has_asked_before_is_not_ended_for_a_stranger(many: Any) -> None:
    with serving() as running:
        client = running.connect(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert answered(client)
        many(running, 1_500)
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert answered(client)


@pytest.mark.parametrize("sent", [*HALF, b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade\r\nX: "])
def test_who_never_finishes_asking_is_ended(sent: bytes) -> None:
    with serving(HEADERS_S=1, BODY_S=1) as running, closing(running.connect(sent)) as client:
        assert ended(client, SLOW_S)
        running.ask()


@pytest.mark.parametrize("sent", HALF[1:])
def test_a_byte_now_and_then_is_no_progress(sent: bytes) -> None:
    with serving(HEADERS_S=2, BODY_S=2) as running, closing(running.connect(sent)) as client:
        until = time.monotonic() + SLOW_S
        with suppress(OSError):
            while time.monotonic() < until:
                client.sendall(b"a")
                time.sleep(0.2)
        assert time.monotonic() < until


def test_a_later_request_has_the_same_time() -> None:
    with serving(HEADERS_S=1) as running, closing(running.connect(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")) as client:
        assert answered(client)
        time.sleep(3)
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT")
        assert answered(client), "a person thinks longer than a request may take"
        assert ended(client, SLOW_S)


def test_a_handshake_that_never_ends_is_ended(certificate: tuple[Path, Path]) -> None:
    with serving(tls=certificate, HEADERS_S=1) as running, closing(running.connect(b"\x16\x03\x01")) as client:
        assert ended(client, SLOW_S)


def test_who_reads_nothing_of_an_answer_is_ended_and_who_reads_slowly_is_not() -> None:
    with serving(READING_S=2) as running:
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.connect(("127.0.0.1", running.port))
        deaf.sendall(b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
        slow = running.connect(b"GET /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        received, until = 0, time.monotonic() + 4
        while time.monotonic() < until:
            received += len(slow.recv(131_072))
            time.sleep(0.05)
        while block := slow.recv(1 << 20):
            received += len(block)
        assert received > 400 * 65_536
        sent = 0
        with suppress(OSError):
            while block := deaf.recv(1 << 20):
                sent += len(block)
        assert sent < 400 * 65_536


def test_a_proxy_may_have_more_connections_than_one_address(many: Any) -> None:
    answer = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    left = []
    for proxy in (True, False):
        with serving(proxy=proxy, files=4_000) as running:
            clients = many(running, 600, (answer,))[-600:]
            time.sleep(2)
            left.append(sum(not ended_now(client) for client in clients))
    assert left[0] == 600
    assert left[1] <= 400


def ended_now(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        while client.recv(65_536):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-a: " + b"b" * 200_000,
        b"GET / HTTP/1.1\r\n" + b"X-a: b\r\n" * 40_000,
        b"GET /" + b"a" * 200_000,
    ],
)
def test_huge_headers_are_refused(sent: bytes) -> None:
    with serving() as running, closing(socket.create_connection(("127.0.0.1", running.port))) as client:
        with suppress(OSError):
            client.sendall(sent)
        assert ended(client, SLOW_S)
        running.ask()


def test_a_thousand_requests_in_one_piece_are_answered_in_turn() -> None:
    asked = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 999 + b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with serving() as running, closing(running.connect()) as client:
        client.sendall(asked)
        got = b""
        while block := client.recv(1 << 20):
            got += block
        assert got.count(b"200 OK") == 1_000


def test_an_unencrypted_word_to_a_secure_server_breaks_nothing(certificate: tuple[Path, Path]) -> None:
    with serving(tls=certificate) as running, closing(running.connect(b"GET / HTTP/1.1\r\n\r\n")) as client:
        assert ended(client, SLOW_S)
        running.ask()
        context = ssl.create_default_context(cafile=str(certificate[0]))
        with (
            socket.create_connection(("127.0.0.1", running.port)) as raw,
            context.wrap_socket(raw, server_hostname="localhost"),
        ):
            pass
        running.ask()
