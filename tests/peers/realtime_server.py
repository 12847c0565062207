"""A server of the OpenAI Realtime protocol that says the caller's words back, held to OpenAI's own types both ways.

Every event that comes in must be one of the client events of the `openai` package, and every event that goes out one of its
server events, so that neither side of a test can drift from the protocol together with the other.
"""

import asyncio
import base64
import json
import os
import sys
from http import HTTPStatus
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from openai.types.realtime import RealtimeServerEvent
from openai.types.realtime.realtime_client_event_param import RealtimeClientEventParam
from pydantic import TypeAdapter
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

RATE_HZ, LOUD, DELTA = 24_000, 200, 24_000
CLIENT: TypeAdapter[Any] = TypeAdapter(RealtimeClientEventParam)
SERVER: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)


class Session:
    def __init__(self, socket: ServerConnection) -> None:
        self.socket, self.ids = socket, count(1)
        self.silence_ms, self.heard_samples, self.silent_samples = 0, 0, 0
        self.said = bytearray()
        self.speaking: asyncio.Task[None] | None = None

    async def tell(self, kind: str, **fields: Any) -> None:
        event = {"type": kind, "event_id": f"event_{next(self.ids)}", **fields}
        SERVER.validate_python(event)
        await self.socket.send(json.dumps(event))

    async def run(self) -> None:
        await self.tell("session.created", session={"type": "realtime", "id": "sess_1"})
        async for message in self.socket:
            event = json.loads(message)
            CLIENT.validate_python(event)
            match event["type"]:
                case "session.update":
                    session = event["session"]
                    heard, said = session["audio"]["input"], session["audio"]["output"]
                    assert heard["format"] == said["format"] == {"type": "audio/pcm", "rate": RATE_HZ}
                    assert session["output_modalities"] == ["audio"]
                    assert heard["turn_detection"]["type"] == "server_vad"
                    self.silence_ms = heard["turn_detection"]["silence_duration_ms"]
                    await self.tell("session.updated", session=session)
                case "conversation.item.create":
                    print("history:", event["item"]["role"], event["item"]["content"][0], flush=True)
                    await self.tell("conversation.item.added", previous_item_id=None, item=event["item"])
                    await self.tell("conversation.item.done", previous_item_id=None, item=event["item"])
                case "input_audio_buffer.append":
                    await self.hear(base64.b64decode(event["audio"], validate=True))
                case "conversation.item.truncate":
                    print("truncated at", event["item_id"], event["audio_end_ms"], flush=True)
                case other:
                    await self.tell("error", error={"type": "invalid_request_error", "message": f"no {other} here"})

    async def hear(self, pcm: bytes) -> None:
        samples = len(pcm) // 2
        loud = bool(np.abs(np.frombuffer(pcm, "<i2").astype(int)).max(initial=0) > LOUD)
        if loud and not self.said:
            at_ms = self.heard_samples * 1000 // RATE_HZ
            await self.tell("input_audio_buffer.speech_started", audio_start_ms=at_ms, item_id="item_user")
        self.heard_samples += samples
        self.silent_samples = 0 if loud else self.silent_samples + samples
        if loud or self.said:
            self.said += pcm
        if self.said and self.silent_samples * 1000 >= self.silence_ms * RATE_HZ:
            words, self.said = bytes(self.said), bytearray()
            await self.answer(words)

    async def answer(self, words: bytes) -> None:
        at_ms = self.heard_samples * 1000 // RATE_HZ
        item, place = f"item_{next(self.ids)}", {"output_index": 0, "content_index": 0}
        response = {"id": "resp_1", "object": "realtime.response", "status": "in_progress", "output": []}
        await self.tell("input_audio_buffer.speech_stopped", audio_end_ms=at_ms, item_id="item_user")
        await self.tell("input_audio_buffer.committed", item_id="item_user", previous_item_id=None)
        await self.tell(
            "conversation.item.input_audio_transcription.completed",
            item_id="item_user", content_index=0, transcript="my words", usage={"type": "duration", "seconds": 1.0},
        )  # fmt: skip
        await self.tell("response.created", response=response)
        for at in range(0, len(words), DELTA):
            delta = base64.b64encode(words[at : at + DELTA]).decode()
            await self.tell("response.output_audio.delta", response_id="resp_1", item_id=item, **place, delta=delta)
        transcript = {"response_id": "resp_1", "item_id": item, **place, "transcript": "your words"}
        await self.tell("response.output_audio_transcript.done", **transcript)
        await self.tell("response.output_audio.done", response_id="resp_1", item_id=item, **place)
        await self.tell("response.done", response={**response, "status": "completed"})


def door(connection: ServerConnection, request: Request) -> Response | None:
    address = urlsplit(request.path)
    key = os.environ.get("REALTIME_TEST_KEY", "")
    if request.headers.get("Authorization") != f"Bearer {key}":
        return connection.respond(HTTPStatus.UNAUTHORIZED, "no such key")
    if address.path != "/v1/realtime" or parse_qs(address.query).get("model") != ["gpt-realtime"]:
        return connection.respond(HTTPStatus.NOT_FOUND, "no such model")
    return None


async def main() -> None:
    async def session(socket: ServerConnection) -> None:
        await Session(socket).run()

    async with serve(session, "127.0.0.1", int(sys.argv[1]), process_request=door) as server:
        await server.serve_forever()


asyncio.run(main())
