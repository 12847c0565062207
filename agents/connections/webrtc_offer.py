"""The signalling of SmallWebRTC: one HTTP request with an offer, whose answer opens the call.

Source: `pipecat.transports.smallwebrtc.request_handler` of pipecat 1.14.
"""

from typing import Any

from harness.agents.connection import ConnectionFailed
from harness.agents.connections.credentials import Headers
from harness.agents.connections.http_request import post
from harness.agents.connections.what_to_check import Place


async def exchange(url: str, offer: dict[str, Any], headers: Headers, place: Place) -> dict[str, str]:
    """Send an offer; returns the answer (`sdp`, `type`).

    Raises:
        ConnectionFailed: there is none; one line that says why, and what to check.
    """
    answer = await post(url, offer, headers, place)
    if not isinstance(answer.get("sdp"), str) or answer.get("type") != "answer":
        raise ConnectionFailed('answered without {"sdp", "type": "answer"}: is it a SmallWebRTC address?', "garbage")
    return {"sdp": answer["sdp"], "type": "answer"}
