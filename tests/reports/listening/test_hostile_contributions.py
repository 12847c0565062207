"""What a contributor can send to the server: hours in a small file, a length that lies, half a character."""

import base64
import io
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import soundfile

from harness.reports.invited import Refused
from harness.reports.listening.collect import LONGEST_S, _decoded

Serve = Callable[..., Any]


def silence(minutes: float, rate_hz: int = 48_000, channels: int = 1, kind: str = "FLAC") -> bytes:
    out, block = io.BytesIO(), np.zeros((rate_hz * 6, channels), np.int16)
    with soundfile.SoundFile(out, "w", samplerate=rate_hz, channels=channels, format=kind, subtype="PCM_16") as file:
        for _ in range(round(minutes * 10)):
            file.write(block)
    return out.getvalue()


@pytest.mark.parametrize("lie", [False, True], ids=["true header", "header without a length"])
def test_half_an_hour_in_a_small_file_is_refused_without_being_decoded(lie: bool) -> None:
    raw = silence(30)
    assert len(raw) < 400_000
    if lie:  # STREAMINFO's count of samples: 36 bits from the last half byte of its 13th, 0 for "not known" (RFC 9639, 8.2)
        raw = raw[:21] + bytes([raw[21] & 0xF0, 0, 0, 0, 0]) + raw[26:]
    whole = 30 * 60 * 48_000 * 4
    tracemalloc.start()
    try:
        with pytest.raises(Refused):
            _decoded(raw)
        assert tracemalloc.get_traced_memory()[1] < whole / 10
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("seconds", "taken"), [(LONGEST_S, True), (LONGEST_S + 6, False)])
def test_a_recording_may_be_as_long_as_it_is_said_and_no_longer(seconds: float, taken: bool) -> None:
    raw = silence(seconds / 60, 24_000)
    if taken:
        mono, rate_hz = _decoded(raw)
        assert len(mono) / rate_hz == pytest.approx(seconds)
    else:
        with pytest.raises(Refused, match=r"^collect\.refused\.how_long$"):
            _decoded(raw)


@pytest.mark.parametrize(("rate_hz", "channels"), [(1_000, 1), (400_000, 1), (8_000, 64)])
def test_what_no_microphone_gives_is_refused(rate_hz: int, channels: int) -> None:
    with pytest.raises(Refused, match=r"^collect\.refused\.rate$"):
        _decoded(silence(0.1, rate_hz, channels, "WAV"))


def test_the_server_says_so_and_goes_on(serve: Serve) -> None:
    person = serve(contexts=2).begun("collect")
    due = person.get("/collect/next").json()["context"]
    long = {"context": due, "no_help": True, "audio": base64.b64encode(silence(30)).decode()}
    answer = person.post("/collect/reply", json=long)
    assert (answer.status_code, "between one and 60 seconds" in answer.json()["error"]) == (409, True)
    assert person.get("/collect/next").json()["context"] == due


@pytest.mark.parametrize("half", ["\\ud83d", "\\udc4b", "\\ud83d\\ud83d"])
def test_half_a_character_is_stored_as_a_mark(serve: Serve, half: str) -> None:
    served = serve(contexts=2)
    person = served.begun("collect")
    due = person.get("/collect/next").json()["context"]
    body = json.dumps({"context": due, "no_help": True, "text": "I am here, HALF."}).replace("HALF", half)
    answer = person.post("/collect/reply", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 200
    (row,) = served.votes.completions()
    assert row["text"] == f"I am here, {'?' * (len(half) // 6)}."
