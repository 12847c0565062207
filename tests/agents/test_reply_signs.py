"""The signs of a reply's end, from wires that say them: over real sockets, in the words of pipecat and of OpenAI."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from openai.types.realtime import RealtimeServerEvent
from pipecat.frames.protobufs import frames_pb2
from pipecat.processors.frameworks.rtvi import models as rtvi
from pydantic import BaseModel, TypeAdapter
from websockets.asyncio.server import ServerConnection, serve

from harness.agents.connection import Closed, Mark
from harness.agents.connections import ConnectionSpec, make
from harness.agents.reply_signs import ReplySign, sign_of

SERVER: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)
Message = str | bytes


@asynccontextmanager
async def speaking(messages: Sequence[Message]) -> AsyncIterator[int]:
    """An agent that says this and hangs up."""

    async def session(socket: ServerConnection) -> None:
        for message in messages:
            await socket.send(message)
        await socket.close()

    async with serve(session, "127.0.0.1", 0) as listening:
        yield next(iter(listening.sockets)).getsockname()[1]


async def signs(kind: str, messages: Sequence[Message], **options: Any) -> list[ReplySign]:
    """The signs of one call, in order."""
    async with speaking(messages) as port:
        line = make(ConnectionSpec(kind, f"ws://127.0.0.1:{port}/", options))
        await line.open(())
        events = [event async for event in line.events()]
        await line.close()
    assert isinstance(events[-1], Closed)
    assert events[-1].kind in (None, "closed_early"), events[-1]
    return [sign for event in events if isinstance(event, Mark) and (sign := sign_of(event)) is not None]


def in_frame(message: BaseModel | dict[str, Any]) -> bytes:
    data = message if isinstance(message, dict) else message.model_dump(exclude_none=True)
    return bytes(frames_pb2.Frame(message=frames_pb2.MessageFrame(data=json.dumps(data))).SerializeToString())


def in_json(message: BaseModel | dict[str, Any]) -> str:
    return json.dumps(message if isinstance(message, dict) else message.model_dump(exclude_none=True))


READY = {"label": "rtvi-ai", "type": "bot-ready", "id": "1", "data": {"version": "2.0.0"}}
LLM, LLM_END, VOICE, VOICE_END = (
    rtvi.BotLLMStartedMessage(), rtvi.BotLLMStoppedMessage(), rtvi.BotTTSStartedMessage(), rtvi.BotTTSStoppedMessage(),
)  # fmt: skip
SPEAKS, SILENT = rtvi.BotStartedSpeakingMessage(), rtvi.BotStoppedSpeakingMessage()
TEXT = rtvi.BotLLMTextMessage(data=rtvi.TextMessageData(text="Let me look."))


def called(name: str) -> rtvi.LLMFunctionCallInProgressMessage:
    return rtvi.LLMFunctionCallInProgressMessage(data=rtvi.LLMFunctionCallInProgressMessageData(tool_call_id=name))


def returned(name: str, cancelled: bool = False) -> rtvi.LLMFunctionCallStoppedMessage:
    data = rtvi.LLMFunctionCallStoppedMessageData(tool_call_id=name, cancelled=cancelled)
    return rtvi.LLMFunctionCallStoppedMessage(data=data)


PLAIN = [LLM, TEXT, LLM_END, VOICE, SPEAKS, VOICE_END, SILENT]
ASKED = rtvi.LLMFunctionCallStartMessage(data=rtvi.LLMFunctionCallStartMessageData())


@pytest.mark.parametrize("wire", ["pipecat", "pipecat-eval"])
@pytest.mark.parametrize(
    ("said", "dones", "calls"),
    [
        (PLAIN, [6], 0),
        # a filler, a tool behind it, the answer
        ([LLM, TEXT, ASKED, LLM_END, called("a"), VOICE, SPEAKS, SILENT, returned("a"), *PLAIN], [-1], 1),
        # a quick tool: the answer is written while the filler is still heard
        ([LLM, TEXT, LLM_END, called("a"), VOICE, SPEAKS, returned("a"), LLM, TEXT, LLM_END, SILENT, VOICE, SPEAKS, SILENT],
         [-1], 1),
        # the filler ends between the tool's result and the model's next request
        ([LLM, TEXT, LLM_END, called("a"), VOICE, SPEAKS, returned("a"), SILENT, *PLAIN], [-1], 1),
        # two tools at once
        ([LLM, LLM_END, called("a"), called("b"), VOICE, SPEAKS, returned("a"), SILENT, returned("b"), *PLAIN], [-1], 2),
        # a voice that waits for the model's words in the middle of a reply
        ([LLM, TEXT, VOICE, SPEAKS, SILENT, VOICE, SPEAKS, LLM_END, SILENT], [-1], 0),
        # an interruption ends what was to come, and the next turn is as any other
        ([LLM, TEXT, LLM_END, called("a"), rtvi.BotInterruptedMessage(), returned("a", cancelled=True), *PLAIN], [-1], 1),
        # two turns
        ([*PLAIN, rtvi.UserStartedSpeakingMessage(), *PLAIN], [6, -1], 0),
    ],
)  # fmt: skip
async def test_a_bot_is_done_when_nothing_more_comes(wire: str, said: list[BaseModel], dones: list[int], calls: int) -> None:
    written: Callable[[BaseModel | dict[str, Any]], Message] = in_frame if wire == "pipecat" else in_json
    found = await signs(wire, [written(READY), *[written(message) for message in said]])
    assert found.count("done") == len(dones)
    assert found.count("tool_called") == found.count("tool_done") == calls
    # Each end comes after all that begins before it.
    before = said[: dones[-1] if dones[-1] > 0 else len(said) - 1]
    whole = await signs(wire, [written(READY), *[written(message) for message in before]])
    assert whole.count("done") == len(dones) - 1


def event(kind: str, **fields: Any) -> str:
    told = {"type": kind, "event_id": "event_1", **fields}
    SERVER.validate_python(told)
    return json.dumps(told)


SESSION = [
    event("session.created", session={"type": "realtime", "id": "sess_1"}),
    event("session.updated", session={"type": "realtime", "id": "sess_1"}),
]
CALL = {"type": "function_call", "id": "item_1", "call_id": "call_1", "name": "look_up", "arguments": "{}"}
SPOKEN = {"type": "message", "id": "item_2", "role": "assistant", "content": [{"type": "output_audio", "transcript": "Yes."}]}
OUTPUT = {"type": "function_call_output", "id": "item_3", "call_id": "call_1", "output": "{}"}


def response(kind: str, *output: dict[str, Any], status: str = "completed") -> str:
    return event(
        f"response.{kind}", response={"id": "resp_1", "object": "realtime.response", "status": status, "output": output}
    )


BEGINS = response("created", status="in_progress")
ADDED = event("response.output_item.added", response_id="resp_1", output_index=0, item=CALL)
WRITTEN = event("response.function_call_arguments.done", response_id="resp_1", item_id="item_1", output_index=0,
                call_id="call_1", name="look_up", arguments="{}")  # fmt: skip
CAME_BACK = event("conversation.item.added", previous_item_id=None, item=OUTPUT)
MCP = [event(f"response.mcp_call.{step}", item_id="mcp_1", output_index=0) for step in ("in_progress", "completed")]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([BEGINS, response("done", SPOKEN)], ["begun", "done"]),
        ([BEGINS, ADDED, WRITTEN, response("done", CALL), CAME_BACK, BEGINS, response("done", SPOKEN)],
         ["begun", "tool_called", "tool_done", "begun", "done"]),
        # a filler and a call in one response; its output is sent back past this client
        ([BEGINS, response("done", SPOKEN, CALL), BEGINS, response("done", SPOKEN)],
         ["begun", "tool_called", "tool_done", "begun", "done"]),
        # the server runs it before the response is over
        ([BEGINS, WRITTEN, CAME_BACK, response("done", CALL, SPOKEN)], ["begun", "tool_called", "tool_done", "done"]),
        # a call that is cut off is run by nobody
        ([BEGINS, ADDED, response("done", CALL, status="cancelled")], ["begun", "tool_called", "tool_done", "done"]),
        ([BEGINS, MCP[0], response("done"), MCP[1], BEGINS, response("done", SPOKEN)],
         ["begun", "tool_called", "tool_done", "begun", "done"]),
        ([BEGINS, response("done", status="failed")], ["begun", "done"]),
    ],
)  # fmt: skip
async def test_a_realtime_server_is_done_when_no_call_is_in_flight(said: list[str], expected: list[str]) -> None:
    assert await signs("openai-realtime", [*SESSION, *said]) == expected


async def test_marks_of_an_agent_s_own_are_signs_by_their_names() -> None:
    marks = [json.dumps({"type": "mark", "name": name, "at_ns": 1}) for name in ("tool_called", "tool_done", "reply_done", "x")]
    assert await signs("raw-pcm", marks) == ["tool_called", "tool_done", "done"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("telnyx", lambda name: {"event": "mark", "mark": {"name": name}}),
        ("exotel", lambda name: {"event": "mark", "mark": {"name": name}}),
        ("plivo", lambda name: {"event": "checkpoint", "name": name}),
        ("vonage", lambda name: {"action": "notify", "payload": name}),
    ],
)
async def test_a_carrier_s_mark_is_a_sign_by_its_name_alone(kind: str, message: Any) -> None:
    said = [json.dumps(message(name)) for name in ("responsePart", "tool_called", "tool_done", "reply_done")]
    assert await signs(kind, said) == ["tool_called", "tool_done", "done"]
