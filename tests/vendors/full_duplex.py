"""A full-duplex agent on the raw-pcm wire: a unit of 80 ms every 80 ms from the opened line on, a murmur and the answer in it.

It murmurs `MURMUR_AFTER_S` after it first hears its caller, and answers as the other servers do. Between them it sends silence,
or with `--behaviour noisy` the noise of a poor line.
"""

import asyncio
import contextlib
import itertools
import json
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from harness.calibrate.agent import LOUD
from harness.calibrate.voice import synthetic_voice
from tests.vendors.answering import Answer, Truth, main

RATE_HZ = 24_000
UNIT_S = 0.08
SIZE = round(UNIT_S * RATE_HZ)
MURMUR_AFTER_S, MURMUR_S = 0.3, 0.35
NOISE_RMS = 32_768 * 10 ** (-58 / 20)


async def session(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """Answer one caller."""
    await socket.send(json.dumps({"type": "start", "sample_rate": RATE_HZ}))
    talk = _Talk(answer, noisy=behaviour == "noisy")
    sending = asyncio.create_task(talk.send(socket))
    try:
        async for message in socket:
            if isinstance(message, bytes):
                talk.hear(message)
    finally:
        sending.cancel()


@dataclass
class _Sound:
    """A sound that is due, and when it began."""

    due_s: float
    samples: NDArray[np.int32]
    truth: Truth | None = None
    begun_s: float | None = None


class _Talk:
    """What it says, laid into its units."""

    def __init__(self, answer: Answer, noisy: bool) -> None:
        self._answer = answer
        self._rng = np.random.default_rng(7)
        self._noise_rms = NOISE_RMS if noisy else 0.0
        voice = synthetic_voice(MURMUR_S, RATE_HZ, self._rng, 140.0)
        self._murmur = np.round(voice / np.abs(voice).max() * 8_000).astype(np.int32)
        self._sounds: list[_Sound] = []

    def hear(self, pcm: bytes) -> None:
        """Take a frame of the caller."""
        if not self._sounds and np.abs(np.frombuffer(pcm, "<i2").astype(np.int32)).max(initial=0) > LOUD:
            self._sounds.append(_Sound(time.monotonic() + MURMUR_AFTER_S, self._murmur))
        if self._answer.hears(pcm) and self._answer.due_s is not None:
            samples = np.frombuffer(self._answer.pcm, "<i2").astype(np.int32)
            self._sounds.append(_Sound(self._answer.due_s, samples, self._answer.truth))

    async def send(self, socket: ServerConnection) -> None:
        """Send units until the caller hangs up."""
        begun_s = time.monotonic()
        with contextlib.suppress(ConnectionClosed):
            for number in itertools.count():
                unit_s = begun_s + number * UNIT_S
                await asyncio.sleep(unit_s - time.monotonic())
                unit = np.round(self._noise_rms * self._rng.standard_normal(SIZE)).astype(np.int32)
                for sound in self._sounds:
                    _lay_into(unit, unit_s, sound)
                await socket.send(unit.clip(-32_768, 32_767).astype("<i2").tobytes())


def _lay_into(unit: NDArray[np.int32], unit_s: float, sound: _Sound) -> None:
    if sound.begun_s is None:
        if sound.due_s >= unit_s + UNIT_S:
            return
        sound.begun_s = max(sound.due_s, unit_s)
        if sound.truth is not None:
            sound.truth.onset_ms += (sound.begun_s - unit_s) * 1_000
            sound.truth.sent_ns = time.monotonic_ns()
    at = round((sound.begun_s - unit_s) * RATE_HZ)
    part = sound.samples[max(0, -at) : max(0, SIZE - at)]
    unit[max(0, at) : max(0, at) + len(part)] += part


if __name__ == "__main__":
    main(session, RATE_HZ, ("noisy",))
