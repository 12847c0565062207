"""Deepgram's Voice Agent in a process of its own: what it hears and says is held to the types of deepgram-sdk."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from deepgram.agent.v1 import types as agent_v1
from pydantic import BaseModel, TypeAdapter, ValidationError
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from tests.vendors.answering import Answer, is_wrong, main

RATE_HZ = 24_000
TTFT_S, VOICE_S = 0.021, 0.012
FILLER = "Let me look."
HISTORY: TypeAdapter[Any] = TypeAdapter(agent_v1.AgentV1SettingsAgentContextContextMessagesItem)
Says = Callable[[BaseModel], Any]


def fault_in(settings: dict[str, Any]) -> str:
    """The field of the settings that the vendor's types do not have, or a value that they refuse; empty if there is none."""
    try:
        read = agent_v1.AgentV1Settings.model_validate(settings, strict=True)
        unknown = _unknown(read)
        if isinstance(read.agent, BaseModel) and (context := settings["agent"].get("context")):
            for turn in context["messages"]:
                HISTORY.validate_python(turn)
    except ValidationError as error:
        return str(error)
    return f"unknown: {unknown}" if unknown else ""


def _unknown(read: BaseModel) -> list[str]:
    """The fields beyond those of the types, which take any."""
    inner = [value for name in type(read).model_fields if isinstance(value := getattr(read, name), BaseModel)]
    # The parts of a provider's own model are its own.
    return [*(read.model_extra or {}), *(name for one in inner for name in _unknown(one))]


async def session(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """Answer one caller."""

    async def says(message: BaseModel) -> None:
        await socket.send(message.model_dump_json(exclude_none=True))

    async def fails(code: str, why: str) -> None:
        await says(agent_v1.AgentV1Error(type="Error", description=why, code=code))
        await socket.close(1008, why[:100])

    await says(agent_v1.AgentV1Welcome(type="Welcome", request_id="fc553ec9-5874-49ca-a47c-b670d525a4b3"))
    first = await socket.recv()
    if isinstance(first, bytes):
        await fails("NON_SETTINGS_MESSAGE_BEFORE_SETTINGS", "The first message must be Settings.")
        return
    settings = json.loads(first)
    if settings.get("type") != "Settings" or (fault := fault_in(settings)):
        await fails("UNPARSABLE_CLIENT_MESSAGE", f"Error parsing client message: {fault}")
        return
    if behaviour == "no_model":
        await fails("FAILED_TO_THINK", "The requested model is not available to this project.")
        return
    if behaviour == "quota":
        await fails("INSUFFICIENT_CREDITS", "Project has no credits left.")
        return
    if behaviour == "never_applied":
        await socket.wait_closed()
        return
    if behaviour == "slow":
        await asyncio.sleep(1.2)
    await says(agent_v1.AgentV1SettingsApplied(type="SettingsApplied"))
    if behaviour == "repeats_history":
        for turn in settings["agent"]["context"]["messages"]:
            await says(HISTORY.validate_python(turn))
    sound = settings["audio"]
    assert (sound["input"]["encoding"], sound["output"]["encoding"]) == ("linear16", "linear16")
    await _converse(socket, answer, behaviour, says)


async def _converse(socket: ServerConnection, answer: Answer, behaviour: str, says: Says) -> None:
    heard = False
    async for message in socket:
        if isinstance(message, str):
            agent_v1.AgentV1SendFunctionCallResponse.model_validate_json(message)
            said = json.loads(message)
            await says(agent_v1.AgentV1Warning(type="Warning", description=f"answered: {said['content']}", code="TEST"))
            continue
        if not heard and max(message[1::2], default=0) > 8:
            heard = True
            await says(agent_v1.AgentV1UserStartedSpeaking(type="UserStartedSpeaking"))
        if answer.hears(message):
            await _reply(socket, answer, behaviour, says)


async def _reply(socket: ServerConnection, answer: Answer, behaviour: str, says: Says) -> None:
    text = agent_v1.AgentV1ConversationText
    await says(text(type="ConversationText", role="user", content="My brother moved out."))
    await says(agent_v1.AgentV1AgentThinking(type="AgentThinking", content="He sounds sad."))
    if behaviour == "calls_a_function":
        item = agent_v1.AgentV1FunctionCallRequestFunctionsItem(id="call_1", name="look_up", arguments="{}", client_side=True)
        await says(agent_v1.AgentV1FunctionCallRequest(type="FunctionCallRequest", functions=[item]))
    if behaviour == "fails_in_reply":
        await says(agent_v1.AgentV1Error(type="Error", description="The model did not answer.", code="FAILED_TO_THINK"))
        return
    await says(text(type="ConversationText", role="assistant", content="That must feel empty."))
    took = {"ttt_token_latency": TTFT_S, "ttt_text_latency": TTFT_S, "tts_latency": VOICE_S}
    async for piece in answer.pieces():
        if took:
            await says(agent_v1.AgentV1LatencyReport(type="LatencyReport", **took))
            took = {}
        await socket.send(piece)
    await says(agent_v1.AgentV1AgentAudioDone(type="AgentAudioDone"))


def gate(socket: ServerConnection, request: Request, behaviour: str) -> Response | None:
    """Refuse a call whose key is not in the header and the form that the vendor reads."""
    if behaviour == "too_many":
        return socket.respond(429, json.dumps({"err_code": "TOO_MANY_REQUESTS", "err_msg": "Too many requests."}))
    if is_wrong(request.headers, "Authorization", "Token {}"):
        return socket.respond(401, json.dumps({"err_code": "INVALID_AUTH", "err_msg": "Invalid credentials."}))
    return None


if __name__ == "__main__":
    behaviours = ("no_model", "quota", "never_applied", "slow", "drops", "too_many", "calls_a_function",
                  "fails_in_reply", "repeats_history")  # fmt: skip
    main(session, RATE_HZ, behaviours, gate, path="/v1/agent/converse")
