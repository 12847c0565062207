"""An agent over a real socket that says a long reply and takes what sounds meanwhile in one known way.

`python talker.py --takes-it goes-on`: it answers 0.7 s after the caller's last loud sample with the file that PEER_REPLY names
(and the words in PEER_WORDS), a quarter of a second ahead of real time. Loudness is all it knows of the caller.
"""

import argparse
import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile
from websockets.asyncio.server import ServerConnection, serve
from wires import RATE_HZ, RawPcmPeer

ANSWERS_AFTER_S, AHEAD_S, LOUD = 0.7, 0.25, 200
STAYS_SILENT_S = 1.0
LOSES_S = 2.0
"""How much of its reply it skips, for the agent that loses words."""
CHUNK = RATE_HZ // 25

After = Callable[[int], int | None]
"""From the sample at which it stopped to the one at which it speaks again; None for never."""
TAKES_IT: dict[str, After | None] = {
    "goes-on": None,
    "stops": lambda _: None,
    "restarts": lambda _: 0,
    "loses-words": lambda at: at + round(LOSES_S * RATE_HZ),
}


async def talk(peer: RawPcmPeer, pcm: bytes, words: str, takes: After | None) -> None:
    await peer.greet()
    spoke, silent_s, disturbed = False, 0.0, asyncio.Event()
    talking: asyncio.Task[None] | None = None
    async for frame in peer.hear():
        loud = bool(np.abs(np.frombuffer(frame, "<i2").astype(int)).max(initial=0) > LOUD)
        if talking is not None:
            if loud:
                disturbed.set()
            continue
        spoke, silent_s = spoke or loud, 0.0 if loud else silent_s + len(frame) / 2 / RATE_HZ
        if spoke and silent_s >= ANSWERS_AFTER_S:
            talking = asyncio.create_task(_reply(peer, pcm, words, takes, disturbed))


async def _reply(peer: RawPcmPeer, pcm: bytes, words: str, takes: After | None, disturbed: asyncio.Event) -> None:
    await peer.transcript("assistant", words)
    loop, at = asyncio.get_running_loop(), 0
    began_s, began_at = loop.time() - AHEAD_S, 0
    heeds = takes is not None
    while at < len(pcm) // 2:
        if heeds and takes is not None and disturbed.is_set():
            await peer.clear()
            again = takes(began_at + round((loop.time() - began_s - AHEAD_S) * RATE_HZ))
            if again is None:
                return
            await asyncio.sleep(STAYS_SILENT_S)
            at, heeds = again, False
            began_s, began_at = loop.time() - AHEAD_S, at
        await peer.speak(pcm[2 * at : 2 * (at + CHUNK)])
        at += CHUNK
        await asyncio.sleep(max(0.0, began_s + (at - began_at) / RATE_HZ - loop.time()))


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--takes-it", choices=TAKES_IT, required=True)
    takes = TAKES_IT[parser.parse_args().takes_it]
    samples, rate_hz = soundfile.read(Path(os.environ["PEER_REPLY"]), dtype="int16")
    assert rate_hz == RATE_HZ

    async def session(socket: ServerConnection) -> None:
        await talk(RawPcmPeer(socket), samples.astype("<i2").tobytes(), os.environ["PEER_WORDS"], takes)

    async with serve(session, "127.0.0.1", 0, compression=None) as server:
        port = server.sockets[0].getsockname()[1]
        print(json.dumps({"event": "ready", "url": f"ws://127.0.0.1:{port}/ws"}), flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
