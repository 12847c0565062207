"""The reason of a silence, as far as the wire names it: the words of the server, or a function call that nothing followed."""

from collections.abc import Iterable, Sequence

from harness.agents.connection import Mark
from harness.agents.reply_signs import sign_of
from harness.agents.reported_errors import error_said

ONLY_A_CALL = "a function call, and nothing after it"


def why_silent(marks: Sequence[Mark], from_ns: int | None = None, until_ns: int | None = None) -> str | None:
    """The reason why nothing was said while these marks came; None if they name none."""
    found = [m for m in marks if (from_ns is None or m.arrival_ns >= from_ns) and (until_ns is None or m.arrival_ns < until_ns)]
    called = any(sign_of(mark) == "tool_called" for mark in found)
    said = _last_error(found)
    return f'the server says "{said}"' if said else ONLY_A_CALL if called else None


def with_words(detail: str, marks: Iterable[Mark]) -> str:
    """A failure with the server's last error, unless it has those words already."""
    said = _last_error(marks)
    return f'{detail}; the server says "{said}"' if said and said not in detail else detail


def _last_error(marks: Iterable[Mark]) -> str | None:
    return next((said for mark in reversed([*marks]) if (said := error_said(mark)) is not None), None)
