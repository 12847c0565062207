"""A scripted server of the Gemini Live API: every message is parsed and made by google-genai's own types, which know no others.

Behaviours, beside `answers`: `key`, `quota`, `region`, `model`, `modality` (goodbyes in the vendor's words), `drops` (in the
reply), `slow` (the setup takes 0.4 s), `writes` (text in place of sound), `activity` (voiceActivity is sent), `tools` (a
function is called before the answer), `route` (HTTP 404).
"""

import asyncio
import json
from http import HTTPStatus
from typing import Any

from google.genai import types
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from harness.agents.connections.gemini_live import ABOUT
from tests.vendors.answering import Answer, is_wrong, main

RATE_HZ = 24_000
HEARD = "hello can you hear me"
SAID = ("I am ", "listening.")
GOODBYES = {
    "key": (1007, "API key not valid. Please pass a valid API key."),
    "quota": (1011, "You exceeded your current quota, please check your plan and billing details."),
    "region": (1007, "User location is not supported for the API use."),
    "model": (1008, "models/m is not found for API version v1beta, or is not supported for bidiGenerateContent. Call"),
    "modality": (1007, "The requested combination of response modalities is not supported by the model."),
}


def said(**fields: Any) -> str:
    """A message of the server."""
    return types.LiveServerMessage(**fields).model_dump_json(by_alias=True, exclude_none=True)


def content(**fields: Any) -> str:
    """A message of the server's content."""
    return said(server_content=types.LiveServerContent(**fields))


def heard(message: str | bytes) -> types.LiveClientMessage:
    """A message of the caller; a field that the types do not know is an error."""
    data = json.loads(message)
    # The package writes this setting into the setup (`_live_converters`), whose type has no field for it.
    if (turns := data.get("setup", {}).pop("realtimeInputConfig", None)) is not None:
        types.RealtimeInputConfig.model_validate(turns)
    return types.LiveClientMessage.model_validate(data)


async def session(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """Answer one caller."""
    opening = heard(await socket.recv()).setup
    assert opening is not None
    assert opening.model == "models/m"
    assert opening.generation_config is not None
    assert opening.generation_config.response_modalities == [types.Modality.AUDIO]
    if behaviour in GOODBYES:
        await socket.close(*GOODBYES[behaviour])
        return
    if behaviour == "slow":
        await asyncio.sleep(0.4)
    await socket.send(said(setup_complete=types.LiveServerSetupComplete(session_id="s")).encode())
    if opening.history_config is not None and opening.history_config.initial_history_in_client_content:
        history = heard(await socket.recv()).client_content
        assert history is not None
        assert history.turn_complete
        assert [turn.role for turn in history.turns or ()] == ["user", "model"]
    async for message in socket:
        given = heard(message).realtime_input
        assert given is not None
        assert given.audio is not None
        assert given.audio.mime_type == "audio/pcm;rate=16000"
        assert given.audio.data is not None
        if answer.hears(given.audio.data):
            await reply(socket, answer, behaviour)


async def reply(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """One turn of the model."""
    if behaviour == "activity":
        ended = types.VoiceActivity(voice_activity_type=types.VoiceActivityType.ACTIVITY_END, audio_offset="2.5s")
        await socket.send(said(voice_activity=ended))
    await socket.send(content(input_transcription=types.Transcription(text=HEARD)))
    if behaviour == "tools":
        await call_a_tool(socket)
    if behaviour == "writes":
        part = types.Part(text="I am listening.")
        await socket.send(content(model_turn=types.Content(parts=[part]), turn_complete=True))
        return
    first = True
    async for piece in answer.pieces():
        blob = types.Blob(data=piece, mime_type=f"audio/pcm;rate={RATE_HZ}")
        await socket.send(content(model_turn=types.Content(parts=[types.Part(inline_data=blob)])))
        if first:
            for words in SAID:
                await socket.send(content(output_transcription=types.Transcription(text=words)))
        first = False
    await socket.send(content(generation_complete=True))
    usage = types.UsageMetadata(prompt_token_count=10, response_token_count=20, total_token_count=30)
    over = types.LiveServerContent(turn_complete=True, interaction_status=types.InteractionStatus.IDLE)
    await socket.send(said(server_content=over, usage_metadata=usage))


async def call_a_tool(socket: ServerConnection) -> None:
    """Call a function, and wait for its answer amid the caller's sound."""
    call = types.FunctionCall(id="c1", name="look_up", args={"what": "sleep"})
    await socket.send(said(tool_call=types.LiveServerToolCall(function_calls=[call])))
    async for message in socket:
        if (response := heard(message).tool_response) is not None:
            assert response.function_responses is not None
            (one,) = tuple(response.function_responses)
            assert (one.id, one.name, one.response) == ("c1", "look_up", {"output": "8 hours"})
            return


def gate(socket: ServerConnection, request: Request, behaviour: str) -> Response | None:
    """Refuse a wrong route or key."""
    if behaviour == "route":
        return socket.respond(HTTPStatus.NOT_FOUND, "no such route\n")
    if is_wrong(request.headers, "x-goog-api-key"):
        return socket.respond(HTTPStatus.FORBIDDEN, "no key\n")
    return None


if __name__ == "__main__":
    behaviours = (*GOODBYES, "drops", "slow", "writes", "activity", "tools", "route")
    main(session, RATE_HZ, behaviours, gate, ABOUT.url.removeprefix("wss://generativelanguage.googleapis.com"))
