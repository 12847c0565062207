"""A small agent over a real socket, well-behaved or faulty in one named way.

`python agent.py --wire raw-pcm --behaviour echo` prints one JSON line when it is ready. `echo` says the caller's own last
words back after 300 ms of silence; every other behaviour is something that agents really do to a harness.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response
from wires import RATE_HZ, WIRES, PipecatPeer, RawPcmPeer

from harness.calibrate.voice import synthetic_voice

Peer = RawPcmPeer | PipecatPeer
QUIET, LOUD = 0.3, 200
"""Seconds of silence that end a turn, and the sample value above which there is speech."""
FAINT = 8
"""A two-hundredth of a caller's level: quieter than speech, louder than a pause."""
ANSWERS_AFTER_S, LATER_S, COMPUTES_S = 0.6, 1.5, 0.15
ANSWER_S = 0.8
"""Longer than the longest backchannel: in a shorter voice without words, the transcriber's guess decides whether it is one."""
THINKS_S = 0.4
CHUNK = RATE_HZ // 25 * 2


async def echo(peer: Peer) -> None:
    await peer.greet()
    await peer.mark("history_taken", turns=len(peer.history or []))
    said, silent, answered = bytearray(), 0.0, 0
    async for pcm in peer.hear():
        loud = bool(np.abs(np.frombuffer(pcm, "<i2").astype(int)).max(initial=0) > LOUD)
        silent = 0.0 if loud else silent + len(pcm) / 2 / RATE_HZ
        if loud or said:
            said += pcm
        if said and silent >= QUIET:
            words, said = bytes(said[: -int(QUIET * RATE_HZ) * 2]), bytearray()
            await peer.mark("turn_decided")
            await peer.transcript("user", "what the caller said")
            await peer.transcript("assistant", "what the caller said, again")
            for at in range(0, len(words), CHUNK):
                await peer.speak(words[at : at + CHUNK])
                await asyncio.sleep(0.02)
            answered += 1
            await peer.mark("reply_done", answered=answered)


async def thinks(peer: Peer) -> None:
    """As `answers`, but what it does before it speaks is work: `THINKS_S` of processor time."""
    await answers(peer, lambda: asyncio.to_thread(_work))


def _work() -> None:
    until_s = time.thread_time() + THINKS_S
    while time.thread_time() < until_s:
        pass


async def answers_late(peer: Peer) -> None:
    """As `answers`, but it waits `LATER_S` longer."""
    await answers(peer, after_s=ANSWERS_AFTER_S + LATER_S)


async def answers(
    peer: Peer,
    compute: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(COMPUTES_S),
    after_s: float = ANSWERS_AFTER_S,
) -> None:
    """A silence of `after_s` decides, every time anew; `COMPUTES_S` later `ANSWER_S` of voice are sent at once."""
    await peer.greet()
    sound = synthetic_voice(ANSWER_S, RATE_HZ, np.random.default_rng(5), 140.0)
    voice = np.round(sound / np.abs(sound).max() * 12_000).astype("<i2").tobytes()
    spoke, silent, replies = False, 0.0, set[asyncio.Task[None]]()

    async def reply() -> None:
        await peer.mark("turn_decided")
        await compute()
        await peer.speak(voice)

    async for pcm in peer.hear():
        if np.abs(np.frombuffer(pcm, "<i2").astype(int)).max(initial=0) > FAINT:
            spoke, silent = True, 0.0
            continue
        silent += len(pcm) / 2 / RATE_HZ
        if spoke and silent >= after_s:
            spoke = False
            replies.add(asyncio.create_task(reply()))


async def says_goodbye(peer: Peer) -> None:
    """It ends the call properly, soon after its first answer."""
    await _answers_once(peer, 0.9)
    await asyncio.sleep(0.2)


async def goes_on_and_on(peer: Peer) -> None:
    """Its first answer is a monologue of over a minute."""
    await _answers_once(peer, 70.0)
    await asyncio.sleep(3_600)


async def _answers_once(peer: Peer, lasting_s: float) -> None:
    """Pieces of voice with short gaps, sent as quickly as they are heard; the caller is listened to all the time."""
    await peer.greet()
    heard = asyncio.Event()

    async def listen() -> None:
        spoke, silent = False, 0.0
        async for pcm in peer.hear():
            loud = bool(np.abs(np.frombuffer(pcm, "<i2").astype(int)).max(initial=0) > FAINT)
            spoke, silent = spoke or loud, 0.0 if loud else silent + len(pcm) / 2 / RATE_HZ
            if spoke and silent >= ANSWERS_AFTER_S:
                heard.set()

    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(listen())
        await heard.wait()
        sound = synthetic_voice(0.6, RATE_HZ, np.random.default_rng(7), 120.0)
        piece = np.round(sound / np.abs(sound).max() * 9_000).astype("<i2").tobytes() + bytes(RATE_HZ // 5 * 2)
        said = piece * round(lasting_s / (len(piece) / 2 / RATE_HZ) + 0.5)
        for at in range(0, len(said), CHUNK):
            await peer.speak(said[at : at + CHUNK])
            await asyncio.sleep(CHUNK / 2 / RATE_HZ)
        listening.cancel()


async def never_answers(peer: Peer) -> None:
    await peer.greet()
    async for _ in peer.hear():
        pass


async def hangs(peer: Peer) -> None:
    await peer.greet()
    await asyncio.sleep(3_600)


async def floods(peer: Peer) -> None:
    await peer.greet()
    while True:
        await peer.speak(bytes(64_000))


async def floods_marks(peer: Peer) -> None:
    await peer.greet()
    while True:
        await peer.mark("x" * 1_000)


async def floods_at_once(peer: Peer) -> None:
    await peer.greet()
    await peer.speak(bytes(32 * 1024 * 1024))
    await asyncio.sleep(3_600)


async def garbage(peer: Peer) -> None:
    await peer.greet()
    await asyncio.sleep(0.3)
    await peer.garbage()
    await asyncio.sleep(3_600)


async def closes_early(peer: Peer) -> None:
    await peer.greet()
    await asyncio.sleep(0.3)


async def closes_after_reply(peer: Peer) -> None:
    await peer.greet()
    await peer.speak(bytes(32_000))


async def dies(peer: Peer) -> None:
    await peer.greet()
    await peer.speak(bytes(3_200))
    await asyncio.sleep(0.3)
    print("something is terribly wrong", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


async def does_not_acknowledge(peer: Peer) -> None:
    await peer.greet(acknowledge=False)
    await asyncio.sleep(3_600)


async def never_greets(_: Peer) -> None:
    await asyncio.sleep(3_600)


async def clears(peer: Peer) -> None:
    await peer.greet()
    await peer.speak(bytes(32_000))
    await peer.clear()
    await peer.speak(bytes(1_600))


async def turns_away(peer: Peer) -> None:
    await peer.socket.close()


BEHAVIOURS: dict[str, Callable[[Peer], Awaitable[None]]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        answers, answers_late, thinks, echo, never_answers, hangs, floods, floods_marks, floods_at_once, garbage,
        says_goodbye, goes_on_and_on, closes_early, closes_after_reply, dies, does_not_acknowledge, never_greets, clears,
        turns_away,
    )
}  # fmt: skip
BEFORE_READY = ("refuses-to-start", "never-ready", "leaves-children", "chatters")


def refuse(connection: ServerConnection, request: Request) -> Response:
    del request
    return connection.respond(HTTPStatus.FORBIDDEN, "go away")


def leave_children() -> None:
    """One child in the group, one that ignores SIGTERM, and a grandchild that detached itself as daemons do."""
    subprocess.Popen(["sleep", "3600"])
    subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
    subprocess.Popen(["sh", "-c", "setsid sleep 3600 & exit 0"]).wait()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--wire", choices=WIRES, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--behaviour", choices=[*BEHAVIOURS, *BEFORE_READY], required=True)
    options = parser.parse_args()
    if options.behaviour == "refuses-to-start":
        sys.exit("no model at /models/none.gguf")
    if options.behaviour == "never-ready":
        await asyncio.sleep(3_600)
    if options.behaviour == "leaves-children":
        leave_children()

    wire, behave = WIRES[options.wire], BEHAVIOURS.get(options.behaviour, echo)

    async def session(socket: ServerConnection) -> None:
        await behave(wire(socket))

    gate = refuse if options.behaviour == "turns-away" else None
    async with serve(session, "127.0.0.1", options.port, process_request=gate, compression=None) as server:
        port = server.sockets[0].getsockname()[1]
        # The address names the behaviour: in virtual time the caller hosts it itself (tests/virtual_time/caller.py).
        url = f"ws://127.0.0.1:{port}/{options.wire}/{options.behaviour}"
        print(json.dumps({"event": "ready", "url": url}), flush=True)
        if options.behaviour == "chatters":
            for _ in range(150):
                os.write(1, (b"x" * 1_023 + b"\n") * 1_024)
            print("the end", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
