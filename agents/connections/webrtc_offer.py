"""The signalling of SmallWebRTC: one HTTP request with an offer, whose answer opens the call, and its error messages.

pipecat's runner takes offers at `/api/offer`, its cloud and others under a key. Whatever is wrong here is wrong before a call
exists, and most of it is the user's to mend: so each case has its own line.

Source: `pipecat.transports.smallwebrtc.request_handler` of pipecat 1.14.
"""

import json
from typing import Any, Final

import httpx

from harness.agents.connection import ConnectionFailed
from harness.agents.connections.wire import shown
from harness.agents.this_machine import is_loopback

MOST_BYTES: Final = 1 << 20
"""Most bytes of an answer: an SDP with a hundred candidates takes 20 kB."""


async def exchange(url: str, offer: dict[str, Any], timeout_s: float, key: str | None = None) -> dict[str, str]:
    """Send an offer; returns the answer (`sdp`, `type`).

    Raises:
        ConnectionFailed: there is none; one line that says why, and what to check.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with httpx.AsyncClient(timeout=timeout_s, trust_env=not is_loopback(url)) as client:
            answer = await client.post(url, json=offer, headers=headers)
    except httpx.ConnectTimeout as error:
        raise ConnectionFailed(f"no connection within {timeout_s:g} s: is the machine on, and its port open?") from error
    except httpx.TimeoutException as error:
        what = f"it took the offer and did not answer within {timeout_s:g} s: is it still starting? (open_timeout_s)"
        raise ConnectionFailed(what, "open_timeout") from error
    except httpx.ConnectError as error:
        raise ConnectionFailed(_no_connection(str(error))) from error
    except httpx.RemoteProtocolError as error:
        raise ConnectionFailed("what answers there is no HTTP server: check the port, and http or https") from error
    except (httpx.ReadError, httpx.WriteError) as error:
        raise ConnectionFailed("the line broke before an answer came: check the port, and http or https") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ConnectionFailed(f"the offer could not be sent: {shown(str(error))}") from error
    if answer.status_code != 200:
        raise ConnectionFailed(_refused(answer.status_code, answer.text))
    return _read(answer.content)


def _no_connection(error: str) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in error:
        why = "has expired" if "expired" in error else "is not trusted"
        return f"its TLS certificate {why}: {shown(error.rpartition('failed: ')[2], 80)}"
    if "SSL" in error or "TLS" in error:
        return "it does not speak TLS there: try http:// in place of https://"
    if "Name or service not known" in error or "getaddrinfo" in error or "nodename" in error:
        return "no machine of that name: check url"
    return "nothing listens there"


def _refused(status: int, text: str) -> str:
    match status:
        case 401 | 403:
            return f"refused (HTTP {status}): check the key that api_key_env names"
        case 404 | 405:
            return f"no offers are taken at this address (HTTP {status}): pipecat's runner takes them at /api/offer"
        case 429 | 503:
            return f"busy (HTTP {status}): it takes no further caller at present"
    return f"refused the offer (HTTP {status}: {shown(text)})"


def _read(content: bytes) -> dict[str, str]:
    try:
        answer = json.loads(content[:MOST_BYTES])
    except ValueError as error:
        raise ConnectionFailed("answered the offer with something that is not JSON: check url", "garbage") from error
    if not isinstance(answer, dict) or not isinstance(answer.get("sdp"), str) or answer.get("type") != "answer":
        raise ConnectionFailed('answered without {"sdp", "type": "answer"}: is it a SmallWebRTC address?', "garbage")
    return {"sdp": answer["sdp"], "type": "answer"}
