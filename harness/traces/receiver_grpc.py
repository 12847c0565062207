"""The receiver's gRPC server, on the same port, for agents whose exporter uses gRPC instead of HTTP.

Both of OpenTelemetry's exporters read their address from the same variable, so one address has to serve both: a connection that
begins as HTTP/2 is forwarded to this server, any other stays with `harness.traces.receiver`. A gRPC path has no room for the
agent's name; it is sent as a header. Without grpcio (extra `traces`) spans over gRPC are not received.
"""

import contextlib
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, Final

AGENT_HEADER: Final = "x-harness-agent"
TOKEN_HEADER: Final = "x-harness-token"
_SERVICE: Final = "opentelemetry.proto.collector.trace.v1.TraceService"
_METHOD: Final = "Export"
EXPORT: Final = f"/{_SERVICE}/{_METHOD}"
PREFACE: Final = b"PRI * HTTP/2.0"
"""First bytes of an HTTP/2 connection whose client knows beforehand that it is one (RFC 9113, section 3.4)."""
_WORKERS: Final = 4
_CHUNK: Final = 65_536

Take = Callable[[str, bytes], None]
"""Called with the agent's name and one message; raises ValueError if the message is not OTLP."""
Knows = Callable[[str, str], bool]
"""Called with an agent's name and a token; True if the token is that agent's."""


def available() -> bool:
    """True if grpcio is installed."""
    return find_spec("grpc") is not None


class GrpcSpans:
    """A gRPC server on a separate port of this machine."""

    def __init__(self, take: Take, knows: Knows, most_bytes: int) -> None:
        import grpc

        def export(message: bytes, context: Any) -> bytes:
            named = dict(context.invocation_metadata())
            agent = str(named.get(AGENT_HEADER, ""))
            if not knows(agent, str(named.get(TOKEN_HEADER, ""))):
                context.abort(grpc.StatusCode.UNAUTHENTICATED, f"no {TOKEN_HEADER} of this run's agent")
            try:
                take(agent, message)
            except ValueError as error:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            # An empty ExportTraceServiceResponse means that everything was accepted.
            return b""

        methods = {_METHOD: grpc.unary_unary_rpc_method_handler(export)}
        options = (("grpc.max_receive_message_length", most_bytes), ("grpc.so_reuseport", 0))
        self._server = grpc.server(
            ThreadPoolExecutor(_WORKERS), handlers=[grpc.method_handlers_generic_handler(_SERVICE, methods)], options=options
        )
        self.port: int = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def close(self) -> None:
        """Stop, without waiting for clients that still send."""
        self._server.stop(None)


def begins_as_http2(connection: socket.socket, timeout_s: float = 5.0) -> bool:
    """True if a client speaks HTTP/2, by its first bytes, which stay unread."""
    connection.settimeout(timeout_s)
    try:
        return connection.recv(len(PREFACE), socket.MSG_PEEK) == PREFACE
    except OSError:
        return False
    finally:
        connection.settimeout(None)


def handed_on(client: socket.socket, port: int) -> None:
    """Forward a connection to a port of this machine, in both directions, until either side ends it."""
    with socket.create_connection(("127.0.0.1", port)) as server:
        back = threading.Thread(target=_carry, args=(server, client), name="spans-back", daemon=True)
        back.start()
        _carry(client, server)
        back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(_CHUNK):
            sink.sendall(part)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
