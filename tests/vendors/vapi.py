"""Vapi in a process of its own: the request that places a call, its answer and all messages are of vapi-server-sdk's types."""

import asyncio
import inspect
import json
from datetime import UTC, datetime
from typing import Any

import vapi.types as of_vapi
from pydantic import BaseModel
from vapi.calls.raw_client import RawCallsClient
from vapi.core.serialization import get_field_to_alias_mapping
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from tests.vendors.answering import Answer, Asked, is_wrong, main

RATE_HZ = 16_000
NOW = datetime(2026, 11, 28, tzinfo=UTC)
HOT_TIP = "Invalid Key. Hot tip, you may be using the private key instead of the public key, or vice versa."
TTFT_S = 0.06
REFUSALS = {
    "other_organisation": "Couldn't Find Assistant. assistantId b0e0 does not exist.",
    "too_many": "Over Concurrency Limit. Please upgrade or wait for calls to end.",
    "quota": "Wallet Balance is -0.12. Purchase More Credits or Upgrade Your Plan.",
}
"""By the id of the assistant that is asked for, so that one server gives them all."""
ENDS = {
    "ends_for_credits": "call.start.error-subscription-insufficient-credits",
    "ends_for_model": "pipeline-error-openai-403-model-access-denied",
}
_dialled: set[str] = set()


def named(model: type[BaseModel]) -> set[str]:
    """The names of a type's fields, as they are written on the wire."""
    aliases = get_field_to_alias_mapping(model)
    return {aliases.get(name, name) for name in model.model_fields}


def fault_in(body: dict[str, Any]) -> str:
    """The first field of a request that the vendor's types do not have; empty if there is none."""
    parameters = {name.replace("_", "").lower() for name in inspect.signature(RawCallsClient.create).parameters}
    unknown = [name for name in body if name.lower() not in parameters]
    for part, model in (("assistant", of_vapi.CreateAssistantDto), ("assistantOverrides", of_vapi.AssistantOverrides)):
        unknown += sorted(set(body.get(part, {})) - named(model))
    own = body.get("assistant", {})
    for part, known in (
        ("model", of_vapi.OpenAiModel),
        ("voice", of_vapi.VapiVoice),
        ("transcriber", of_vapi.DeepgramTranscriber),
    ):
        unknown += sorted(set(own.get(part, {})) - named(known))
    for turn in own.get("model", {}).get("messages", ()):
        of_vapi.OpenAiMessage.model_validate(turn, strict=True)
    return f"property {unknown[0]} should not exist" if unknown else ""


def places(asked: Asked) -> tuple[int, dict[str, Any]]:
    """Answer a request for a call."""
    if is_wrong(asked.headers, "authorization", "Bearer {}"):
        return 401, {"message": HOT_TIP, "error": "Unauthorized", "statusCode": 401}
    behaviour = asked.body.get("assistantId", "")
    if (why := REFUSALS.get(behaviour) or fault_in(asked.body)) or asked.path != "/call":
        return 400, {"message": why, "error": "Bad Request", "statusCode": 400}
    sound = asked.body["transport"]
    assert sound["audioFormat"] == {"format": "pcm_s16le", "container": "raw", "sampleRate": RATE_HZ}
    address = "" if behaviour == "no_address" else asked.address
    call = of_vapi.Call(
        id="7420f27a", org_id="eb166faa", created_at=NOW, updated_at=NOW, type="vapi.websocketCall", status="queued",
        transport={"provider": sound["provider"], "websocketCallUrl": address},
    )  # fmt: skip
    return 201, json.loads(call.json())


async def session(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """Answer one caller."""

    async def says(message: BaseModel) -> None:
        await socket.send(message.json())

    if behaviour == "slow":
        await asyncio.sleep(1.2)
    if behaviour in ENDS:
        await says(of_vapi.ServerMessageStatusUpdate(type="status-update", status="ended", ended_reason=ENDS[behaviour]))
        await socket.wait_closed()
        return
    speech = of_vapi.ClientMessageSpeechUpdate
    begun = False
    async for message in socket:
        if isinstance(message, str):
            of_vapi.ClientInboundMessageEndCall.model_validate_json(message, strict=True)
            await socket.close()
            return
        if not begun and max(message[1::2], default=0) > 8:
            begun = True
            await says(speech(type="speech-update", role="user", status="started"))
        if answer.hears(message):
            await says(speech(type="speech-update", role="user", status="stopped"))
            await says(_words("user", "My brother moved out."))
            await asyncio.sleep(TTFT_S)
            await says(of_vapi.ClientMessageModelOutput(type="model-output", output={"token": "That"}))
            await says(of_vapi.ClientMessageModelOutput(type="model-output", output={"token": " must"}))
            async for piece in answer.pieces():
                await socket.send(piece)
            await says(_words("assistant", "That must feel empty."))
            await says(speech(type="speech-update", role="assistant", status="stopped"))


def _words(role: str, text: str) -> BaseModel:
    return of_vapi.ClientMessageTranscript(type="transcript", role=role, transcript_type="final", transcript=text)


def gate(socket: ServerConnection, request: Request, behaviour: str) -> Response | None:
    """Refuse a caller who brings the key along, or an address that was dialled before."""
    del behaviour
    if "Authorization" in request.headers or request.path in _dialled:
        return socket.respond(404, "Call not found.")
    _dialled.add(request.path)
    return None


if __name__ == "__main__":
    main(session, RATE_HZ, (*ENDS, "slow", "drops"), gate, "/call", places)
