"""One OpenAI-compatible server of known behaviour, for all services of an agent that others wrote, so that none of their
weights and keys are needed.

`python scripted_openai.py [PORT]` prints its address. `/v1/chat/completions` answers with the same sentence, its first token
after 150 ms; `/v1/audio/transcriptions` hears the same words in every sound, after 60 ms; `/v1/audio/speech` speaks in a voice
of the harness's own, after 40 ms.
"""

import base64
import contextlib
import io
import json
import sys
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, Final

import soundfile

from harness.audio.pcm import Int16, resample, to_float
from harness.scenarios.context import Turn
from harness.scenarios.pack import load_pack
from harness.voices.choice import Voices, open_voices

FIRST_TOKEN_S: Final = 0.15
TRANSCRIBED_S: Final = 0.06
SPOKEN_S: Final = 0.04
RATE_HZ: Final = 24_000
RENDERING: Final = Lock()
"""A voice speaks one text at a time."""
HEARD: Final = "what the caller said"
SAID: Final = "I hear you and I am here with you."
_SUBTYPES: Final = {"wav": ("WAV", "PCM_16"), "flac": ("FLAC", "PCM_16"), "mp3": ("MP3", "MPEG_LAYER_III")}


@cache
def voices() -> Voices:
    return open_voices(load_pack("heart-mini"))


@cache
def voice(text: str) -> Int16:
    """The sound of a text. Real speech, because a transcriber that hears vowels alone makes up words for minutes."""
    with RENDERING:
        said = voices().render(Turn(role="seeker", text=text), "clear")
    return resample(said.samples, said.rate_hz, RATE_HZ)


def spoken(text: str, form: str) -> bytes:
    """The sound of a text as `response_format` asks for it."""
    sound = voice(text)
    if form not in _SUBTYPES:
        return sound.astype("<i2").tobytes()
    out = io.BytesIO()
    container, subtype = _SUBTYPES[form]
    soundfile.write(out, to_float(sound), RATE_HZ, format=container, subtype=subtype)
    return out.getvalue()


class Services(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""

    def do_GET(self) -> None:
        models = [{"id": "scripted", "object": "model", "created": 0, "owned_by": "tests"}]
        self._send(json.dumps({"object": "list", "data": models}).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        match self.path.partition("/v1/")[2].partition("?")[0]:
            case "chat/completions":
                self._complete(json.loads(body))
            case "audio/transcriptions":
                time.sleep(TRANSCRIBED_S)
                self._send(json.dumps({"text": HEARD, "usage": {"type": "duration", "seconds": 1}}).encode())
            case "audio/speech":
                self._speak(json.loads(body))
            case _:
                self.send_error(404)

    def _speak(self, asked: dict[str, Any]) -> None:
        time.sleep(SPOKEN_S)
        form = str(asked.get("response_format", "mp3"))
        sound = spoken(str(asked["input"]), form)
        if asked.get("stream_format") != "sse":
            self._send(sound, f"audio/{form}")
            return
        usage = {"input_tokens": 9, "output_tokens": 40, "total_tokens": 49}
        delta = {"type": "speech.audio.delta", "audio": base64.b64encode(sound).decode()}
        parts = [delta, {"type": "speech.audio.done", "usage": usage}]
        self._send("".join(f"data: {json.dumps(part)}\n\n" for part in parts).encode(), "text/event-stream")

    def _complete(self, asked: dict[str, Any]) -> None:
        time.sleep(FIRST_TOKEN_S)
        usage = {"prompt_tokens": 10, "completion_tokens": 9, "total_tokens": 19}
        common = {"id": "scripted", "created": 0, "model": str(asked.get("model", "scripted"))}
        if not asked.get("stream"):
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": SAID}}
            whole = {**common, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._send(json.dumps(whole).encode())
            return
        common["object"] = "chat.completion.chunk"
        choices: list[dict[str, Any]] = [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]
        choices += [{"delta": {"content": f"{word} "}, "finish_reason": None} for word in SAID.split()]
        choices.append({"delta": {}, "finish_reason": "stop"})
        parts: list[dict[str, Any]] = [{**common, "choices": [{"index": 0, **choice}]} for choice in choices]
        parts.append({**common, "choices": [], "usage": usage})
        lines = "".join(f"data: {json.dumps(part)}\n\n" for part in parts)
        self._send(f"{lines}data: [DONE]\n\n".encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str = "application/json") -> None:
        with contextlib.suppress(ConnectionError):  # an interrupted agent takes back its question
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Services)
    server.daemon_threads = True
    voice(SAID)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()
