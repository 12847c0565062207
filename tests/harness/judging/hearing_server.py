"""Servers that hear, as OpenAI's, an OpenAI-like one and Gemini's do: each request is checked against the official types.

`prefers` hears both replies as WAV files and names the better one. A request of the wrong form is answered with 400, as the
real servers do, and its fault is listed.
"""

import base64
import io
import json
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_type_hints

import jsonschema  # type: ignore[import-untyped]
import numpy as np
from openai.types.chat import ChatCompletionMessageParam, completion_create_params
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from harness.judging.sound import AROUND_BEEP_S, BEEP_S
from tests.http_serving import Handler, serving

GEMINI = json.loads((Path(__file__).parent / "gemini_request.schema.json").read_text())
_MESSAGES = TypeAdapter(list[ChatCompletionMessageParam])
_FIELDS = get_type_hints(completion_create_params.CompletionCreateParamsBase)
Prefers = Callable[[bytes, bytes], Literal["A", "B"]]


class _Url(TypedDict):
    url: str


class AudioUrlPart(TypedDict):
    """The part that vLLM adds to OpenAI's (`ChatCompletionContentPartAudioParam` there)."""

    type: Literal["audio_url"]
    audio_url: _Url


_AUDIO_URL = TypeAdapter(AudioUrlPart)


class HearingServer:
    """Use as `with HearingServer(prefers) as server`."""

    def __init__(self, prefers: Prefers, *, refuses: bool = False) -> None:
        self.prefers, self.refuses = prefers, refuses
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.heard: list[tuple[bytes, bytes]] = []
        self.faults: list[str] = []

    def __enter__(self) -> "HearingServer":
        outer = self

        class Hearing(Handler):
            def do_POST(self) -> None:
                body = self.asked()
                outer.bodies.append(body)
                outer.headers.append(dict(self.headers.items()))
                try:
                    status, answer = 200, outer.answer(self.path, body)
                except Exception as error:
                    outer.faults.append(repr(error))
                    status, answer = 400, {"error": str(error)}
                self.answer(status, answer)

        self._serving = serving(Hearing)
        self.url = self._serving.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._serving.__exit__(None, None, None)

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        gemini = path.endswith(":generateContent")
        parts = gemini_parts(path, body) if gemini else openai_parts(path, body)
        sounds = [part for part in parts if isinstance(part, bytes)]
        first, second = sounds if len(sounds) == 2 else parted(*sounds) if sounds else (b"", b"")
        self.heard.append((first, second))
        verdict = {"rationale": "heard", "winner": self.prefers(first, second), "strength": 3, "axes": dict.fromkeys("HEART")}
        text = json.dumps(verdict)
        if not gemini:
            message = {
                "role": "assistant",
                "content": None if self.refuses else text,
                "refusal": "no" if self.refuses else None,
            }
            usage = {"prompt_tokens": 300, "completion_tokens": 20}
            return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
        if self.refuses:
            return {"promptFeedback": {"blockReason": "SAFETY"}}
        content = {"role": "model", "parts": [{"text": "Let me listen.", "thought": True}, {"text": text}]}
        usage = {"promptTokenCount": 300, "candidatesTokenCount": 20, "thoughtsTokenCount": 40}
        return {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage}


def openai_parts(path: str, body: dict[str, Any]) -> list[str | bytes]:
    """Text and files of a request, whose form is OpenAI's."""
    assert path == "/v1/chat/completions"
    assert body.keys() <= _FIELDS.keys()
    parts = body["messages"][-1]["content"]
    ours = [part for part in parts if part["type"] == "audio_url"]
    assert [_AUDIO_URL.validate_python(part, strict=True) for part in ours] == ours
    official = [*body["messages"][:-1], {**body["messages"][-1], "content": [part for part in parts if part not in ours]}]
    for message in official:
        (found,) = _MESSAGES.validate_python([message])
        # Fields that the type does not have would be missing, and iterables are read lazily.
        given = found["content"]
        read = given if isinstance(given, str) else list(given)  # type: ignore[arg-type]
        assert {**found, "content": read} == message
    return [part["text"] if part["type"] == "text" else _file(part) for part in parts]


def _file(part: dict[str, Any]) -> bytes:
    if part["type"] == "input_audio":
        assert part["input_audio"]["format"] == "wav"
        return base64.b64decode(part["input_audio"]["data"], validate=True)
    head, data = part["audio_url"]["url"].split(",")
    assert head == "data:audio/wav;base64"
    return base64.b64decode(data, validate=True)


def gemini_parts(path: str, body: dict[str, Any]) -> list[str | bytes]:
    """Text and files of a request, whose form is Gemini's."""
    assert path == "/v1beta/models/m-1:generateContent"
    jsonschema.validate(body, GEMINI)
    (content,) = body["contents"]
    return [p["text"] if "text" in p else base64.b64decode(p["inlineData"]["data"], validate=True) for p in content["parts"]]


def parted(file: bytes) -> tuple[bytes, bytes]:
    """Both replies of one recording, as it is cut at its beep."""
    samples, rate_hz = read(file)
    gap, beep = round(AROUND_BEEP_S * rate_hz), round(BEEP_S * rate_hz)
    total = np.concatenate([[0], np.cumsum(np.abs(samples.astype(np.int64)))])
    quiet = np.flatnonzero(total[gap:] == total[:-gap])
    return samples[: quiet[0]].tobytes(), samples[quiet[0] + 2 * gap + beep :].tobytes()


def read(file: bytes) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int16]], int]:
    """Samples and rate of a WAV file."""
    with wave.open(io.BytesIO(file)) as sound:
        return np.frombuffer(sound.readframes(sound.getnframes()), np.int16), sound.getframerate()
