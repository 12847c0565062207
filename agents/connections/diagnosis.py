"""The cause of a call that could not be placed, found at the port itself where the error leaves it open.

A server that hangs up on a caller, and one that speaks another protocol, raise the same error. A second connection tells them
apart: does anybody listen there, and is it TLS that they speak? It is made after a failure only, and in two seconds at most.
"""

import asyncio
import ssl
from functools import cache
from os import environ
from typing import Final
from urllib.parse import urlsplit

from harness.agents.connection import ConnectionFailed
from harness.agents.connections.refusals import refusal_in
from harness.agents.connections.what_to_check import Fault, Place, failed, fault_of_error, fault_of_refusal
from harness.agents.connections.wire import Garbage, parse_object, shown

PROBE_S: Final = 2.0
_MOST_WORDS: Final = 160
_SAID: Final = ("err_msg", "message", "detail", "description", "error")
"""Where servers put the sentence of a refusal: Deepgram, Vapi, Ultravox and the OpenAI protocol, then what is usual."""
_ALERTED: Final = "ALERT"
"""In OpenSSL's name of what a server of TLS refuses: it does speak TLS."""


async def explained(error: BaseException, url: str, place: Place) -> ConnectionFailed:
    """The failure to raise for an error of a library; `url` is the address that was dialled."""
    return await settled(*fault_of_error(error), url=url, place=place)


async def explained_status(status: int, url: str, place: Place, detail: str = "", body: bytes = b"") -> ConnectionFailed:
    """The failure to raise for an HTTP status that is no success. `body`: the answer's, whose code may say how it is mended."""
    if status == 400 and not place.secure and await speaks_tls(url):
        return failed("needs_tls", place)
    fault = fault_of_refusal(status, bool(place.keys), detail)
    if fault not in ("no_key", "wrong_key") and (refused := refusal_in(body)) is not None:
        return refused.failure(f"HTTP {status}, ")
    return failed(fault, place, status=f"HTTP {status}" if fault == "busy" else status, detail=f": {detail}" if detail else "")


def words_in(body: bytes) -> str:
    """The words of a server's refusal: the sentence in its JSON, or all of a short text; empty for a page of a website."""
    text = body.decode("utf-8", "replace").strip()
    try:
        found = parse_object(text)
    except Garbage:
        return "" if text.startswith("<") else shown(text, _MOST_WORDS)
    inner = found.get("error")
    for said in (found, inner if isinstance(inner, dict) else {}):
        for name in _SAID:
            words = said.get(name)
            words = ", ".join(map(str, words)) if isinstance(words, list) else words
            if isinstance(words, str) and words:
                return shown(words.rstrip(". "), _MOST_WORDS)
    return shown(text, _MOST_WORDS)


async def settled(fault: Fault, detail: str, *, url: str, place: Place) -> ConnectionFailed:
    """The failure of a fault, once the port has been asked if the protocol is the wrong one."""
    if fault in ("broken", "not_http"):
        tls = await speaks_tls(url)
        if tls is not None and tls != place.secure:
            return failed("no_tls" if place.secure else "needs_tls", place)
    return failed(fault, place, detail=detail)


async def timed_out(url: str, place: Place) -> ConnectionFailed:
    """The failure of a call that got no answer in time: nobody could be reached, they sleep, or they wait for a request in
    plain text to end while TLS is spoken to them."""
    if not await serves(url):
        return failed("unreachable", place)
    plain = place.secure and not await speaks_tls(url) and await _speaks_plainly(url)
    return failed("no_tls" if plain else "asleep", place)


async def serves(url: str) -> bool:
    """True if the host and port of an address accept connections."""
    try:
        async with asyncio.timeout(PROBE_S):
            _, writer = await asyncio.open_connection(*_host_and_port(url))
    except (OSError, TimeoutError, ValueError):
        return False
    writer.close()
    return True


async def speaks_tls(url: str) -> bool | None:
    """True if TLS is spoken at the host and port of an address; None if nobody answers there."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        host, port = _host_and_port(url)
        async with asyncio.timeout(PROBE_S):
            _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
    except ssl.SSLError as error:
        return _ALERTED in (error.reason or "")
    except (ConnectionResetError, BrokenPipeError, EOFError):
        return False
    except (OSError, TimeoutError, ValueError):
        return None
    writer.close()
    return True


async def _speaks_plainly(url: str) -> bool:
    """True if a request without TLS is answered."""
    try:
        async with asyncio.timeout(PROBE_S):
            reader, writer = await asyncio.open_connection(*_host_and_port(url))
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            begun = await reader.read(5)
    except (OSError, TimeoutError, ValueError):
        return False
    writer.close()
    return begun.startswith(b"HTTP")


def trusted() -> ssl.SSLContext:
    """The certificates that this machine trusts, for every wire: the system's, `SSL_CERT_FILE`'s, and Mozilla's."""
    return _trusted(environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR"))


@cache
def _trusted(*_: str | None) -> ssl.SSLContext:
    # Reading the certificates takes milliseconds, in the process that paces calls: once.
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or (443 if parts.scheme in ("https", "wss") else 80)
