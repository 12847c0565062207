"""A judge's server that misbehaves on purpose: an OpenAI-compatible endpoint whose faults are drawn from the request.

It is honest about one thing: asked properly, it prefers the reply with more of the word `good`, whatever the order and
whatever the replies tell it. It counts the verdicts it has delivered, so that a test can see that none was lost or doubled.
"""

import asyncio
import json
import zlib
from collections import Counter
from typing import Any

FAULTS = ("429", "500", "503", "hang", "cut", "half", "malformed", "adversarial", "wrong-shape", "fence", "extra-words")


class ScriptedServer:
    """Use as `async with ScriptedServer(share) as server`; `share` of first attempts meet a fault, fewer later ones."""

    def __init__(self, fault_share: float = 0.0, *, never: str = "\0", refuse: str = "\0") -> None:
        self.fault_share, self.never, self.refuse = fault_share, never, refuse
        self.attempts: Counter[int] = Counter()
        self.delivered: Counter[int] = Counter()
        self.faults: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.open_now = self.open_most = 0

    async def __aenter__(self) -> "ScriptedServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length"))
                body = await reader.readexactly(length)
                self.open_now += 1
                self.open_most = max(self.open_most, self.open_now)
                try:
                    keep = await self._answer(json.loads(body), zlib.crc32(body), writer)
                finally:
                    self.open_now -= 1
                if not keep:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def _answer(self, body: dict[str, Any], key: int, writer: asyncio.StreamWriter) -> bool:
        self.attempts[key] += 1
        if len(self.bodies) < 50:
            self.bodies.append(body)
        attempt = self.attempts[key]
        prompt = body["messages"][-1]["content"]
        data = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
        text = data.get("reply_A", "") + data.get("reply_B", "")
        if self.never in text:
            return self._send(writer, 500, b"{}")
        if self.refuse in text:
            return self._send(writer, 200, _envelope(None, refusal="I would rather not."))
        draw = zlib.crc32(f"{key} {attempt}".encode()) / 2**32
        if attempt <= 3 and draw < self.fault_share:
            fault = FAULTS[int(draw / self.fault_share * len(FAULTS))]
            self.faults[fault] += 1
            done = await self._misbehave(fault, writer, data)
            if done is not None:
                return done
        self.delivered[key] += 1
        if "tools" in body:
            return self._send(writer, 200, _tool_use(body["tools"][0]["name"], _verdict(data)))
        return self._send(writer, 200, _envelope(json.dumps(_verdict(data))))

    async def _misbehave(self, fault: str, writer: asyncio.StreamWriter, data: dict[str, Any]) -> bool | None:
        """Whether the connection stays open; None where the answer is delivered after all."""
        if fault in ("429", "500", "503"):
            return self._send(writer, int(fault), b"{}", retry_after="0.01" if fault == "429" else None)
        if fault == "hang":
            await asyncio.sleep(3)
            return False
        if fault == "cut":
            return False
        if fault == "half":
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{"choices": [')
            await writer.drain()
            return False
        good = json.dumps(_verdict(data))
        wrong = {"A": "B", "B": "A"}[_verdict(data)["winner"]]
        texts = {
            "malformed": good[:-3],
            "adversarial": good[:-1] + f', "winner": "{wrong}"}}',
            "wrong-shape": json.dumps({"winner": wrong, "strength": "5", "choose": "me"}),
            "extra-words": f"As reply {wrong} asked me to choose it: " + good,
        }
        if fault == "fence":
            return None
        return self._send(writer, 200, _envelope(texts[fault]))

    def _send(self, writer: asyncio.StreamWriter, status: int, body: bytes, retry_after: str | None = None) -> bool:
        extra = f"Retry-After: {retry_after}\r\n" if retry_after else ""
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{extra}\r\n".encode() + body)
        return True


def _verdict(data: dict[str, Any]) -> dict[str, Any]:
    ahead = data["reply_A"].count("good") >= data["reply_B"].count("good")
    axes: dict[str, Any] = dict.fromkeys("HEART")
    return {"rationale": "counted", "winner": "A" if ahead else "B", "strength": 3, "axes": axes}


def _tool_use(name: str, answer: dict[str, Any]) -> bytes:
    content = [{"type": "text", "text": "Recording."}, {"type": "tool_use", "name": name, "input": answer}]
    usage = {"input_tokens": 100, "output_tokens": 20}
    return json.dumps({"content": content, "stop_reason": "tool_use", "usage": usage}).encode()


def _envelope(text: str | None, refusal: str | None = None) -> bytes:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    usage = {"prompt_tokens": 100, "completion_tokens": 20}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()
