"""An automatic person at a loop of sound: it hears what the browser plays, and speaks after a known wait.

A person who measured a wait with a clock of its own would add that clock's error to the one that is to be found. So this one
counts samples: for every chunk that it reads from the ears it writes one chunk to the mouth, and speech that is due `n` samples
after the caller's last one is written exactly `n` samples after it in the same stream. How long its own buffers hold the sound
(its D) is the same for speech as for headphones held to the microphone, so that the loop-back trial measures it along, and
taking the latency off removes it.

It reads commands as lines of JSON on its standard input and writes what it did as lines of JSON on its output:

- {"do": "hold", "on": true}: hold the headphones to the microphone
- {"do": "answer", "after_ms": 700, "sound": PATH, "caller_samples": n | null, "quiet_ms": 600, "always": false}: speak when the
  next caller has ended; with the caller's length given the wait may be negative. Without it the caller has ended when it was
  silent for `quiet_ms`
- {"do": "never"}: answer no more
- {"do": "say", "sound": PATH}: speak now
- {"do": "leak", "db": -30 | null}, {"do": "noise", "db": -75}, {"do": "music", "on": true}, {"do": "clip", "on": true}
"""

import argparse
import ctypes
import json
import queue
import sys
import threading
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import soundfile
from numpy.typing import NDArray

RATE_HZ: Final = 48_000
CHUNK: Final = 480
"""10 ms: the finest step in which an automatic person hears and decides."""
AHEAD: Final = 14_400
"""Samples written before the first is read: the mouth has them to play while this process waits for the processor (300 ms)."""
HEARD: Final = 100
"""Least size of a sample that counts as heard (−50 dB): over the browser's rounding, below any edge of a word."""
ROOM_DB: Final = -75.0
"""The room's own noise: no microphone gives exact zeros."""
Float64 = NDArray[np.float64]


class _Format(ctypes.Structure):
    _fields_ = (("format", ctypes.c_int), ("rate", ctypes.c_uint32), ("channels", ctypes.c_uint8))


class _Buffer(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("maxlength", "tlength", "prebuf", "minreq", "fragsize"))


class _Stream:
    """One stream of PulseAudio's simple interface: 48 kHz, mono, 16 bit."""

    def __init__(self, server: str, device: str, *, record: bool) -> None:
        self._library = ctypes.CDLL("libpulse-simple.so.0")
        self._library.pa_simple_new.restype = ctypes.c_void_p
        default = 2**32 - 1
        # Without a prebuffer a mouth that ran dry goes on where it would have been, instead of later.
        attributes = _Buffer(default, 2 * AHEAD, 0, 2 * CHUNK, 2 * CHUNK)
        error = ctypes.c_int()
        stream = self._library.pa_simple_new(
            server.encode(), b"automatic person", 2 if record else 1, device.encode(), b"sound",
            ctypes.byref(_Format(3, RATE_HZ, 1)), None, ctypes.byref(attributes), ctypes.byref(error),
        )  # fmt: skip
        if not stream:
            raise OSError(f"PulseAudio gives no stream at {device} (error {error.value})")
        self._stream = ctypes.c_void_p(stream)

    def read(self) -> NDArray[np.int16]:
        buffer = ctypes.create_string_buffer(2 * CHUNK)
        self._checked(self._library.pa_simple_read, buffer, len(buffer))
        return np.frombuffer(buffer, np.int16)

    def write(self, samples: NDArray[np.int16]) -> None:
        data = samples.tobytes()
        self._checked(self._library.pa_simple_write, data, len(data))

    def _checked(self, call: Any, data: Any, size: int) -> None:
        error = ctypes.c_int()
        if call(self._stream, data, ctypes.c_size_t(size), ctypes.byref(error)) < 0:
            raise OSError(f"the sound loop ended (error {error.value})")


@dataclass(frozen=True)
class Answer:
    after: int
    sound: Float64
    caller_samples: int | None
    quiet: int
    always: bool


class Person:
    """What it hears, chunk by chunk, and what it says to each."""

    def __init__(self) -> None:
        self.at = 0
        self._random = np.random.default_rng(0)
        self._hold = self._music = self._clip = False
        self._leak, self._noise = 0.0, 10 ** (ROOM_DB / 20)
        self._answer: Answer | None = None
        self._began: int | None = None
        self._last_heard = 0
        self._saying: list[tuple[int, Float64]] = []

    def obey(self, command: dict[str, Any]) -> None:
        match command["do"]:
            case "hold":
                self._hold = bool(command["on"])
            case "music":
                self._music = bool(command["on"])
            case "clip":
                self._clip = bool(command["on"])
            case "leak":
                self._leak = 0.0 if command["db"] is None else 10 ** (command["db"] / 20)
            case "noise":
                self._noise = 10 ** (command["db"] / 20)
            case "never":
                self._answer = None
            case "say":
                self._saying.append((self.at, _sound(command["sound"])))
                _report(event="spoke", at=self.at)
            case "answer":
                self._answer = Answer(
                    round(command["after_ms"] * RATE_HZ / 1_000), _sound(command["sound"]), command.get("caller_samples"),
                    round(command.get("quiet_ms", 600) * RATE_HZ / 1_000), bool(command.get("always", False)),
                )  # fmt: skip
                self._began = None
            case other:
                raise ValueError(f"no such command: {other}")

    def turn(self, heard: NDArray[np.int16]) -> NDArray[np.int16]:
        """The chunk to say for the one just heard."""
        ears = heard / 32_768
        if not self._hold:
            self._listen(heard)
        said = self._noise * self._random.standard_normal(CHUNK)
        if self._hold:
            said += 0.5 * ears
        said += self._leak * ears
        if self._music:
            at = (self.at + np.arange(CHUNK)) / RATE_HZ
            said += 0.05 * sum(np.sin(2 * np.pi * hz * at) for hz in (220.0, 277.2, 329.6, 440.0))
        for start, sound in self._saying:
            low, high = max(start, self.at), min(start + len(sound), self.at + CHUNK)
            if low < high:
                said[low - self.at : high - self.at] += sound[low - start : high - start] * (20 if self._clip else 1)
        self.at += CHUNK
        self._saying = [(start, sound) for start, sound in self._saying if start + len(sound) > self.at]
        return np.clip(np.rint(said * 32_768), -32_768, 32_767).astype(np.int16)

    def _listen(self, heard: NDArray[np.int16]) -> None:
        loud = np.flatnonzero(np.abs(heard.astype(np.int32)) >= HEARD)
        if len(loud):
            if self._began is None:
                self._began = self.at + int(loud[0])
            self._last_heard = self.at + int(loud[-1])
        answer = self._answer
        if answer is None or self._began is None:
            return
        if answer.caller_samples is not None:
            end = self._began + answer.caller_samples
        elif self.at + CHUNK - self._last_heard >= answer.quiet:
            end = self._last_heard + 1
        else:
            return
        if end + answer.after >= self.at + 2 * CHUNK and answer.caller_samples is not None:
            return
        start = max(end + answer.after, self.at)
        self._saying.append((start, answer.sound))
        _report(
            event="answered", caller_began=self._began, caller_ended=end, waited=start - end, late=start > end + answer.after
        )
        self._began = None
        if not answer.always or answer.caller_samples is not None:
            self._answer = None


def _sound(path: str) -> Float64:
    samples, rate_hz = soundfile.read(path)
    if rate_hz != RATE_HZ or samples.ndim != 1:
        raise ValueError(f"{path}: must be mono at 48 kHz")
    return np.asarray(samples, np.float64)


def _report(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--ears", default="ears.monitor")
    parser.add_argument("--mouth", default="mouth")
    asked = parser.parse_args()
    commands: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=lambda: [commands.put(command) for command in sys.stdin], daemon=True).start()
    person = Person()
    mouth = _Stream(asked.server, asked.mouth, record=False)
    mouth.write(np.zeros(AHEAD, np.int16))
    ears = _Stream(asked.server, asked.ears, record=True)
    _report(event="ready")
    while True:
        heard = ears.read()
        while not commands.empty():
            person.obey(json.loads(commands.get()))
            _report(event="obeyed", at=person.at)
        mouth.write(person.turn(heard))


if __name__ == "__main__":
    main()
