"""Scripted stand-ins for the models of a cascade, so that a stage can be seen without the others' work.

A stage is slow for its own reasons or because another takes the processor, the GPU or the interpreter from it. Only a run
without the other shows which. A stand-in answers as a model would, after a fixed time in which it sleeps; voice detection,
endpointing, aggregation, cutting and sending run unchanged. No model is loaded for it, so it takes no memory either.

The load test gives the choice to the agent's process; no profile can. A stage with a stand-in has no time of its own.
"""

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.cascade.recogniser import RATE_HZ, Heard

ASR_S: Final = 0.05
"""What Moonshine takes for three seconds of speech on an idle core (`harness.agents.cascade.moonshine`)."""
WORDS: Final = "It has been a long week and I do not sleep well because I keep thinking of what I said"
"""Said again and again, for a prompt about as long as with the recogniser: of a shorter one the model has less to read."""
WORDS_A_SECOND: Final = 2.5
"""The callers' own: `harness plan` estimates 0.4 s a word."""
UNFINISHED: Final = "and I"
"""The end of every transcript. A stand-in hears no end of a turn, and must not cut a caller off who only pauses."""
STATES_A_SECOND: Final = 1000 / 24
STATE_WIDTH: Final = 288
"""Moonshine's, which an ear for holding cues reads."""

FIRST_TOKEN_S: Final = 0.1
"""A quick model's, so that voice and recogniser do not work at the same instant, which no real model lets them do."""
TOKEN_S: Final = 0.02
"""A word: 14 ms a token on two idle cores (`LlmSettings.threads`), and four words are five to six tokens."""
REPLY: Final = "That sounds like a lot to carry. You miss her, and you wish it had gone otherwise. What would you tell her now?"
"""Three sentences and 23 words: within the rules of a reply (`ReplySettings`), and enough pieces for a voice."""

TTS_S: Final = 0.04
"""The first sound of three to ten words on two idle cores (`harness.agents.cascade.voice_in_parts`)."""
VOICE_RATE_HZ: Final = 24_000
"""pipecat's own rate of output: nothing has to be resampled."""
WORD_SOUND_S: Final = 0.35
"""A reply of a language model lasts as long as its words, and so does the time for which the agent sends."""
SOUND_MS: Final = 10_000.0
"""More than a piece of a reply; a longer one repeats it."""
LEVEL_DB: Final = -21.0
"""As loud as the voices that ship (`harness.agents.cascade.voice_hibari.GAIN`)."""


class StandInRecogniser:
    """A recogniser that hears the same words in every sound. Its tokens are places among them."""

    piece_from_s = 1.5
    stretch_most_s = 9.0
    """Both as of Moonshine: pieces are closed and heard again as often."""

    def transcribe(
        self,
        samples: NDArray[np.float32],
        least_words: int = 0,
        known: Sequence[int] = (),
        stop: threading.Event | None = None,
    ) -> Heard:
        """As many words as people say in this time."""
        del known
        _sleep(ASR_S, stop)
        words = max(1, least_words, round(len(samples) / RATE_HZ * WORDS_A_SECOND))
        tokens = tuple(range(words))
        return Heard(f"{self.text_of(tokens)} {UNFINISHED}", 0, tokens)

    def text_of(self, tokens: Sequence[int]) -> str:
        words = WORDS.split()
        return " ".join(words[token % len(words)] for token in tokens)

    def agreed(self, one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
        """The beginning that two transcripts share, without its last word, as Moonshine gives it."""
        return tuple(one[: max(0, min(len(one), len(other)) - 1)])

    def states(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """An encoder's states, all zero: they give nothing away."""
        return np.zeros((max(1, round(len(samples) / RATE_HZ * STATES_A_SECOND)), STATE_WIDTH), np.float32)


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a transcript, with what pipecat's Whisper service reads of one."""

    text: str
    no_speech_prob: float = 0.0


class StandInWhisper:
    """The same words with the interface of a faster-whisper model, for pipecat's own Whisper service."""

    def __init__(self) -> None:
        self._recogniser = StandInRecogniser()

    def transcribe(self, audio: NDArray[np.float32], **_settings: Any) -> tuple[list[Segment], None]:
        return [Segment(self._recogniser.transcribe(audio).text)], None


@dataclass(frozen=True, slots=True)
class StandInConfig:
    """The part of a Piper voice's configuration that services read."""

    sample_rate: int = VOICE_RATE_HZ


@dataclass(frozen=True, slots=True)
class StandInChunk:
    """Sound in the form of Piper's chunks."""

    audio_int16_bytes: bytes


class StandInVoice:
    """A voice with one scripted sound, as long as the words need, with the interface of a Piper voice."""

    config = StandInConfig()

    def __init__(self) -> None:
        from harness.agents.scripted_sound import Piece, render

        self._sound = render([Piece(kind="voice", ms=SOUND_MS, level_db=LEVEL_DB)], VOICE_RATE_HZ)

    def synthesize(self, text: str) -> Iterator[StandInChunk]:
        """The sound, at once and whole."""
        time.sleep(TTS_S)
        count = round(max(1, len(text.split())) * WORD_SOUND_S * VOICE_RATE_HZ)
        yield StandInChunk(np.resize(self._sound, count).astype("<i2").tobytes())


class StandInLlm:
    """An OpenAI-compatible server on a port of this machine that gives every request the same reply, word by word."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        """Open the port; returns the address for a client."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def stop(self) -> None:
        """Close the port. Safe to call twice."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A client that has heard enough, or was interrupted, closes in the middle of a reply.
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = next((int(row.partition(":")[2]) for row in head.split("\r\n") if row.startswith("content-length:")), 0)
            asked = json.loads(await reader.readexactly(length)) if length else {}
            await (self._stream(writer) if asked.get("stream") else self._whole(writer))
        writer.close()

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        await _send(writer, _head("text/event-stream"))
        await asyncio.sleep(FIRST_TOKEN_S)
        for number, word in enumerate(REPLY.split()):
            if number:
                await asyncio.sleep(TOKEN_S)
            await _send(writer, _event({"content": f" {word}" if number else word}, None))
        await _send(writer, _event({}, "stop") + b"data: [DONE]\n\n")

    async def _whole(self, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(FIRST_TOKEN_S + TOKEN_S * len(REPLY.split()))
        choice = {"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}
        said = {"id": "0", "object": "chat.completion", "created": 0, "model": "stand-in", "choices": [choice]}
        await _send(writer, _head("application/json") + json.dumps(said).encode())


def _head(kind: str) -> bytes:
    # The end of the connection is the end of the answer.
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode()


def _event(delta: dict[str, str], ended: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": ended}
    chunk = {"id": "0", "object": "chat.completion.chunk", "created": 0, "model": "stand-in", "choices": [choice]}
    return f"data: {json.dumps(chunk)}\n\n".encode()


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


def _sleep(seconds: float, stop: threading.Event | None) -> None:
    if stop is not None:
        stop.wait(seconds)
    else:
        time.sleep(seconds)
