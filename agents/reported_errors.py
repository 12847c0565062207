"""The errors that an agent or its server reports over the wire: the one table of which marks are errors, and of their words.

A server that has no quota left, or whose filter cut the answer, says so, and a caller who hears nothing must not look for the
reason in a key or a firewall. Errors arrive as marks, like all events of a wire, so that a recording tells them later. Its
writer masks what is secret in them (`harness.recording.parts`), so that nothing has to be masked here.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from harness.agents.connection import AGENT_ERROR, CLOSED_WITH, Mark
from harness.printable import printable

MOST_CHARACTERS: Final = 200
_INCOMPLETE: Final = MappingProxyType(
    {"content_filter": "its content filter cut the response off", "max_output_tokens": "the response has reached its longest"}
)
"""Reasons for which a Realtime server gives a name and no sentence."""


def _of_response(detail: Mapping[str, Any]) -> object:
    status = detail.get("status")
    if status not in ("failed", "incomplete"):
        return None
    said = detail.get("status_details")
    details: Mapping[str, Any] = said if isinstance(said, dict) else {}
    error = details.get("error")
    error = error if isinstance(error, dict) else {}
    reason = details.get("reason")
    return error.get("message") or error.get("code") or _INCOMPLETE.get(str(reason)) or reason or f"the response {status}"


def _field(*names: str) -> Callable[[Mapping[str, Any]], object]:
    return lambda detail: next((detail[name] for name in names if detail.get(name)), None)


_WORDS: Final[Mapping[str, Callable[[Mapping[str, Any]], object]]] = MappingProxyType(
    {
        AGENT_ERROR: _field("message"),
        CLOSED_WITH: _field("reason"),
        "rtvi.error": _field("error", "message"),
        "rtvi.error-response": _field("error", "message"),
        "realtime.error": _field("message", "code"),
        "live.error": _field("message", "code"),
        "live.delegation.ended": _field("error"),
        "realtime.response.done": _of_response,
        "realtime.conversation.item.input_audio_transcription.failed": _field("message", "code"),
    }
)


def error_said(mark: Mark) -> str | None:
    """The words of the error that a mark is, cut to one line; None for a mark that is no error, or says nothing."""
    words = _WORDS.get(mark.name)
    said = words(mark.detail) if words is not None else None
    line = printable(" ".join(str(said).split()), one_line=True) if said else ""
    return (line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…").rstrip(".") or None
