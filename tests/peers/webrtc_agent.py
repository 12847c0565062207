"""A WebRTC peer of known behaviour, written with aiortc alone: what the harness's figures over WebRTC are held against.

It takes offers at /api/offer, or at /BEHAVIOUR/api/offer, hears its caller end by level, waits its programmed time, and
speaks; the truth of each call (when the packet that holds the onset was handed to the socket, and where in it the voice
begins) is read at /truth. Behaviours: `answers`; `mute` (the call is up, no sound is sent); `other-codec` (agrees to PCMU
alone); `sleeps` (takes the offer and says nothing); `loses` (every tenth packet of its sound is dropped); `hangs-up` (before
it says anything); `garbled` (answers with something that is no answer).
"""

import argparse
import asyncio
import json
import logging
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import soxr
from aiohttp import web
from aiortc import RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.mediastreams import MediaStreamTrack
from av import AudioFrame

from harness.calibrate.program import AGENT_HZ, REPLY_S, draw, render, sentence, voices
from harness.caller.server import raise_priority

RATE_HZ = 48_000
FRAME = RATE_HZ // 50
FRAME_MS = 20
LOUD = 200


class Mouth(MediaStreamTrack):
    """Silence without pause, and a reply that begins with the frame that is due."""

    kind = "audio"

    def __init__(self, truth: dict[str, Any]) -> None:
        super().__init__()
        self._truth = truth
        self._began = 0.0
        self._frames = 0
        self._reply = np.zeros(0, np.int16)
        self._due = float("inf")

    def speak(self, samples: Any, due: float) -> None:
        self._reply, self._due = samples, due

    async def recv(self) -> AudioFrame:
        self._began = self._began or time.monotonic()
        await asyncio.sleep(self._began + self._frames * FRAME / RATE_HZ - time.monotonic())
        now = time.monotonic()
        samples = np.zeros(FRAME, np.int16)
        if now >= self._due and len(self._reply):
            self._truth["handed"] = self._truth.get("handed", 0) + 1
            part, self._reply = self._reply[:FRAME], self._reply[FRAME:]
            samples[: len(part)] = part
        frame = AudioFrame.from_ndarray(samples[None, :], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE_HZ, self._frames * FRAME, Fraction(1, RATE_HZ)
        self._frames += 1
        return frame


class Agent:
    def __init__(self, behaviour: str, seed: int, delay_s: float | None) -> None:
        self._behaviour = behaviour
        self._rng = np.random.default_rng(seed)
        self._delay_s = delay_s
        self._peers: list[RTCPeerConnection] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.truths: list[dict[str, Any]] = []

    async def offer(self, request: web.Request) -> web.Response:
        behaviour = request.match_info.get("behaviour", self._behaviour)
        if behaviour == "sleeps":
            await asyncio.sleep(3_600)
        if behaviour == "garbled":
            return web.json_response({"sdp": "v=0 and nothing more", "type": "answer"})
        asked = await request.json()
        peer = RTCPeerConnection()
        self._peers.append(peer)
        truth: dict[str, Any] = {}
        mouth = Mouth(truth)
        program = draw(self._rng)
        if self._delay_s is not None:
            program = replace(program, delay_s=self._delay_s)
        samples, onset_ms = render(program)
        truth |= {"onset_ms": onset_ms, "delay_s": program.delay_s}
        self.truths.append(truth)
        reply = soxr.resample(samples, AGENT_HZ, RATE_HZ, quality="VHQ").astype(np.int16)

        @peer.on("track")
        def on_track(track: MediaStreamTrack) -> None:
            self._tasks.append(asyncio.create_task(listen(track, mouth, reply, program.delay_s)))

        await peer.setRemoteDescription(RTCSessionDescription(asked["sdp"], asked["type"]))
        transceiver = peer.getTransceivers()[0]
        transceiver.direction = "recvonly" if behaviour == "mute" else "sendrecv"
        if behaviour != "mute":
            transceiver.sender.replaceTrack(mouth)
        await peer.setLocalDescription(await peer.createAnswer())
        sdp = peer.localDescription.sdp
        if behaviour == "other-codec":
            sdp = sdp.replace("opus/48000/2", "PCMU/8000")
        watch(transceiver.sender, truth, loses=behaviour == "loses")
        if behaviour == "hangs-up":
            self._tasks.append(asyncio.create_task(hang_up(peer)))
        return web.json_response({"sdp": sdp, "type": "answer"})

    async def truth(self, _: web.Request) -> web.Response:
        return web.json_response(self.truths)


async def hang_up(peer: RTCPeerConnection) -> None:
    connected = asyncio.Event()
    peer.on("connectionstatechange", lambda: connected.set() if peer.connectionState == "connected" else None)
    await connected.wait()
    await asyncio.sleep(0.1)
    await peer.close()


def watch(sender: RTCRtpSender, truth: dict[str, Any], *, loses: bool) -> None:
    """Stamp the packet that follows the frame with the onset; frames are sent one by one, and at once when one was late."""
    send, count = sender.transport._send_rtp, 0

    async def watched(data: bytes) -> None:
        nonlocal count
        is_sound = data[1] & 0x7F not in range(72, 77)
        count += is_sound
        if is_sound and truth.get("handed") == truth["onset_ms"] // FRAME_MS + 1:
            truth.setdefault("sent_ns", time.monotonic_ns())
        if not (loses and is_sound and count % 10 == 0):
            await send(data)

    setattr(sender.transport, "_send_rtp", watched)  # noqa: B010


async def listen(track: MediaStreamTrack, mouth: Mouth, reply: Any, delay_s: float) -> None:
    """Wait for the caller's end, by level, and let the reply be due."""
    loud_at: float | None = None
    while True:
        frame = await track.recv()
        assert isinstance(frame, AudioFrame)
        now = time.monotonic()
        if np.abs(frame.to_ndarray().astype(np.int32)).max() > LOUD:
            loud_at = now
        elif loud_at is not None and now - loud_at > 0.06:
            mouth.speak(reply, max(now, loud_at + delay_s))
            return


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--behaviour", default="answers")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delay-s", type=float)
    parser.add_argument("--first", action="store_true", help="ahead of others on the machine: a ruler must not be late itself")
    asked = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    if asked.first:
        raise_priority()

    async def serve() -> None:
        agent = Agent(asked.behaviour, asked.seed, asked.delay_s)
        app = web.Application()
        app.router.add_post("/api/offer", agent.offer)
        app.router.add_post("/{behaviour}/api/offer", agent.offer)
        app.router.add_get("/truth", agent.truth)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", asked.port)
        await site.start()
        port = runner.addresses[0][1]
        for voice in voices():
            sentence(voice, "Hello.", REPLY_S)
        print(json.dumps({"event": "ready", "url": f"http://127.0.0.1:{port}/api/offer"}), flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
