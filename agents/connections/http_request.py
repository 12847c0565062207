"""One HTTP request before a call: WebRTC's offer, the request that starts a bot, or the one for its address.

Whatever is wrong here is wrong before a call exists, and most of it is the user's to mend: each fault is a row of
`harness.agents.connections.what_to_check`.
"""

from collections.abc import Mapping
from typing import Any, Final

import httpx2

from harness.agents.connection import ConnectionFailed
from harness.agents.connections.credentials import Headers
from harness.agents.connections.diagnosis import explained, explained_status, settled, timed_out, trusted, words_in
from harness.agents.connections.what_to_check import Fault, Place, failed
from harness.agents.this_machine import is_loopback
from harness.foreign_files import FileFault, read_json

MOST_BYTES: Final = 1 << 20
"""Most bytes of an answer: an SDP with a hundred candidates takes 20 kB."""
_UNPACKED: Final = (("Accept-Encoding", "identity"),)
"""Packed, a few bytes could become more than this machine holds."""


async def post(url: str, body: Mapping[str, Any], headers: Headers, place: Place) -> dict[str, Any]:
    """Send a JSON object; returns the object that is answered.

    Raises:
        ConnectionFailed: there is none; one line that says why, and what to check.
    """
    return await _answer("POST", url, body, headers, place)


async def get(url: str, headers: Headers, place: Place) -> dict[str, Any]:
    """The JSON object at an address.

    Raises:
        ConnectionFailed: there is none; one line that says why, and what to check.
    """
    return await _answer("GET", url, None, headers, place)


async def _answer(method: str, url: str, body: Mapping[str, Any] | None, headers: Headers, place: Place) -> dict[str, Any]:
    try:
        async with (
            httpx2.AsyncClient(timeout=place.timeout_s, trust_env=not is_loopback(url), verify=trusted()) as client,
            client.stream(method, url, json=body, headers=(*_UNPACKED, *headers)) as answer,
        ):
            content = await _most_of(answer)
    except httpx2.TimeoutException as error:
        raise await timed_out(url, place) from error
    except httpx2.RemoteProtocolError as error:
        fault: Fault = "broken" if "disconnected" in str(error) else "not_http"
        raise await settled(fault, "", url=url, place=place) from error
    except (httpx2.ReadError, httpx2.WriteError) as error:
        raise await settled("broken", "", url=url, place=place) from error
    except httpx2.ProxyError as error:
        raise failed("proxy", place, detail=str(error)) from error
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        raise failed("bad_address", place, detail=str(error)) from error
    except httpx2.HTTPError as error:
        raise await explained(error, url, place) from error
    if not answer.is_success:
        raise await explained_status(answer.status_code, url, place, words_in(content))
    try:
        found = read_json(content)
    except FileFault as error:
        raise ConnectionFailed("answered with something that is not JSON: check the address", "garbage") from error
    if not isinstance(found, dict):
        raise ConnectionFailed("answered with JSON that is no object: check the address", "garbage")
    return found


async def _most_of(answer: httpx2.Response) -> bytes:
    content = b""
    async for piece in answer.aiter_raw():
        content += piece
        if len(content) > MOST_BYTES:
            raise ConnectionFailed(f"answered with more than {MOST_BYTES >> 20} MiB: check the address", "garbage")
    return content
