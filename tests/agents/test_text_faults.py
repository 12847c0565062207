"""Whatever a text endpoint does over real HTTP is a named failure of the one question, in bounded time and memory."""

import gzip
import json
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from harness.agents.message import Message
from harness.agents.profile import TextProfile, parse_profile
from harness.agents.text import TextFailed, complete
from tests.http_serving import Handler, serving

HISTORY = (Message("user", "I had a terrible day."),)
KEY = "sk-planted-4711-abcdef"
Fault = Callable[["Faulty"], None]


def chunk(**delta: object) -> bytes:
    whole = {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "delta": delta}],
    }
    return f"data: {json.dumps(whole)}\n\n".encode()


class Faulty(Handler):
    """An endpoint that does to a request what the test lays out."""

    fault: ClassVar[Fault]

    def do_POST(self) -> None:
        self.asked()
        try:
            type(self).fault(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


def saying(*pieces: bytes, **headers: str) -> Fault:
    def answer(handler: Faulty) -> None:
        handler.begin(**headers)
        for piece in pieces:
            handler.wfile.write(piece)

    return answer


def without_end(piece: bytes, wait_s: float = 0.0) -> Fault:
    def answer(handler: Faulty) -> None:
        handler.begin()
        while True:
            handler.wfile.write(piece)
            time.sleep(wait_s)

    return answer


def silent_inside(handler: Faulty) -> None:
    handler.begin()
    handler.wfile.write(chunk(content="I"))
    time.sleep(2)


def refusing(status: int) -> Fault:
    return lambda handler: handler.answer(status, {"error": {"message": f"the key {KEY} is not known"}})


def error_page_without_end(handler: Faulty) -> None:
    handler.begin(400)
    while True:
        handler.wfile.write(b"<p>no" * 10_000)


FAULTS: dict[str, tuple[Fault, str]] = {
    "not JSON": (saying(b"data: {not json\n\n"), "garbage"),
    "half of JSON": (saying(chunk(content="I hear you.")[:-20] + b"\n\n"), "garbage"),
    "no delta": (saying(b'data: {"choices": [{"index": 0}]}\n\n'), "garbage"),
    "no object": (saying(b"data: 7\n\n"), "garbage"),
    "choices of another kind": (saying(b'data: {"choices": "none"}\n\n'), "garbage"),
    "words of another kind": (saying(chunk(content=["I", "hear"])), "garbage"),
    "deep nesting": (saying(b"data: " + b"[" * 100_000 + b"\n\n"), "garbage"),
    "not UTF-8": (saying(b"data: \xff\xfe\n\n"), "garbage"),
    "half a character": (saying(chunk(content="I hear \ud83d"), b"data: [DONE]\n\n"), "garbage"),
    "packed": (saying(gzip.compress(bytes(50_000_000)), Content_Encoding="gzip"), "garbage"),
    "a web page": (saying(b"<html><body>Welcome!</body></html>"), "nothing"),
    "an error in the stream": (saying(b'data: {"error": {"message": "out of memory"}}\n\n'), "server_error"),
    "cut": (saying(chunk(content="I"), Content_Length="5000"), "cut"),
    "words without end": (without_end(chunk(content="well "), 0.01), "timeout"),
    "thoughts without end": (without_end(chunk(reasoning_content="hm"), 0.01), "timeout"),
    "a line without end": (without_end(b"x" * 65_536), "flood"),
    "a flood": (without_end(chunk(content="well " * 1_000)), "flood"),
    "silence inside": (silent_inside, "timeout"),
    "refused": (refusing(401), "refused"),
    "always busy": (refusing(429), "rate_limited"),
    "an error page without end": (error_page_without_end, "flood"),
}


@pytest.fixture
def profile(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextProfile]:
    monkeypatch.setenv("FAULTY_KEY", KEY)
    with serving(Faulty) as url:
        text = f'kind = "text"\nmodel = "m"\nbase_url = "{url}/v1"\napi_key_env = "FAULTY_KEY"\ntimeout_s = 1\n'
        made = parse_profile(text, Path("writer.toml"))
        assert isinstance(made, TextProfile)
        yield made


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_a_name_and_an_end(profile: TextProfile, name: str) -> None:
    Faulty.fault, kind = FAULTS[name]
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    with pytest.raises(TextFailed) as caught:
        complete(profile, HISTORY)
    assert caught.value.kind == kind, str(caught.value)
    assert time.monotonic() - began < 12 * profile.timeout_s
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 200 * 1024
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_an_error_cannot_write_on_the_terminal(profile: TextProfile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTY_KEY", "sk-planted-4711-planted")
    Faulty.fault = lambda handler: handler.answer(400, {"error": {"message": "no \x1b[2J\x1b]0;title\x07 model \ud83d"}})
    with pytest.raises(TextFailed, match="model") as caught:
        complete(profile, HISTORY)
    assert str(caught.value).isprintable()


def test_a_key_that_can_be_none_is_said_and_not_shown(profile: TextProfile, monkeypatch: pytest.MonkeyPatch) -> None:
    Faulty.fault = refusing(401)
    monkeypatch.setenv("FAULTY_KEY", "sk-planted\u2026\n4711")
    with pytest.raises(TextFailed, match="FAULTY_KEY holds characters") as caught:
        complete(profile, HISTORY)
    assert caught.value.kind == "no_key"
    assert "4711" not in str(caught.value)
