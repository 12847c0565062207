"""The function calls of a Realtime session: which are in flight, as one mark where each begins and one where it ends.

The protocol says in three places that a function is called (an item, its complete arguments, the list in `response.done`), and
a server may leave any of them out. Nothing says that it has returned: its output may come back as an item, and otherwise the
next response answers it. Tools of the server itself (MCP) begin and end by their own events.
"""

from collections.abc import Mapping
from typing import Any

from harness.agents.connection import Mark

BEGUN = "realtime.function_call.begun"
ENDED = "realtime.function_call.ended"


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
        return (_mark(BEGUN, str(call), arrival_ns),)

    def _end(self, calls: tuple[object, ...], arrival_ns: int) -> tuple[Mark, ...]:
        ended = [str(call) for call in calls if str(call) in self._in_flight]
        for call in ended:
            del self._in_flight[call]
        return tuple(_mark(ENDED, call, arrival_ns) for call in ended)


def _mark(name: str, call: str, arrival_ns: int) -> Mark:
    return Mark(name, arrival_ns, arrival_ns, {"call": call, "stamped": "arrival"})
