"""Ultravox in a process of its own.

No package has types of its WebSocket calls, so that the few shapes are written here: of the request and its answer from
Ultravox' OpenAPI schema (`ultravox.v1.StartCallRequest`, `CallMedium_WebSocketMedium`, `FirstSpeakerSettings`), of the messages
from its page "Data Messages" and `pipecat.services.ultravox.llm` of pipecat 1.14.
"""

import asyncio
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from tests.vendors.answering import Answer, Asked, is_wrong, main

RATE_HZ = 24_000
TTFT_S = 0.06
STORED = 'kind = "ultravox"\nagent_id = "a1"\n'
"""A profile of an agent that it stores."""
REFUSALS = {
    "quota": (402, "Your account has no free minutes left. Please add a payment method."),
    "too_many": (429, "You have reached the limit of 5 concurrent calls."),
    "no_agent": (404, "No Agent matches the given query."),
}
_dialled: set[str] = set()


class Closed(BaseModel):
    """A shape without further fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Turn(Closed):
    role: Literal["MESSAGE_ROLE_USER", "MESSAGE_ROLE_AGENT"]
    text: str


class WebSocketMedium(Closed):
    inputSampleRate: int
    outputSampleRate: int | None = None
    clientBufferSizeMs: int | None = None


class Medium(Closed):
    serverWebSocket: WebSocketMedium


class FirstSpeaker(Closed):
    user: dict[str, Any] | None = None
    agent: dict[str, Any] | None = None


class Parameter(Closed):
    name: str
    location: Literal["PARAMETER_LOCATION_BODY"]
    schema_: dict[str, Any] = Field(alias="schema")
    required: bool


class TemporaryTool(Closed):
    modelToolName: str
    description: str
    dynamicParameters: list[Parameter]
    client: dict[str, Any]


class SelectedTool(Closed):
    temporaryTool: TemporaryTool


class StartCall(Closed):
    systemPrompt: str | None = None
    model: str | None = None
    voice: str | None = None
    temperature: float | None = None
    initialMessages: list[Turn] | None = None
    firstSpeakerSettings: FirstSpeaker | None = None
    selectedTools: list[SelectedTool] | None = None
    medium: Medium


class ToolResult(Closed):
    type: Literal["client_tool_result"]
    invocationId: str
    result: str | None = None
    errorType: Literal["undefined", "implementation-error"] | None = None
    errorMessage: str | None = None


START: TypeAdapter[StartCall] = TypeAdapter(StartCall)


def places(asked: Asked) -> tuple[int, dict[str, Any]]:
    """Answer a request for a call."""
    if is_wrong(asked.headers, "x-api-key"):
        return 401, {"detail": "Authentication credentials were not provided."}
    if asked.behaviour in REFUSALS:
        status, why = REFUSALS[asked.behaviour]
        return status, {"detail": why}
    if asked.path not in ("/api/calls", "/api/agents/a1/calls"):
        return 404, {"detail": "Not found."}
    try:
        call = START.validate_python(asked.body)
    except ValidationError as error:
        return 400, {"detail": str(error)}
    stored = "agents" in asked.path
    if stored and (call.systemPrompt or call.model or call.voice):
        return 400, {"detail": "systemPrompt: a call of an agent has none"}
    said = json.dumps([turn.model_dump() for turn in call.initialMessages or ()])
    return 201, {"callId": "c", "joinUrl": f"{asked.address}&history={len(said)}"}


async def session(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """Answer one caller."""

    async def says(kind: str, **fields: Any) -> None:
        await socket.send(json.dumps({"type": kind, **fields}))

    async def words(role: str, final: bool, **text: str) -> None:
        await says("transcript", role=role, medium="voice", final=final, ordinal=1 if role == "agent" else 0, **text)

    if behaviour == "slow":
        await asyncio.sleep(1.2)
    await says("call_started", callId="c")
    await says("state", state="idle")
    await says("state", state="listening")
    async for message in socket:
        if isinstance(message, str):
            result = ToolResult.model_validate_json(message)
            await says("debug", message=f"answered: {result.result or result.errorMessage}")
            continue
        if not answer.hears(message):
            continue
        await says("state", state="thinking")
        if behaviour == "calls_a_tool":
            await says("client_tool_invocation", toolName="look_up", invocationId="call_1", parameters={})
        await asyncio.sleep(TTFT_S)
        await words("agent", final=False, delta="That must ")
        await words("user", final=True, text="My brother moved out.")
        speaking = False
        async for piece in answer.pieces():
            await socket.send(piece)
            if not speaking:
                await says("state", state="speaking")
            speaking = True
        await words("agent", final=False, delta="feel ")
        await words("agent", final=True, text="That must feel empty.")
        if behaviour == "clears":
            await says("playback_clear_buffer")
        await says("state", state="listening")


def gate(socket: ServerConnection, request: Request, behaviour: str) -> Response | None:
    """Refuse a caller who brings the key along, or a joinUrl that is used or expired."""
    if behaviour == "expired" or "X-API-Key" in request.headers or request.path in _dialled:
        return socket.respond(404, "Call not found or already ended.")
    _dialled.add(request.path)
    return None


if __name__ == "__main__":
    main(session, RATE_HZ, (*REFUSALS, "expired", "clears", "slow", "drops", "calls_a_tool"), gate, "/api/calls", places)
