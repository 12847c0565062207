"""A receiver (OTLP over HTTP and gRPC, this machine only) for spans of the agents that the harness starts.

Agents get the address from the exporters' usual environment variables, a separate one for each agent. Of a span only its name,
times and a few numbers are stored: attributes contain prompts and replies, which belong in no file of a run. Wall-clock time is
converted to the monotonic clock on receipt: exact on one machine, as long as nobody sets its clock. Every program of the
machine can reach the port, so each agent gets a token of its own, and spans without it are refused (401, UNAUTHENTICATED).
"""

import hmac
import logging
import secrets
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import unquote

from harness.agents.secrets import beginning, learn
from harness.recording.spans import KEPT_ATTRIBUTES, Span
from harness.traces import receiver_grpc as span_grpc
from harness.traces.receiver_grpc import GrpcSpans, begins_as_http2, handed_on

_log = logging.getLogger(__name__)

MOST_BYTES: Final = 16 * 1024 * 1024
"""Most bytes of one message, decompressed: an exporter sends at most 512 spans at a time."""
MOST_SPANS: Final = 200_000
"""Most spans of one agent in a run; later ones are ignored."""
_DELAY_MS: Final = 500
"""Interval at which exporters send; a call lasts 2 s beyond the last word, so its spans arrive before its end."""
_PATH: Final = "/agents/"


@dataclass
class _Received:
    lock: threading.Lock = field(default_factory=threading.Lock)
    spans: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Of this receiver; the agents' tokens are made of it."""

    def token(self, agent: str) -> str:
        """The token with which this agent's spans are taken."""
        return hmac.digest(self.key, agent.encode("utf-8", "replace"), "sha256").hex()

    def knows(self, agent: str, token: str) -> bool:
        """True if it is this agent's token."""
        return hmac.compare_digest(self.token(agent).encode(), token.encode("utf-8", "replace"))

    def take(self, agent: str, message: bytes) -> None:
        """Store the spans of one message.

        Raises:
        ValueError: the message is not OTLP.
        """
        found = read_spans(message)
        with self.lock:
            kept = self.spans[agent]
            kept += found[: MOST_SPANS - len(kept)]


class _Server(ThreadingHTTPServer):
    """A server that answers HTTP/1.1 and forwards HTTP/2 connections to the gRPC server, if there is one."""

    daemon_threads = True
    grpc: GrpcSpans | None = None

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        if self.grpc is None or not begins_as_http2(request):
            super().process_request_thread(request, client_address)
            return
        try:
            handed_on(request, self.grpc.port)
        except OSError as error:
            _log.info("a connection for spans broke: %s", error)
        finally:
            self.shutdown_request(request)


class SpanReceiver:
    """The receiver of spans. It listens while it is open; received spans remain available afterwards."""

    def __init__(self) -> None:
        self._received = _Received()
        self._server: _Server | None = None

    def open(self) -> None:
        """Listen on a free port of this machine."""
        received = self._received

        class Handler(_Handler):
            into = received

        self._server = _Server(("127.0.0.1", 0), Handler)
        if span_grpc.available():
            self._server.grpc = GrpcSpans(received.take, received.knows, MOST_BYTES)
        threading.Thread(target=self._server.serve_forever, name="spans", daemon=True).start()

    def close(self) -> None:
        """Stop listening. Safe to call twice."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            if server.grpc is not None:
                server.grpc.close()

    def environment(self, agent: str) -> dict[str, str]:
        """The environment variables with which an agent sends its spans here."""
        if self._server is None:
            return {}
        token = self._received.token(agent)
        learn([token])
        return {
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self._server.server_port}{_PATH}{agent}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_HEADERS": f"{span_grpc.AGENT_HEADER}={agent},{span_grpc.TOKEN_HEADER}={token}",
            "OTEL_BSP_SCHEDULE_DELAY": str(_DELAY_MS),
        }

    def between(self, agent: str, from_ns: int, until_ns: int) -> tuple[Span, ...]:
        """The spans of an agent that began in this interval of the monotonic clock and have arrived."""
        with self._received.lock:
            found = [span for span in self._received.spans.get(agent, ()) if from_ns <= span.start_ns <= until_ns]
        return tuple(sorted(found, key=lambda span: span.start_ns))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    into: _Received

    def log_message(self, *_: object) -> None:
        """Print nothing on the terminal."""

    def do_POST(self) -> None:
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            length = -1
        if not 0 <= length <= MOST_BYTES:
            self._answer(413)
            return
        body = self.rfile.read(length)
        agent, signal = self._place()
        if signal and not self.into.knows(agent, self.headers.get(span_grpc.TOKEN_HEADER, "")):
            self._answer(401)
            return
        if signal == "traces" and self.headers.get("Content-Type", "").startswith("application/x-protobuf"):
            try:
                self.into.take(agent, _unpacked(body, self.headers.get("Content-Encoding", "")))
            except ValueError:
                self._answer(400)
                return
            self._answer(200)
        else:
            # Metrics and logs are accepted and dropped; JSON was not requested.
            self._answer(200 if signal in ("metrics", "logs") else 415 if signal else 404)

    def _place(self) -> tuple[str, str]:
        """The agent and its kind of signal, from the path `/agents/NAME/v1/traces`."""
        parts = self.path.split("?")[0].split("/")
        if len(parts) == 5 and parts[1] == "agents" and parts[3] == "v1":
            return unquote(parts[2]), parts[4]
        return "", ""

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()


def read_spans(message: bytes, now_ns: int | None = None) -> list[Span]:
    """The spans of one `ExportTraceServiceRequest`, on the monotonic clock.

    Raises:
    ValueError: the message is not one.
    """
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    ahead_ns = time.time_ns() - time.monotonic_ns() if now_ns is None else now_ns
    try:
        request = ExportTraceServiceRequest.FromString(message)
    except DecodeError as error:
        raise ValueError("no OTLP message") from error
    return [
        Span(
            beginning(span.name, 80),
            span.start_time_unix_nano - ahead_ns,
            span.end_time_unix_nano - ahead_ns,
            _kept(span.attributes),
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
        if 0 < span.start_time_unix_nano <= span.end_time_unix_nano
    ]


def _kept(attributes: Sequence[Any]) -> Mapping[str, str | float]:
    return dict(_values(attributes))


def _values(attributes: Sequence[Any]) -> Iterator[tuple[str, str | float]]:
    for attribute in attributes:
        if attribute.key in KEPT_ATTRIBUTES:
            match attribute.value.WhichOneof("value"):
                case "double_value":
                    yield attribute.key, float(attribute.value.double_value)
                case "int_value":
                    yield attribute.key, float(attribute.value.int_value)
                case "string_value":
                    yield attribute.key, beginning(attribute.value.string_value, 40)


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise ValueError(f"packed as {beginning(encoding, 20)}")
    unpacker = zlib.decompressobj(wbits=47)
    try:
        whole = unpacker.decompress(body, MOST_BYTES)
    except zlib.error as error:
        raise ValueError("not packed as it says") from error
    if unpacker.unconsumed_tail:
        raise ValueError("more than a message holds")
    return whole
