"""The known agent over WebRTC (`harness.known.wires.webrtc`), with the faults of others: /FAULT/api/offer.

`no-rtvi` (takes what comes on the data channel, and says nothing); `mute` (the call is up, no sound is sent); `other-codec`
(agrees to PCMU alone); `sleeps` (takes the offer and says nothing); `loses` (every tenth packet of its sound is dropped);
`closes` (before it says anything); `garbled` (answers with something that is no answer).
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from itertools import count

from aiortc import RTCPeerConnection

from harness.caller.pacer import precise_loop
from harness.known.behaviours import Behaviour
from harness.known.server import Calls
from harness.known.wires.webrtc import picked_up, serve_offers

CALLS = Calls(Behaviour("fixed", "", delay_ms=300.0))
PEERS: list[RTCPeerConnection] = []
TASKS: list[asyncio.Task[None]] = []


async def answer(path: str, offer: Mapping[str, str], call: str | None) -> Mapping[str, str]:
    fault = path.split("/")[1]
    if fault == "sleeps":
        await asyncio.sleep(3_600)
    if fault == "garbled":
        return {"sdp": "v=0 and nothing more", "type": "answer"}
    peer = await picked_up(CALLS, path, offer, call)
    PEERS.append(peer)
    sdp = peer.localDescription.sdp
    if fault == "no-rtvi":
        peer.remove_all_listeners("datachannel")
    elif fault == "mute":
        peer.getSenders()[0].replaceTrack(None)
        sdp = sdp.replace("a=sendrecv", "a=recvonly")
    elif fault == "other-codec":
        sdp = sdp.replace("opus/48000/2", "PCMU/8000")
    elif fault == "loses":
        lose(peer)
    elif fault == "closes":
        TASKS.append(asyncio.create_task(close(peer)))
    return {"sdp": sdp, "type": "answer"}


async def close(peer: RTCPeerConnection) -> None:
    connected = asyncio.Event()
    peer.on("connectionstatechange", lambda: connected.set() if peer.connectionState == "connected" else None)
    await connected.wait()
    await asyncio.sleep(0.1)
    await peer.close()


def lose(peer: RTCPeerConnection) -> None:
    transport, number = peer.getSenders()[0].transport, count(1)
    send = transport._send_rtp

    async def sent(data: bytes) -> None:
        is_sound = data[1] & 0x7F not in range(72, 77)
        if not (is_sound and next(number) % 10 == 0):
            await send(data)

    setattr(transport, "_send_rtp", sent)  # noqa: B010


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        ready = lambda url: print(json.dumps({"event": "ready", "url": url}), flush=True)  # noqa: E731
        runner.run(serve_offers(answer, "127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 0, ready))
