"""The signs by which an agent's wire says that a reply begins, is over, or waits for a tool.

Silence cannot distinguish the end of a reply from a tool at work behind a filler, but most wires say it. Each wire's own events
arrive as marks; this is the one table of those that are signs, so that the caller and the timing read them alike.
"""

from types import MappingProxyType
from typing import Final, Literal

from harness.agents import marks
from harness.agents.connection import Mark

ReplySign = Literal["begun", "done", "tool_called", "tool_done"]
"""`begun`: sound of a reply is being made. `done`: all sound of the reply has been sent. The other two: a function call."""

_SIGNS: Final[MappingProxyType[str, ReplySign]] = MappingProxyType(
    {
        marks.LLM_REQUESTED: "begun",
        marks.REPLY_DONE: "done",
        marks.TOOL_CALLED: "tool_called",
        marks.TOOL_DONE: "tool_done",
        "rtvi.bot-llm-started": "begun",
        "rtvi.bot-stopped-speaking": "done",
        "realtime.response.created": "begun",
        "realtime.response.done": "done",
    }
)


def sign_of(mark: Mark) -> ReplySign | None:
    """The sign that a mark is; None for a mark that says nothing of the reply's end."""
    return _SIGNS.get(mark.name)
