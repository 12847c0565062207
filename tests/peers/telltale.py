"""An agent that says a file of secrets wherever an agent can speak: output, marks, transcripts, spans, metrics, goodbyes.

`python telltale.py FILE`: a JSON list of texts. Session n hangs up with text n as its reason, as far as the frame has room.
"""

import asyncio
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from websockets.asyncio.server import ServerConnection, serve
from wires import RawPcmPeer

MOST_IN_REASON = 123
"""Bytes that a closing frame has room for (RFC 6455, section 5.5)."""
TEXTS: list[str] = json.loads(Path(sys.argv[1]).read_text())
KEPT = "gen_ai.request.model"
"""An attribute of spans that the harness stores."""


class Metrics(BaseHTTPRequestHandler):
    """A page of a model server with secrets as labels."""

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""

    def do_GET(self) -> None:
        rows = [f'vllm:num_requests_running{{model_name={json.dumps(text)},engine="{k}"}} 1' for k, text in enumerate(TEXTS)]
        page = "\n".join(["# TYPE vllm:num_requests_running gauge", *rows, *TEXTS, ""]).encode()
        self.send_response(200 if self.path == "/metrics" else 404, TEXTS[0])
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


def in_log() -> None:
    """Each text on both outputs, in pieces of seven bytes."""
    raw = "".join(f"could not sign in with {text}\n" for text in TEXTS).encode()
    for out in (1, 2):
        for k in range(0, len(raw), 7):
            os.write(out, raw[k : k + 7])


def send_spans() -> None:
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if endpoint is None:
        return
    message = ExportTraceServiceRequest()
    spans = message.resource_spans.add().scope_spans.add().spans
    now_ns = time.time_ns()
    for text in TEXTS:
        for before in ("", "x" * 30, "x" * 70):
            span = spans.add(name=f"{before} {text}", start_time_unix_nano=now_ns - 1_000_000, end_time_unix_nano=now_ns)
            span.attributes.add(key=KEPT).value.string_value = f"{before} {text}"
            span.attributes.add(key=text).value.string_value = text
    given = os.environ["OTEL_EXPORTER_OTLP_HEADERS"].split(",")
    headers = {
        "Content-Type": "application/x-protobuf",
        **{name: value for name, _, value in (each.partition("=") for each in given)},
    }
    urlopen(Request(f"{endpoint}/v1/traces", message.SerializeToString(), headers), timeout=10).close()


async def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    in_log()
    sessions = iter(range(1_000_000))

    async def session(socket: ServerConnection) -> None:
        number = next(sessions)
        peer = RawPcmPeer(socket)
        await peer.greet()
        for text in TEXTS:
            await peer.mark(f"told {text}", why=text, **{text: [text]})
            await peer.transcript("assistant", f"I would say {text} to you.")
            await peer.transcript("user", text)
        await asyncio.to_thread(send_spans)
        heard = 0
        async for _ in peer.hear():
            heard += 1
            if heard == 100:
                break
        await peer.speak(bytes(6_400))
        await socket.close(1011, f"no: {TEXTS[number % len(TEXTS)]}".encode()[:MOST_IN_REASON].decode())

    async with serve(session, "127.0.0.1", 0, compression=None) as listening:
        port = listening.sockets[0].getsockname()[1]
        ready = {
            "event": "ready",
            "url": f"ws://127.0.0.1:{port}/ws",
            "metrics": f"http://127.0.0.1:{server.server_port}/metrics",
        }
        print(json.dumps(ready), flush=True)
        await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
