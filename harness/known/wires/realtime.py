"""Known agents on the OpenAI Realtime protocol.

It says nothing of its caller's turns: by `input_audio_buffer.speech_started` a client would drop what it has not played, and an
agent that yields could no longer be known from one that does not.

Source: OpenAI's reference of Realtime client and server events.
"""

import base64
import json
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from websockets.asyncio.server import ServerConnection

from harness.audio.pcm import Int16
from harness.known.conduct import Message as Sound
from harness.known.server import Calls, Ready
from harness.known.wires.sockets import Message, begin, converse, pcm, samples_of, serve_sockets

RATE_HZ: Final = 24_000


async def serve(_wire: str, calls: Calls, host: str, port: int, ready: Ready) -> None:
    """Serve OpenAI's Realtime protocol, at the path that its clients know."""
    await serve_sockets(_session, calls, host, port, ready, "/v1/realtime")


async def _session(socket: ServerConnection, calls: Calls) -> None:
    """A session: settings and conversation so far are acknowledged, sound is base64 in JSON, each reply a response."""
    events, reply, turn, speaking, answers = count(1), 0, 0, False, False

    def event(kind: str, **more: Any) -> str:
        return json.dumps({"type": kind, "event_id": f"event_{next(events)}", **more})

    def response(kind: str, status: str) -> str:
        told = {"id": f"resp_{reply}", "object": "realtime.response", "status": status, "output": []}
        return event(f"response.{kind}", response=told)

    def item(kind: str, status: str) -> str:
        said = {"id": f"item_{reply}", "object": "realtime.item", "type": "message", "role": "assistant", "content": []}
        return event(
            f"response.output_item.{kind}", response_id=f"resp_{reply}", output_index=0, item={**said, "status": status}
        )

    def says(sound: Sound) -> Iterator[str]:
        nonlocal reply, turn, speaking, answers
        if speaking and sound.turn > turn:
            speaking = False
            yield response("done", "cancelled")
        turn = max(turn, sound.turn)
        if not speaking:
            speaking, answers, reply = True, False, reply + 1
            yield response("created", "in_progress")
            yield item("added", "in_progress")
        place = {"response_id": f"resp_{reply}", "item_id": f"item_{reply}", "output_index": 0, "content_index": 0}
        delta = base64.b64encode(pcm(sound.samples, mistake)).decode()
        yield event("response.output_audio.delta", **place, delta=delta)
        answers = answers or "answer" in dict(sound.marks)
        # What only precedes the answer to a turn is of its response.
        if sound.ends and (answers or not sound.turn):
            speaking = False
            yield event("response.output_audio.done", **place)
            yield item("done", "completed")
            yield response("done", "completed")

    def hears(message: Message) -> Int16 | str | None:
        said = json.loads(message)
        match said["type"]:
            case "input_audio_buffer.append":
                return samples_of(base64.b64decode(said["audio"]))
            case "session.update":
                return event("session.updated", session=said["session"])
            case "conversation.item.create":
                return event(
                    "conversation.item.added", previous_item_id=None, item={"id": f"item_c{next(events)}", **said["item"]}
                )
        return None

    await socket.send(event("session.created", session={"type": "realtime"}))
    conduct = begin(socket, calls, RATE_HZ, RATE_HZ)
    mistake = conduct.behaviour.mistake
    await converse(socket, calls, conduct, says, hears)
