"""The table of what to check when a call cannot be placed, or brings no answer: one row a fault, for every wire.

A user who reads "refused" has lost an afternoon. Each row says what is wrong and how it is mended, and the address goes before
it, so that every wire gives the same sentence for the same fault. Which row applies is found here from the error that a
library raised and from an HTTP status; a fault that an error leaves open is settled in `harness.agents.connections.diagnosis`,
by asking the port.

A row's kind decides whose fault the lost call is (`harness.store.selection`): what a wrong address, key or network of the
caller's looks like as well is not counted against the agent.

No input or output here.
"""

import errno
import os
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from harness.agents.connection import ConnectionFailed, FailureKind
from harness.agents.connections.wire import shown

Fault = Literal[
    "certificate_expired", "certificate_early", "certificate_untrusted", "certificate_other_name", "tls_refused",
    "no_tls", "needs_tls", "unknown_host", "nothing_listens", "no_way", "unreachable", "asleep", "broken", "not_http", "proxy",
    "bad_address", "no_key", "wrong_key", "turned_away", "no_route", "moved", "busy", "server_error", "refused_otherwise",
    "hung_up_on_key", "no_credit", "no_agent", "failed_otherwise", "no_packets", "silent", "one_way", "no_end", "wrong_rate",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One fault: the kind of failure, what is wrong, and how it is mended. Places in braces are filled by `sentence`."""

    kind: FailureKind
    wrong: str
    mend: str


ROWS: Final[Mapping[Fault, Row]] = MappingProxyType(
    {
        "certificate_expired": Row("refused", "its TLS certificate has expired", "have it renewed on the server"),
        "certificate_early": Row(
            "refused", "its TLS certificate is not valid yet", "check the clocks of this machine and of the server"
        ),
        "certificate_untrusted": Row(
            "refused",
            "its TLS certificate {detail}",
            "name the file with its authority's certificate in SSL_CERT_FILE, or use one of a known authority",
        ),
        "certificate_other_name": Row(
            "not_found",
            "its TLS certificate is for another name ({detail})",
            "write a name that the certificate has in the address, or have this one added to it",
        ),
        "tls_refused": Row(
            "refused",
            "TLS could not be agreed on ({detail})",
            "check the TLS versions that it allows, and if it asks callers for a certificate",
        ),
        "no_tls": Row(
            "not_found",
            "it does not speak TLS at this port",
            "write {plain}:// in place of {secure}://, or the port that has TLS",
        ),
        "needs_tls": Row("not_found", "it speaks TLS at this port", "write {secure}:// in place of {plain}://"),
        "unknown_host": Row(
            "not_found", "there is no machine of that name", "check its spelling, and if this machine's network knows the name"
        ),
        "nothing_listens": Row("refused", "nothing listens there", "check if it is started, and the port"),
        "no_way": Row("not_found", "the network has no way there ({detail})", "check the address, the network and its VPN"),
        "unreachable": Row(
            "open_timeout",
            "no connection within {timeout_s:g} s",
            "check if the machine is on, and if a firewall lets its port through",
        ),
        "asleep": Row(
            "open_timeout",
            "it took the connection and did not answer within {timeout_s:g} s",
            "is it still starting or asleep? open_timeout_s gives it longer",
        ),
        "broken": Row("refused", "the line broke before an answer came", "check the port, and {plain} or {secure}"),
        "not_http": Row("refused", "what answers there is no web server", "check the port, and {plain} or {secure}"),
        "proxy": Row(
            "not_found",
            "the proxy that the environment names lets no call through ({detail})",
            "check HTTPS_PROXY and HTTP_PROXY, or name the host in NO_PROXY",
        ),
        "bad_address": Row("not_found", "not an address ({detail})", "write it as {secure}://host/path"),
        "no_key": Row(
            "unauthorised",
            "it wants a key (HTTP {status}{detail})",
            "name the variable that holds it in api_key_env, or write a header with ${{NAME}} in headers{how}",
        ),
        "wrong_key": Row("unauthorised", "it refuses the key (HTTP {status}{detail})", "check the value of {keys}{how}"),
        "turned_away": Row(
            "unauthorised",
            "it turns this caller away (HTTP {status}{detail})",
            "check {keys}{token}, and the route: {route}{how}",
        ),
        "no_route": Row("not_found", "nothing of this kind is served at this address (HTTP {status}{detail})", "{route}"),
        "moved": Row(
            "not_found",
            "it has moved (HTTP {status}{detail})",
            "write the address that it has now: a key is sent to no host that the profile does not name",
        ),
        "busy": Row(
            "busy",
            "busy ({status}{detail})",
            "it takes no further caller at present: try again later, or with fewer calls at once",
        ),
        "server_error": Row("refused", "it failed while it took the call (HTTP {status}{detail})", "its own log says why"),
        "refused_otherwise": Row("refused", "it refused the call (HTTP {status}{detail})", "check the address: {route}"),
        "hung_up_on_key": Row(
            "unauthorised", "it hung up at once ({detail})", "this is how many servers refuse a key: check {keys}"
        ),
        "no_credit": Row(
            "unauthorised", "the account may not call now (HTTP {status}{detail})", "check its credits, its plan and its limits"
        ),
        "no_agent": Row(
            "not_found",
            "it gives this caller no such agent (HTTP {status}{detail})",
            "check its id, and that it is of the key's own organisation or project",
        ),
        "failed_otherwise": Row("refused", "the connection failed ({detail})", "check the address"),
        "no_packets": Row(
            "no_media",
            "one-way audio: the call is up, and in {timeout_s:g} s not one packet of sound came from the agent",
            "check audio_out_enabled in its transport, and the firewall for UDP from its side",
        ),
        "silent": Row(
            "no_media",
            "it is silent: {detail} came within {timeout_s:g} s, and no sign that it heard the caller",
            "check if its input is on, and the keys of its recogniser, model and voice",
        ),
        "one_way": Row(
            "no_media",
            "one-way audio: it heard the caller ({detail}), and no speech came back within {timeout_s:g} s",
            "check if its output is on, and the key of its voice",
        ),
        "no_end": Row(
            "no_media",
            "it heard the caller begin ({detail}), and no sign of the turn's end came within {timeout_s:g} s",
            "its turn detection did not fire on the caller's silence: try turn_detection with another threshold, "
            "silence_duration_ms or eagerness",
        ),
        "wrong_rate": Row(
            "no_media",
            "sound came, and no speech is in it at {rate_hz:,} Hz",
            "{detail}",
        ),
    }
)

_NO_TLS: Final = frozenset(("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL"))
"""What OpenSSL says of bytes that are no TLS."""
_EXPIRED, _EARLY, _SELF_SIGNED, _OTHER_NAME = 10, 9, (18, 19), (62, 64)
"""Codes of OpenSSL's X509_verify_cert."""
_NO_WAY: Final = frozenset((errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL))
_HUNG_UP: Final = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, EOFError)


@dataclass(frozen=True, slots=True)
class Place:
    """What a sentence says of an address. `route`: where agents of the kind usually serve it; `keys`: variables of the key."""

    scheme: str = "wss"
    route: str = ""
    keys: tuple[str, ...] = ()
    timeout_s: float = 15.0
    may_start: bool = False
    """True if such agents may want to be asked for a token first, and this one was not."""
    key_words: str = ""
    """How agents of the kind want a key, where that is not as usual."""

    @property
    def secure(self) -> bool:
        """True if the call is to be encrypted."""
        return self.scheme in ("wss", "https")


def sentence(fault: Fault, place: Place, *, status: int | str = "", detail: str = "", rate_hz: int = 0) -> str:
    """What is wrong and how it is mended, without the address."""
    web = place.scheme in ("http", "https")
    facts = {
        "secure": "https" if web else "wss",
        "plain": "http" if web else "ws",
        "route": place.route or "check its path",
        "keys": " and ".join(place.keys) or "if it wants a key (api_key_env, headers)",
        "token": ", if it gives a token for each call (start_url)" if place.may_start else "",
        "timeout_s": place.timeout_s,
        "status": status,
        "how": f" ({place.key_words})" if place.key_words else "",
        "detail": shown(detail, 200),
        "rate_hz": rate_hz,
    }
    row = ROWS[fault]
    return f"{row.wrong.format(**facts)}: {row.mend.format(**facts)}"


def failed(fault: Fault, place: Place, *, status: int | str = "", detail: str = "") -> ConnectionFailed:
    """The failure of a call for this fault."""
    return ConnectionFailed(sentence(fault, place, status=status, detail=detail), ROWS[fault].kind, fault)


def fault_of_status(status: int, keyed: bool) -> Fault:
    """The fault behind an HTTP status that is no success. `keyed`: a key was sent."""
    match status:
        case 401 | 407:
            return "wrong_key" if keyed else "no_key"
        case 402:
            return "no_credit"
        case 403:
            return "turned_away"
        case 404 | 405 | 410 | 426:
            return "no_route"
        case 429 | 503:
            return "busy"
    if 200 <= status < 300:
        return "no_route"
    if 300 <= status < 400:
        return "moved"
    return "server_error" if status >= 500 else "refused_otherwise"


_WORDS: Final[tuple[tuple[re.Pattern[str], Fault], ...]] = (
    (re.compile(r"concurren|too many (calls|sessions)", re.IGNORECASE), "busy"),
    (re.compile(r"credit|balance|billing|payment|free (minutes|tier)", re.IGNORECASE), "no_credit"),
    (re.compile(r"(?<!user.)\b(assistant|agent|squad)(Id)?\b.*\b(not found|exist|allow)|find (the )?(assistant|agent)", re.I),
     "no_agent"),
)  # fmt: skip
"""What a platform's refusal means by its words; the statuses that go with it differ (Vapi says 400 to all three)."""


def fault_of_refusal(status: int, keyed: bool, words: str) -> Fault:
    """The fault behind a refusal, by the server's words if they say more than its HTTP status."""
    if status in (400, 402, 403, 404, 409, 422, 429):
        for pattern, fault in _WORDS:
            if pattern.search(words):
                return fault
    return fault_of_status(status, keyed)


def fault_of_error(error: BaseException) -> tuple[Fault, str]:
    """The fault behind an error of a library, and a detail of it.

    `broken` and `not_http` are what bytes of the wrong protocol look like; only the port itself can tell (`diagnosis`).
    """
    found = list(_causes(error))
    for cause in found:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _of_certificate(cause)
        if isinstance(cause, socket.gaierror):
            return "unknown_host", ""
        if isinstance(cause, TimeoutError):
            return "unreachable", ""
        if isinstance(cause, OSError) and cause.errno in _NO_WAY:
            return "no_way", os.strerror(cause.errno)
        if isinstance(cause, ConnectionRefusedError) or "Connect call failed" in str(cause):
            return "nothing_listens", ""
    for cause in found:
        if isinstance(cause, ssl.SSLError):
            reason = cause.reason or ""
            if reason in _NO_TLS:
                return "no_tls", ""
            ended = isinstance(cause, ssl.SSLEOFError) or reason == "UNEXPECTED_EOF_WHILE_READING"
            return ("broken", "") if ended else ("tls_refused", reason.replace("_", " ").lower() or str(cause))
        if isinstance(cause, _HUNG_UP):
            return "broken", ""
    return "failed_otherwise", f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _of_certificate(error: ssl.SSLCertVerificationError) -> tuple[Fault, str]:
    words = error.verify_message.rstrip(".")
    if error.verify_code == _EXPIRED:
        return "certificate_expired", words
    if error.verify_code == _EARLY:
        return "certificate_early", words
    if error.verify_code in _OTHER_NAME:
        return "certificate_other_name", words
    if error.verify_code in _SELF_SIGNED:
        return "certificate_untrusted", "is self-signed, and this machine does not know it"
    return "certificate_untrusted", "is of an authority that this machine does not know"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and everything behind it, nearest first, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        cause = waiting.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        behind = cause.exceptions if isinstance(cause, BaseExceptionGroup) else ()
        waiting += [*behind, *(c for c in (cause.__cause__, cause.__context__) if c is not None)]
