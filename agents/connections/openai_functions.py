"""The functions that an OpenAI model calls: the marks of its calls, and the answers that a profile fixes for them.

That a function is called is said in three places (an item, its complete arguments, the list in `response.done`), any of which a
server may leave out; that it has returned, perhaps by an item, and otherwise by the next response.

An agent whose function nobody runs waits for ever. So a profile names its functions (`[[tools]]`), each with one fixed answer:
no function of a user's is run, every call of a run gets the same answer, and it takes no time. Calls of other names are left to
whoever runs them, beside this client.

Source: `openai.types.realtime` of openai 3.54 (RealtimeFunctionTool, RealtimeConversationItemFunctionCallOutput).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.agents.connection import Mark
from harness.agents.connections.wire import arrived

BEGUN: Final = "realtime.function_call.begun"
ENDED: Final = "realtime.function_call.ended"


class FunctionCalls:
    """The calls of one session."""

    def __init__(self) -> None:
        self._in_flight: dict[str, None] = {}
        self._seen: set[str] = set()

    @property
    def in_flight(self) -> bool:
        """True if the answer to a call is still to come."""
        return bool(self._in_flight)

    def follow(self, data: Mapping[str, Any], arrival_ns: int) -> tuple[Mark, ...]:
        """The marks of one event: of each call that it begins or ends."""
        item = data.get("item")
        item = item if isinstance(item, dict) else {}
        match data.get("type"):
            case "response.output_item.added" if item.get("type") == "function_call":
                return self._begin(item.get("call_id") or item.get("id"), arrival_ns)
            case "response.function_call_arguments.done":
                return self._begin(data.get("call_id") or data.get("item_id"), arrival_ns)
            case "response.mcp_call.in_progress":
                return self._begin(data.get("item_id"), arrival_ns)
            case "response.mcp_call.completed" | "response.mcp_call.failed":
                return self._end((data.get("item_id"),), arrival_ns)
            case "conversation.item.added" | "conversation.item.created" if item.get("type") == "function_call_output":
                return self._end((item.get("call_id"),), arrival_ns)
            case "response.created":
                return self._end(tuple(self._in_flight), arrival_ns)
            case "response.done":
                return self._on_done(data.get("response"), arrival_ns)
        return ()

    def _on_done(self, response: object, arrival_ns: int) -> tuple[Mark, ...]:
        found = response if isinstance(response, dict) else {}
        if found.get("status", "completed") != "completed":
            # Nobody runs the functions of a response that was cut off.
            return self._end(tuple(self._in_flight), arrival_ns)
        output = found.get("output")
        items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
        called = [item.get("call_id") or item.get("id") for item in items if item.get("type") == "function_call"]
        return tuple(mark for call in called for mark in self._begin(call, arrival_ns))

    def _begin(self, call: object, arrival_ns: int) -> tuple[Mark, ...]:
        if str(call) in self._seen:
            return ()
        self._seen.add(str(call))
        self._in_flight[str(call)] = None
        return (arrived(BEGUN, arrival_ns, call=str(call)),)

    def _end(self, calls: tuple[object, ...], arrival_ns: int) -> tuple[Mark, ...]:
        ended = [str(call) for call in calls if str(call) in self._in_flight]
        for call in ended:
            del self._in_flight[call]
        return tuple(arrived(ENDED, arrival_ns, call=call) for call in ended)


def declared(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools of a profile as a session declares them, without their answers."""
    return [{"type": "function", **{key: tool[key] for key in ("name", "description", "parameters")}} for tool in tools]


class FixedAnswers:
    """The answers to the calls of one session."""

    def __init__(self, tools: Sequence[Mapping[str, Any]] = ()) -> None:
        self._answers: dict[str, str] = {tool["name"]: tool["answer"] for tool in tools}
        self._asked: dict[str, str] = {}
        self._seen: set[str] = set()

    def note(self, call: object) -> None:
        """Take a call of the agent: any object with `call_id` and `name`."""
        found = call if isinstance(call, dict) else {}
        call_id, name = found.get("call_id"), found.get("name")
        if isinstance(call_id, str) and isinstance(name, str) and name in self._answers and call_id not in self._seen:
            self._seen.add(call_id)
            self._asked[call_id] = self._answers[name]

    def forget(self) -> None:
        """Drop the calls of a response that was cut off."""
        self._asked.clear()

    def take(self) -> list[dict[str, Any]]:
        """The items that answer what was asked since the last time."""
        asked, self._asked = self._asked, {}
        return [{"type": "function_call_output", "call_id": call, "output": answer} for call, answer in asked.items()]
