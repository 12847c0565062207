"""A server of the OpenAI Realtime protocol, made of `openai.types.realtime`."""

import asyncio
import base64
from http import HTTPStatus
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from openai.types.realtime import RealtimeServerEvent
from openai.types.realtime.realtime_client_event_param import RealtimeClientEventParam
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from tests.vendors.answering import Answer, as_json, is_wrong, main
from tests.vendors.openai_types import Types

RATE_HZ, THINKS_S = 24_000, 0.06
TYPES = Types(RealtimeClientEventParam, RealtimeServerEvent)
QUOTA = "You exceeded your current quota, please check your plan and billing details."
BETA = "The Realtime Beta API is no longer supported. Please use /v1/realtime for the GA API."
NO_MODEL = "The model `gpt-realtime-9` does not exist or you do not have access to it."
REGION = "Country, region, or territory not supported"
WORDS = "That sounds really hard."
REFUSALS: dict[str, tuple[HTTPStatus, str, str]] = {
    "wrong-key": (HTTPStatus.UNAUTHORIZED, "invalid_api_key", "Incorrect API key provided."),
    "quota": (HTTPStatus.TOO_MANY_REQUESTS, "insufficient_quota", QUOTA),
    "region": (HTTPStatus.FORBIDDEN, "unsupported_country_region_territory", REGION),
}
BEHAVIOURS = (*REFUSALS, "no-model", "quota-in-call", "drops", "slow", "waits", "calls", "unknown-setting")


class Session:
    """One call."""

    def __init__(self, socket: ServerConnection, answer: Answer, behaviour: str) -> None:
        self.socket, self.answer, self.behaviour = socket, answer, behaviour
        self.ids = count(1)
        self.detects = True
        self.heard = False
        self.outputs: list[str] = []

    async def tell(self, kind: str, **fields: Any) -> None:
        await self.socket.send(TYPES.write(kind, event_id=f"event_{next(self.ids)}", **fields))

    async def refuse(self, code: str, message: str, close: bool = True) -> None:
        await self.tell("error", error={"type": "invalid_request_error", "code": code, "message": message})
        if close:
            await self.socket.close(4000, f"invalid_request_error.{code}")

    async def run(self) -> None:
        assert self.socket.request is not None
        beta = "OpenAI-Beta" in self.socket.request.headers
        if beta or self.behaviour == "no-model":
            await self.refuse(*(("beta_api_shape_disabled", BETA) if beta else ("model_not_found", NO_MODEL)))
            return
        if self.behaviour == "slow":
            await asyncio.sleep(1.2)
        if self.behaviour != "waits":
            await self.tell("session.created", session={"type": "realtime"})
        async for message in self.socket:
            await self.take(TYPES.read(message))

    async def take(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "session.update":
                session = event["session"]
                if self.behaviour == "unknown-setting":
                    await self.refuse("unknown_parameter", "Unknown parameter: 'session.reasoning'.", close=False)
                    return
                heard, said = session["audio"]["input"], session["audio"]["output"]
                assert heard["format"] == said["format"] == {"type": "audio/pcm", "rate": RATE_HZ}
                self.detects = heard["turn_detection"] is not None
                await self.tell("session.updated", session=session)
            case "conversation.item.create":
                item = event["item"]
                if item["type"] == "function_call_output":
                    self.outputs.append(item["output"])
                await self.tell("conversation.item.added", previous_item_id=None, item={"id": "item_9", **item})
            case "input_audio_buffer.append":
                if self.answer.hears(base64.b64decode(event["audio"], validate=True)) and self.detects:
                    await self.detect()
                    await self.respond()
            case "input_audio_buffer.commit":
                await self.tell("input_audio_buffer.committed", item_id="item_user", previous_item_id=None)
                self.heard = True
            case "response.create":
                assert self.heard or self.outputs
                await self.respond()

    async def detect(self) -> None:
        await self.tell("input_audio_buffer.speech_started", audio_start_ms=0, item_id="item_user")
        await self.tell("input_audio_buffer.speech_stopped", audio_end_ms=1, item_id="item_user")
        await self.tell(
            "conversation.item.input_audio_transcription.completed", item_id="item_user", content_index=0,
            transcript="I lost my job.", usage={"type": "duration", "seconds": 1.0},
        )  # fmt: skip

    async def respond(self) -> None:
        response: dict[str, Any] = {"id": "resp_1", "object": "realtime.response", "output": []}
        place = {"response_id": "resp_1", "item_id": "item_2", "output_index": 0, "content_index": 0}
        await self.tell("response.created", response={**response, "status": "in_progress"})
        if self.behaviour == "quota-in-call":
            error = {"type": "insufficient_quota", "code": "insufficient_quota"}
            failed = {**response, "status": "failed", "status_details": {"type": "failed", "error": error}}
            await self.tell("response.done", response=failed)
            return
        if self.behaviour == "calls" and not self.outputs:
            call = {"type": "function_call", "id": "item_1", "call_id": "call_1", "name": "mood_of", "arguments": "{}"}
            done = {**response, "status": "completed", "output": [call]}
            await self.tell("response.done", response=done)
            return
        await asyncio.sleep(THINKS_S)
        words = self.outputs[0] if self.outputs else WORDS
        await self.tell("response.output_audio_transcript.delta", **place, delta=words)
        sent = 0
        async for piece in self.answer.pieces():
            await self.tell("response.output_audio.delta", **place, delta=base64.b64encode(piece).decode())
            sent += 1
            if self.behaviour == "drops" and sent == 4:
                await self.socket.close(1011, "the server is overloaded")
                return
        await self.tell("response.output_audio_transcript.done", **place, transcript=words)
        await self.tell("response.done", response={**response, "status": "completed"})


def gate(socket: ServerConnection, request: Request, behaviour: str) -> Response | None:
    """Refuse a call as OpenAI does: its error in the body of the answer."""
    if urlsplit(request.path).path != "/v1/realtime":
        return socket.respond(HTTPStatus.NOT_FOUND, "")
    wrong = is_wrong(request.headers, "Authorization", "Bearer {}")
    return refused(REFUSALS["wrong-key" if wrong else behaviour]) if wrong or behaviour in REFUSALS else None


def refused(refusal: tuple[HTTPStatus, str, str]) -> Response:
    """The answer with an error in its body."""
    status, code, message = refusal
    return as_json(status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}})


async def session(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """Answer one caller."""
    await Session(socket, answer, behaviour).run()


if __name__ == "__main__":
    main(session, RATE_HZ, BEHAVIOURS, gate, "/v1/realtime")
