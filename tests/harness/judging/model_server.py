"""A judge's server that answers every question by one script, and counts the requests: status and body, or a hang, or a cut.

The bodies have the shapes of the servers' public documentation: OpenAI's errors and refusals, and a reasoning model behind
vLLM, Ollama and llama.cpp.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.judging.validation.labelled import gold_pairs
from tests.http_serving import Handler, serving

Reply = tuple[int, bytes] | Literal["hang", "cut"]
BETTER = frozenset(pair.better for pair in gold_pairs())


@dataclass
class ModelServer:
    """`script` makes the reply to a request from its number (from 1) and the right verdict on its pair, as JSON."""

    script: Callable[[int, str], Reply]
    asked: int = 0
    most_at_once: int = 0
    _now: int = 0
    _gate: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    @contextmanager
    def serving(self) -> Iterator["ModelServer"]:
        with serving(_handler(self)) as url:
            self.url = f"{url}/v1"
            try:
                yield self
            finally:
                self._over.set()

    def reply(self, body: dict[str, Any]) -> Reply:
        with self._gate:
            self.asked += 1
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            number = self.asked
        reply = self.script(number, verdict(body))
        if reply == "hang":
            self._over.wait(5)
        with self._gate:
            self._now -= 1
        return reply


def _handler(model: ModelServer) -> type[Handler]:
    class Scripted(Handler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            reply = model.reply(self.asked())
            if isinstance(reply, str):
                self.close_connection = True
                return
            self.answer(*reply)

    return Scripted


def verdict(body: dict[str, Any], why: str = "known") -> str:
    """The right verdict on the gold pair that was asked about, B on another; empty for a request of another API."""
    if "messages" not in body:
        return ""
    prompt = body["messages"][-1]["content"]
    shown = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
    winner = "A" if shown.get("reply_A") in BETTER else "B"
    return json.dumps({"rationale": why, "winner": winner, "strength": 3, "axes": dict.fromkeys("HEART")})


def chat(content: str | None, *, finish: str = "stop", **message: Any) -> tuple[int, bytes]:
    """A chat completion whose message has these further fields."""
    whole = {"role": "assistant", "content": content, **message}
    choices = [{"index": 0, "message": whole, "finish_reason": finish}]
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return 200, json.dumps({"object": "chat.completion", "model": "m", "choices": choices, "usage": usage}).encode()


def error(status: int, message: str, kind: str = "", code: str | None = None) -> Reply:
    """An error as OpenAI writes it."""
    return status, json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()
