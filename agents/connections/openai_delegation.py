"""The work that a live model delegates, because it cannot do it alone: to a model of the Responses API, or to the application.

The functions of such a model are answered as the profile says. The application is this harness, which has nobody to ask, and
says so: a model whose delegation nobody answers holds the conversation.

Source: `openai.types.live` of openai 3.54 (DelegationCreatedEvent, ResponseEvent, CommentaryAppendEvent); the order of answers
and of `response.create` as in `pipecat.services.openai.live` of pipecat 1.14.
"""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from harness.agents.connection import Mark
from harness.agents.connections.openai_functions import FixedAnswers
from harness.agents.connections.wire import NOTHING, Received, table_of

_NOBODY: Final = "Nobody is available in this call to whom work can be handed over."


class Delegations:
    """The delegations of one session, each of which is a mark when it begins and when it ends."""

    def __init__(self, tools: Sequence[Mapping[str, Any]] = ()) -> None:
        self._open: dict[str, None] = {}
        self._answers = FixedAnswers(tools)

    def begin(self, delegation: Mapping[str, Any], arrival_ns: int) -> Received:
        """Take a delegation; it is declined if it is the application's."""
        found = str(delegation.get("id"))
        self._open[found] = None
        begun = _mark("begun", found, arrival_ns)
        if delegation.get("target") != "client":
            return Received(events=(begun,))
        ended = self._over(found, arrival_ns, {})
        answer = {"type": "session.commentary.append", "content": _NOBODY, "delegation_id": found}
        return Received((begun, *ended), (json.dumps(answer),))

    def follow(self, delegation: str, event: Mapping[str, Any], arrival_ns: int) -> Received:
        """Take an event of the model to which work was delegated: answer its functions, and note when it is done."""
        match event.get("type"):
            case "response.output_item.done":
                item = table_of(event, "item")
                if item.get("type") == "function_call" and item.get("status", "completed") == "completed":
                    self._answers.note(item)
            case "response.completed":
                items = self._answers.take()
                if items:
                    wishes = [{"type": "response.item.create", "item": item} for item in items]
                    return Received(replies=tuple(json.dumps(wish) for wish in [*wishes, {"type": "response.create"}]))
                return Received(events=self._over(delegation, arrival_ns, {}))
            case "response.failed" | "response.incomplete":
                self._answers.forget()
                response = table_of(event, "response")
                why = table_of(response, "error").get("message") or table_of(response, "incomplete_details").get("reason")
                return Received(events=self._over(delegation, arrival_ns, {"error": str(why or response.get("status"))}))
        return NOTHING

    def _over(self, delegation: str, arrival_ns: int, detail: Mapping[str, object]) -> tuple[Mark, ...]:
        # An event that names no delegation ends the oldest.
        known = delegation if delegation in self._open else next(iter(self._open), None)
        if known is None:
            return ()
        del self._open[known]
        return (_mark("ended", known, arrival_ns, detail),)


def _mark(step: str, found: str, arrival_ns: int, detail: Mapping[str, object] = MappingProxyType({})) -> Mark:
    return Mark(f"live.delegation.{step}", arrival_ns, arrival_ns, {"call": found, **detail, "stamped": "arrival"})
