"""Servers over real HTTP in a thread of the test's own process: what each says is its test's, the rest is the same."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """A request and its answer; nothing of them on the terminal."""

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self.send_error(404)

    def asked(self) -> Any:
        """The object in the request's body."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def begin(self, status: int = 200, kind: str = "text/event-stream", /, **headers: str) -> None:
        """The head of an answer, whose end is that of the connection."""
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def answer(self, status: int, body: object, **headers: str) -> None:
        """A whole answer: an object as JSON, or bytes as they are."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.begin(status, "application/json", Content_Length=str(len(raw)), **headers)
        self.wfile.write(raw)


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server whose requests the handler takes, without a slash at its end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(timeout=10)
