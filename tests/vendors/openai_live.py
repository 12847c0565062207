"""A full-duplex server of OpenAI's live sessions, made of `openai.types.live`: it sends sound every 80 ms, silence too."""

import asyncio
import base64
import time
from http import HTTPStatus
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from openai.types.live import ServerEvent
from openai.types.live.client_event_param import ClientEventParam
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from tests.vendors.answering import Answer, is_wrong, main
from tests.vendors.openai_realtime import NO_MODEL, QUOTA, REFUSALS, refused
from tests.vendors.openai_types import Types

RATE_HZ, CADENCE_S, THINKS_S = 24_000, 0.08, 0.3
PIECE = round(RATE_HZ * CADENCE_S) * 2
TYPES = Types(ClientEventParam, ServerEvent)
HEARD = ("I los", "t my job", ".")
SAID = ("That sou", "nds really", " hard.")
BEHAVIOURS = (*REFUSALS, "no-model", "no-credit", "drops", "slow", "waits", "realtime", "filter", "asks-caller", "calls")


class Session:
    """One call."""

    def __init__(self, socket: ServerConnection, answer: Answer, behaviour: str) -> None:
        self.socket, self.answer, self.behaviour = socket, answer, behaviour
        self.ids = count(1)
        self.resource: dict[str, Any] = {"id": "live_1", "expires_at": 1_900_000_000, "status": "active"}
        self.answers_at_s: float | None = None
        self.outputs: list[str] = []
        self.began_s = time.monotonic()

    async def tell(self, kind: str, **fields: Any) -> None:
        own = {} if kind == "session.output_audio.delta" else {"event_id": f"event_{next(self.ids)}"}
        await self.socket.send(TYPES.write(kind, **own, **fields))

    async def run(self) -> None:
        if self.behaviour == "realtime":
            await self.socket.send('{"type": "session.created", "event_id": "event_0", "session": {"type": "realtime"}}')
        start = TYPES.read(await self.socket.recv())
        assert start["type"] == "session.start"
        if self.behaviour in ("no-model", "no-credit"):
            code, message = ("model_not_found", NO_MODEL) if self.behaviour == "no-model" else ("insufficient_quota", QUOTA)
            await self.tell("error", error={"type": "invalid_request_error", "code": code, "message": message})
            return
        if self.behaviour == "waits":
            await self.socket.wait_closed()
        if self.behaviour == "slow":
            await asyncio.sleep(1.2)
        assert start["session"]["audio"]["format"] == {"type": "audio/pcm", "rate": RATE_HZ}
        self.resource |= start["session"]
        await self.tell("session.started", session=self.resource)
        speaking = asyncio.create_task(self.speak())
        try:
            async for event in self.socket:
                await self.take(TYPES.read(event))
        finally:
            speaking.cancel()
            await asyncio.gather(speaking, return_exceptions=True)

    async def take(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "session.input_audio.append":
                if self.answer.hears(base64.b64decode(event["audio"], validate=True)):
                    await self.heard()
            case "session.commentary.append":
                assert event["delegation_id"] == "del_1"
                self.outputs.append(event["content"])
                self.answers_at_s = time.monotonic()
            case "response.item.create":
                self.outputs.append(event["item"]["output"])
            case "response.create":
                assert self.outputs, "no function was answered"
                await self.backend("response.completed", response={})
                self.answers_at_s = time.monotonic()
            case "session.close":
                usage = {"seconds": time.monotonic() - self.began_s}
                await self.tell("session.closed", reason="close_requested", session=self.resource, usage=usage)
                await self.socket.close()

    async def heard(self) -> None:
        await self.fragments("input", HEARD)
        if self.behaviour == "filter":
            await self.tell("session.closed", reason="content", session=self.resource, usage={"seconds": 2.0})
            await self.socket.close()
        elif self.behaviour in ("asks-caller", "calls"):
            target = "client" if self.behaviour == "asks-caller" else "responses"
            delegation = {"id": "del_1", "type": "delegation", "target": target}
            await self.tell("session.delegation.created", delegation=delegation, offset_ms=2_000)
            if target == "responses":
                names = [tool["name"] for tool in self.resource["delegation"]["responses"]["tools"]]
                call = {
                    "type": "function_call",
                    "call_id": "call_1",
                    "name": names[0],
                    "arguments": "{}",
                    "status": "completed",
                }
                await self.backend("response.output_item.done", item=call)
                await self.backend("response.completed", response={})
        else:
            self.answers_at_s = time.monotonic() + THINKS_S

    async def backend(self, kind: str, **fields: Any) -> None:
        await self.tell("response.event", delegation_id="del_1", event={"type": kind, **fields})

    async def fragments(self, side: str, texts: tuple[str, ...]) -> None:
        at_ms = round((time.monotonic() - self.began_s) * 1000)
        for text in texts:
            await self.tell(f"session.{side}_transcript.delta", delta=text, start_ms=at_ms, end_ms=at_ms + 200)

    async def speak(self) -> None:
        """Send the stream; the answer begins with a piece of its own, when it is due."""
        began_s, at, sent = time.monotonic(), 0, 0
        while True:
            await asyncio.sleep(began_s + sent * CADENCE_S - time.monotonic())
            sent += 1
            piece = bytes(PIECE)
            if self.answers_at_s is not None and time.monotonic() >= self.answers_at_s and at < len(self.answer.pcm):
                piece = self.answer.pcm[at : at + PIECE].ljust(PIECE, b"\0")
                if at == 0:
                    self.answer.truth.sent_ns = time.monotonic_ns()
                at += PIECE
            await self.tell("session.output_audio.delta", delta=base64.b64encode(piece).decode())
            if at == PIECE:
                await self.fragments("output", tuple(self.outputs) or SAID)
            if self.behaviour == "drops" and at > 8 * PIECE:
                await self.socket.close(1011, "the server is overloaded")


def gate(socket: ServerConnection, request: Request, behaviour: str) -> Response | None:
    """Refuse a call as OpenAI does: its error in the body of the answer."""
    if urlsplit(request.path).path != "/v1/live/sessions" or urlsplit(request.path).query:
        return socket.respond(HTTPStatus.NOT_FOUND, "")
    wrong = is_wrong(request.headers, "Authorization", "Bearer {}")
    return refused(REFUSALS["wrong-key" if wrong else behaviour]) if wrong or behaviour in REFUSALS else None


async def session(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """Answer one caller."""
    await Session(socket, answer, behaviour).run()


if __name__ == "__main__":
    main(session, RATE_HZ, BEHAVIOURS, gate, "/v1/live/sessions")
