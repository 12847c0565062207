"""A scripted server of ElevenLabs' agents platform.

The caller's first message is parsed by the package's own type, and each of the server's is read by the package's own client
before it is sent, so that a field that they do not know fails.

Behaviours, beside `answers`: `private` (a signed address is needed), `override` (the agent's settings forbid overrides),
`quota` (in the call), `misconfigured`, `greets` (its first message), `ulaw` (8 kHz both ways), `tools` (a client tool is called
before the answer), `drops` (in the reply), `slow` (the metadata takes 0.4 s).
"""

import asyncio
import base64
import json
import sys
import warnings
from http import HTTPStatus
from typing import Any, get_args
from urllib.parse import parse_qs, urlsplit

import numpy as np
from elevenlabs.core.unchecked_base_model import UncheckedBaseModel
from elevenlabs.types import (
    ClientEvent,
    ConversationInitiationClientDataRequestInput,
    ConversationSignedUrlResponseModel,
)
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from harness.audio.pcm import decode, encode
from tests.vendors.answering import Answer, as_json, is_wrong, main

with warnings.catch_warnings():
    # The package names a class of websockets that is deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from elevenlabs.conversational_ai.conversation import BaseConversation, ClientToOrchestratorEvent

PATH = "/v1/convai/conversation"
AGENT = "agent_1"
HEARD = "hello can you hear me"
SAID = "I am listening."
SIGNATURE = "cvtkn_7Hq2mZx9Lw4Tb8Rk"
GOODBYES = {
    "private": (3000, "Could not authorize the conversation, the agent requires authentication."),
    "override": (1008, "Override for field 'first_message' is not allowed by config."),
    "quota": (1002, "This request exceeds your quota limit."),
    "misconfigured": (1002, "The AI agent you are trying to reach appears to be misconfigured."),
}
_EVENTS = get_args(get_args(ClientEvent)[0])


class Client:
    """What the package's client hears: whatever it is given."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_arguments: None


def said(kind: str, **fields: Any) -> str:
    """A message of the server, read by the package's client."""
    assert kind in _EVENTS, kind
    message = {"type": kind, **fields}
    reader: Any = object.__new__(BaseConversation)
    reader._conversation_id, reader._last_interrupt_id = None, 0
    reader._handle_message_core(message, Client())
    return json.dumps(message)


def audio(pcm: bytes, number: int, law: str) -> str:
    """A piece of sound."""
    coded = encode(np.frombuffer(pcm, "<i2"), "ulaw") if law == "ulaw" else pcm
    return said("audio", audio_event={"audio_base_64": base64.b64encode(coded).decode(), "event_id": number})


def knows_all(model: UncheckedBaseModel) -> None:
    """Fail for a field that the package's type, or one inside of it, does not know."""
    assert not model.model_extra, model.model_extra
    for name in type(model).model_fields:
        if isinstance(inner := getattr(model, name), UncheckedBaseModel):
            knows_all(inner)


def opened(message: str | bytes) -> ConversationInitiationClientDataRequestInput:
    """The caller's first message."""
    data = json.loads(message)
    assert data.pop("type") == ClientToOrchestratorEvent.CONVERSATION_INITIATION_CLIENT_DATA.value
    model = ConversationInitiationClientDataRequestInput.model_validate(data)
    knows_all(model)
    return model


async def session(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """Answer one caller."""
    assert socket.request is not None
    asked = parse_qs(urlsplit(socket.request.path).query)
    assert asked["agent_id"] == [AGENT]
    opening = opened(await socket.recv())
    forbidden = behaviour == "override" and opening.conversation_config_override is not None
    if (
        forbidden
        or behaviour == "misconfigured"
        or (behaviour == "private" and asked.get("conversation_signature") != [SIGNATURE])
    ):
        await socket.close(*GOODBYES[behaviour])
        return
    if behaviour == "slow":
        await asyncio.sleep(0.4)
    law, given = ("ulaw", "ulaw_8000") if behaviour == "ulaw" else ("pcm", "pcm_16000")
    formats = {"conversation_id": "conv_1", "agent_output_audio_format": given, "user_input_audio_format": given}
    await socket.send(said("conversation_initiation_metadata", conversation_initiation_metadata_event=formats))
    await socket.send(said("ping", ping_event={"event_id": 7, "ping_ms": None}))
    if behaviour == "greets":
        await socket.send(said("agent_response", agent_response_event={"agent_response": "Hello there.", "event_id": 1}))
        await socket.send(audio(answer.pcm[: 2 * 16_000], 1, law))
    pongs = 0
    async for message in socket:
        data = json.loads(message)
        if data.get("type") == ClientToOrchestratorEvent.PONG.value:
            assert data["event_id"] == 7
            pongs += 1
            continue
        assert set(data) == {"user_audio_chunk"}
        coded = base64.b64decode(data["user_audio_chunk"], validate=True)
        if answer.hears(decode(coded, "ulaw").tobytes() if law == "ulaw" else coded):
            assert pongs == 1
            await reply(socket, answer, behaviour, law)


async def reply(socket: ServerConnection, answer: Answer, behaviour: str, law: str) -> None:
    """One answer of the agent."""
    await socket.send(said("user_transcript", user_transcription_event={"user_transcript": HEARD, "event_id": 2}))
    if behaviour == "quota":
        await socket.close(*GOODBYES["quota"])
        return
    if behaviour == "tools":
        await call_a_tool(socket)
    number = 3
    async for piece in answer.pieces():
        await socket.send(audio(piece, number, law))
        if number == 3:
            await socket.send(said("agent_response", agent_response_event={"agent_response": SAID, "event_id": 3}))
            await socket.send(said("vad_score", vad_score_event={"vad_score": 0.1}))
        number += 1
    await socket.send(said("agent_response_complete", agent_response_complete_event={"event_id": number}))


async def call_a_tool(socket: ServerConnection) -> None:
    """Call a tool of the client, and wait for its answer amid the caller's sound."""
    call = {"tool_name": "look_up", "tool_call_id": "t1", "parameters": {"what": "sleep"}, "event_id": 2}
    await socket.send(said("client_tool_call", client_tool_call=call))
    async for message in socket:
        data = json.loads(message)
        if data.get("type") == ClientToOrchestratorEvent.CLIENT_TOOL_RESULT.value:
            assert {**data, "type": ""} == {"type": "", "tool_call_id": "t1", "result": "8 hours", "is_error": False}
            return


def gate(socket: ServerConnection, request: Request, behaviour: str) -> Response | None:
    """Sign an address for the one key."""
    del behaviour
    parts = urlsplit(request.path)
    if parts.path == PATH:
        assert "xi-api-key" not in request.headers
        return None
    if parts.path != f"{PATH}/get-signed-url":
        return socket.respond(HTTPStatus.NOT_FOUND, "no such route\n")
    if is_wrong(request.headers, "xi-api-key"):
        return as_json(HTTPStatus.UNAUTHORIZED, {"detail": {"status": "invalid_api_key", "message": "Invalid API key"}})
    signed = f"ws://{request.headers['Host']}{PATH}?{parts.query}&conversation_signature={SIGNATURE}"
    return as_json(HTTPStatus.OK, ConversationSignedUrlResponseModel(signed_url=signed).model_dump())


if __name__ == "__main__":
    behaviours = (*GOODBYES, "greets", "ulaw", "tools", "drops", "slow")
    main(session, 8_000 if "ulaw" in sys.argv else 16_000, behaviours, gate, PATH)
