"""The words of a server that refuses: its code and its sentence, and how the best-known codes are mended.

The same refusal comes as the body of an HTTP answer, as an event on an open socket, or as the reason of a goodbye
(`invalid_request_error.model_not_found`). OpenAI's form, `{"error": {"code", "message"}}`, is what most servers copy.

A code decides whose fault the lost call is: a key, a model or a place that the server does not serve are the caller's.

Source: OpenAI's reference of errors; `openai.types.realtime.RealtimeError` and `openai.types.live.Error` of openai 3.54.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from harness.agents.connection import ConnectionFailed, FailureKind
from harness.agents.connections.wire import shown

_MENDS: Final[Mapping[str, tuple[FailureKind, str]]] = MappingProxyType(
    {
        "insufficient_quota": ("unauthorised", "the account that the key belongs to has no credit left"),
        "billing_hard_limit_reached": ("unauthorised", "the account that the key belongs to has reached its limit"),
        "invalid_api_key": ("unauthorised", "check the key"),
        "model_not_found": ("unauthorised", "check model, and if the project of the key may use it"),
        "unsupported_country_region_territory": ("unauthorised", "call from a place that it serves"),
        "beta_api_shape_disabled": ("not_found", "take OpenAI-Beta out of headers, and call /v1/realtime"),
        "rate_limit_exceeded": ("busy", "play fewer calls at once"),
        "unknown_parameter": ("refused", "take the setting that it names out of the profile: this model or route has none"),
        "invalid_value": ("refused", "check the setting that it names, and if kind and route belong together"),
    }
)
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a server says of its refusal; `code` is empty where it gives none."""

    code: str
    message: str

    @property
    def words(self) -> str:
        """The server's words, and how a known code is mended."""
        said = f"the server says: {shown(self.message or self.code, _LONGEST)}"
        mend = _MENDS.get(self.code)
        return f"{said.rstrip('.')}: {mend[1]}" if mend else said

    @property
    def is_known(self) -> bool:
        """True if the code says what is to be done."""
        return self.code in _MENDS

    def failure(self, before: str = "") -> ConnectionFailed:
        """The failure of a call that was refused so. `before`: what is said first."""
        return ConnectionFailed(f"{before}{self.words}", _MENDS[self.code][0] if self.is_known else "refused")


def refusal_of(error: object) -> Refusal:
    """The refusal that an `error` object is."""
    found: Mapping[str, Any] = error if isinstance(error, dict) else {}
    code, message = found.get("code"), found.get("message")
    return Refusal(code if isinstance(code, str) else "", message if isinstance(message, str) else "")


def refusal_in(body: bytes) -> Refusal | None:
    """The refusal in the body of an HTTP answer, if its code is known."""
    try:
        said = json.loads(body[: 1 << 16])
    except (ValueError, RecursionError):
        return None
    found = refusal_of(said.get("error") if isinstance(said, dict) else None)
    return found if found.is_known else None


def refusal_in_goodbye(reason: str) -> Refusal | None:
    """The refusal that the reason of a goodbye names by its code; None for other reasons."""
    code = reason.rpartition(".")[2]
    return Refusal(code, reason) if code in _MENDS else None


Meanings = Sequence[tuple[str, FailureKind, str]]
"""What the words of a vendor's servers mean, in the order in which they are looked for: a pattern, the failure, what mends."""


def meant_by(words: str, meanings: Meanings, code: int | None = None) -> ConnectionFailed | None:
    """The failure that a server's own words name, where it gives no code that says as much; None for words that are not known.

    `code`: that of a goodbye.
    """
    said = f"{'' if code is None else f'code {code}: '}{shown(words, _LONGEST)}"
    for known, kind, mend in meanings:
        if re.search(known, words, re.IGNORECASE):
            return ConnectionFailed(f"the server refuses ({said}): {mend}", kind)
    return None
