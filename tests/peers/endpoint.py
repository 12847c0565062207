"""A chat endpoint of known behaviour in a process of its own: it judges, or answers as an agent would.

`python endpoint.py LOG [--better FILE] [--behaviour B] [--after N]` prints its address when it is ready. Each question is a
line of LOG, written once its answer has left: `{"run", "to", "asked"}`. Under `/NAME/v1` it keeps the questions of several
runs apart. As a judge it prefers what stands in FILE (a JSON list of replies), else the longer reply. After N questions as a
judge it `dies`, `hangs`, answers `rubbish`, or `floods`; as an agent it floods too, where that is its behaviour.
"""

import argparse
import hashlib
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

BEHAVIOURS = ("answers", "dies", "hangs", "rubbish", "floods")


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    options: ClassVar[argparse.Namespace]
    better: ClassVar[frozenset[str]]
    judged: ClassVar[int] = 0
    gate: ClassVar[threading.Lock] = threading.Lock()

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""

    def do_GET(self) -> None:
        self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked: dict[str, Any] = json.loads(body)
        to = "agent" if asked.get("stream") else "judge"
        if to == "agent" and self.options.behaviour == "floods":
            self.flood()
        if to == "judge":
            with self.gate:
                type(self).judged += 1
            if self.judged > self.options.after and self.options.behaviour != "answers":
                self.misbehave()
                return
        time.sleep(self.options.delay_s)
        if to == "agent":
            self.say(asked)
        else:
            self.send(json.dumps(_envelope(json.dumps(self.verdict(asked)))).encode())
        self.wfile.flush()
        line = {"run": self.path.split("/")[1], "to": to, "asked": hashlib.sha256(body).hexdigest()[:20]}
        with self.gate, open(self.options.log, "a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")

    def misbehave(self) -> None:
        match self.options.behaviour:
            case "dies":
                os._exit(9)
            case "hangs":
                time.sleep(3_600)
            case "rubbish":
                self.send(b"\x00\xffnot what was asked for")
            case "floods":
                self.flood()

    def flood(self) -> None:
        self.send_response(200)
        self.end_headers()
        part = b'data: {"choices": [{"index": 0, "delta": {"content": "well "}}]}\n\n' * 500
        try:
            while True:
                self.wfile.write(part)
        except ConnectionError:
            self.close_connection = True
            sys.exit()  # of this request's thread

    def verdict(self, asked: dict[str, Any]) -> dict[str, Any]:
        prompt = asked["messages"][-1]["content"]
        shown = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
        known = [letter for letter in "AB" if shown[f"reply_{letter}"] in self.better]
        longer = "A" if len(shown["reply_A"]) >= len(shown["reply_B"]) else "B"
        axes = dict.fromkeys("HEART")
        return {"rationale": "by rule", "winner": known[0] if len(known) == 1 else longer, "strength": 3, "axes": axes}

    def say(self, asked: dict[str, Any]) -> None:
        """A streamed answer that depends on the question alone."""
        last = asked["messages"][-1]["content"]
        words = f"You told me: {last} What weighs most on you tonight?"
        parts = [{"choices": [{"index": 0, "delta": {"content": word + " "}}]} for word in words.split()]
        self.send(
            b"".join(f"data: {json.dumps(part)}\n\n".encode() for part in parts) + b"data: [DONE]\n\n", "text/event-stream"
        )

    def send(self, body: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    """Of five, as by default, a sixth connection at once waits a second for its handshake."""


def _envelope(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}], "usage": {}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--better")
    parser.add_argument("--behaviour", choices=BEHAVIOURS, default="answers")
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay-s", type=float, default=0.0)
    Endpoint.options = parser.parse_args()
    better = Endpoint.options.better
    Endpoint.better = frozenset(json.loads(Path(better).read_text(encoding="utf-8"))) if better else frozenset()
    server = Server(("127.0.0.1", Endpoint.options.port), Endpoint)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
