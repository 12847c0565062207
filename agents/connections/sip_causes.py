"""Names for the ways in which a call is not answered, or is ended (RFC 3261, RFC 3326).

A status of three digits says more than that a call failed: an agent that is busy, one that declines and one that nobody finds
need different answers, and only some of them are the agent's fault. Pure.
"""

import re
from types import MappingProxyType
from typing import Final

from harness.agents.connection import ConnectionFailed, FailureKind
from harness.agents.connections.wire import shown

_NAMED: Final = MappingProxyType[int, tuple[FailureKind, str]](
    {
        486: ("busy", "busy: it takes no further caller at present"),
        600: ("busy", "busy at every place where it could be"),
        603: ("declined", "it declined the call"),
        607: ("declined", "it declined the call as unwanted"),
        608: ("declined", "something before it declined the call"),
        401: ("unauthorised", "refused without the right name and password: check username and password_env"),
        403: ("unauthorised", "forbidden: check identity, username and password_env, and whether this network may call"),
        404: ("not_found", "nobody of that name there: check url"),
        410: ("not_found", "nobody of that name there any more: check url"),
        484: ("not_found", "the number is not complete: check url"),
        485: ("not_found", "the name is of several: check url"),
        604: ("not_found", "nobody of that name anywhere: check url"),
        415: ("codec", "it takes no call of this kind: is it one for sound?"),
        488: ("codec", "no codec in common, or it takes encrypted sound (SRTP) only: check codecs"),
        606: ("codec", "no codec in common, or it takes encrypted sound (SRTP) only: check codecs"),
        408: ("open_timeout", "the agent did not answer its own server"),
        480: ("refused", "not available at present: is it registered?"),
        503: ("refused", "its server is out of service, or overloaded"),
    }
)
_ASKED_FOR_KEYS: Final = 407
_MOVED: Final = range(300, 400)
_NOT_PICKED_UP: Final = (408, 480, 487)
"""What is said of a call that rang and was not picked up."""


def refusal(status: int, phrase: str, rang: bool, moved_to: str = "") -> ConnectionFailed:
    """The error for a call that was refused with this status. `rang`: the far end had said that it rings; `moved_to`: the
    address that it named in place of its own."""
    said = f" ({status}{' ' + shown(phrase, 40) if phrase else ''})"
    if rang and status in _NOT_PICKED_UP:
        return ConnectionFailed(f"it rang, and nobody answered{said}", "rang_out")
    if status in _MOVED:
        return ConnectionFailed(f"it has moved: call {shown(moved_to, 80) or 'another address'}{said}", "not_found")
    kind, words = _NAMED.get(401 if status == _ASKED_FOR_KEYS else status, ("refused", "it refused the call"))
    return ConnectionFailed(words + said, kind)


def no_answer(waited_s: float, rang: bool, trying: bool) -> ConnectionFailed:
    """The error for a call that was not answered in time. `trying`: the far end had taken it."""
    if rang:
        return ConnectionFailed(f"it rang, and nobody answered within {waited_s:g} s (open_timeout_s)", "rang_out")
    if trying:
        what = f"the call was taken, and it neither rang nor was answered within {waited_s:g} s: is the agent up?"
        return ConnectionFailed(what, "open_timeout")
    what = f"not one reply within {waited_s:g} s: is this a SIP address, and is UDP open both ways?"
    return ConnectionFailed(what, "open_timeout")


def cause(reason: str | None) -> str:
    """The words of a `Reason` header for people; empty if there is none."""
    if not reason:
        return ""
    text = re.search(r'text\s*=\s*"([^"]*)"', reason)
    protocol, number = re.match(r"[\w.]*", reason.strip()), re.search(r"cause\s*=\s*(\d+)", reason)
    parts = (protocol[0] if protocol else "", number[1] if number else "", text[1] if text else "")
    return shown(" ".join(part for part in parts if part), 80)
