"""Agents of known behaviour on the wires that our connections speak."""

import asyncio
import json
import socket
from base64 import b64encode
from itertools import groupby
from pathlib import Path

import httpx2
import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect

from harness.agents.message import Message
from harness.agents.profile import TextProfile, parse_profile
from harness.agents.text import TextFailed, TextReply, ask
from harness.known.truth import TurnTruth, read_truth
from harness.known.wires import WIRES
from harness.timing import measure
from tests.harness.known.live import address, known_agent, played, voice
from tests.vendors.openai_realtime import TYPES

LATE_MS = 100.0
"""A machine that does much else is late by tens of ms on either side; times of behaviours lie further apart."""
SPOKEN = [wire for wire in WIRES if WIRES[wire] in ("carriers", "realtime", "webrtc", "sip")]
CHOSEN = [
    pytest.param(wire, marks=[] if wire in ("twilio", "openai-realtime", "webrtc", "sip") else pytest.mark.long)
    for wire in SPOKEN
]


@pytest.mark.parametrize("wire", CHOSEN)
async def test_a_call_has_the_times_that_the_agent_wrote_down(wire: str, tmp_path: Path) -> None:
    fixed, click, silent, ended = await played(wire, ("fixed-300", "click", "no-reply", "hangs-up"), tmp_path)
    for one in (fixed, click, ended):
        timing, truth = measure(one.recording), one.truths[0]
        assert timing.ttfa_ms == pytest.approx(truth.speech_ms, abs=LATE_MS)
        assert (truth.answer_ms, truth.gap_ms, truth.cut_ms) == (truth.speech_ms, None, None)
    assert click.truths[0].sound_ms == pytest.approx(150, abs=LATE_MS)
    assert measure(silent.recording).no_reply


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("wire", SPOKEN)
async def test_onsets_are_found_within_3_ms_on_sockets_and_5_on_lines(wire: str, tmp_path: Path) -> None:
    calls = await played(wire, ["fixed-300", "fixed-800"] * 12, tmp_path, at_once=1, seed=2)
    found_ms = np.array([measure(one.recording).ttfa_ms for one in calls], float)
    errors_ms = found_ms - np.array([one.truths[0].speech_ms for one in calls], float)
    assert np.percentile(np.abs(errors_ms), 95) <= (5 if wire in ("webrtc", "sip") else 3)


@pytest.mark.parametrize(("behaviour", "responses"), [("two-replies", 2), pytest.param("filler", 1, marks=pytest.mark.long)])
async def test_a_realtime_session_has_the_events_of_openais_own_types(behaviour: str, responses: int, tmp_path: Path) -> None:
    """Two replies are a response each, a filler is of its answer's, and a history is acknowledged."""
    told = list[str]()

    async def hear(socket: ClientConnection) -> None:
        async for message in socket:
            event = json.loads(message)
            TYPES.write(event.pop("type"), **event)
            told.append(json.loads(message)["type"])

    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "I lost my job."}]}
    said = np.concatenate([voice(0.5, 1), np.zeros(24_000 * 6, np.int16)])
    heard = (
        {"type": "input_audio_buffer.append", "audio": b64encode(said[at : at + 480].tobytes()).decode()}
        for at in range(0, len(said), 480)
    )
    async with known_agent("openai-realtime", tmp_path / "truth.csv") as url, connect(address(url, behaviour, 1)) as socket:
        hearing = asyncio.create_task(hear(socket))
        for event in (
            {"type": "session.update", "session": {"type": "realtime"}},
            {"type": "conversation.item.create", "item": item},
            *heard,
        ):
            await socket.send(json.dumps(event))
            await asyncio.sleep(0.02)
        hearing.cancel()
    sound = ["response.output_audio.delta", "response.output_audio.done"]
    reply = ["response.created", "response.output_item.added", *sound, "response.output_item.done", "response.done"]
    assert [kind for kind, _ in groupby(told)] == [
        "session.created",
        "session.updated",
        "conversation.item.added",
        *reply * responses,
    ]


async def asked(behaviours: tuple[str, ...], folder: Path) -> list[tuple[TextReply | TextFailed, TurnTruth]]:
    """The answer, or the failure, and the truth of a question to each of the behaviours."""

    async def one(url: str, name: str) -> TextReply | TextFailed:
        where = url.replace("/v1", f"/{name}/v1")
        profile = parse_profile(f'kind = "text"\nmodel = "known"\nbase_url = "{where}"\n', folder / "text.toml")
        assert isinstance(profile, TextProfile)
        try:
            return await ask(profile, [Message("user", "I lost my job.")])
        except TextFailed as failed:
            return failed

    async with known_agent("text", folder / "truth.csv") as url:
        said = [await one(url, name) for name in behaviours]
    return list(zip(said, read_truth(folder / "truth.csv"), strict=True))


@pytest.mark.long
@pytest.mark.alone
async def test_first_words_in_writing_are_found_within_3_ms(tmp_path: Path) -> None:
    answers = await asked(("fixed-300", "leading-silence", "filler", "murmur", "fixed-1200") * 5, tmp_path)
    errors_ms = [said.ttft_ms - (truth.speech_ms or 0) for said, truth in answers if isinstance(said, TextReply)]
    assert len(errors_ms) == 25
    assert np.percentile(np.abs(errors_ms), 95) <= 3


@pytest.mark.alone
async def test_an_agent_in_writing_keeps_the_times_of_a_spoken_one(tmp_path: Path) -> None:
    names = ("fixed-300", "leading-silence", "filler", "murmur", "no-reply", "hangs-up")
    *replies, silent, ended = await asked(names, tmp_path)
    for said, truth in replies:
        assert isinstance(said, TextReply)
        assert said.ttft_ms == pytest.approx(truth.speech_ms, abs=LATE_MS)
        assert said.thought == (truth.sound_ms != truth.speech_ms)
        assert said.text.startswith("It sounds"), "a space would begin no words"
    assert [truth.answer_ms == truth.speech_ms for _, truth in replies] == [True, True, False, True]
    assert [(getattr(said, "kind", ""), truth.answer_ms is None) for said, truth in (silent, ended)] == [
        ("nothing", True),
        ("cut", False),
    ]


async def test_what_is_no_offer_is_refused_in_words(tmp_path: Path) -> None:
    async with known_agent("webrtc", tmp_path / "truth.csv") as url, httpx2.AsyncClient() as client:
        no_offers = (
            "[]",
            "{",
            "{}",
            '{"sdp": "v=0", "type": "offer"}',
            '{"sdp": 1, "type": "offer"}',
            '{"sdp": "", "type": "x"}',
        )
        refused = [await client.get(url), *[await client.post(url, content=each) for each in no_offers]]
    assert [(each.status_code, "POST an offer" in each.json()["error"]) for each in refused] == [(400, True)] * 7


async def test_a_telephone_says_what_it_cannot_do(tmp_path: Path) -> None:
    async with known_agent("sip", tmp_path / "truth.csv") as url:
        host, _, port = url.removeprefix("sip:").partition(":")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
            asks.connect((host, int(port)))
            asks.settimeout(5)

            def reply(method: str, body: str = "") -> str:
                about = "Via: SIP/2.0/UDP h\r\nFrom: <sip:c@h>;tag=1\r\nTo: <sip:fixed@h>\r\nCall-ID: 1\r\nContact: <sip:c@h>"
                asks.send(f"{method} sip:fixed@h SIP/2.0\r\n{about}\r\nCSeq: 1 {method}\r\n\r\n{body}".encode())
                return asks.recv(2_000).decode().partition("\r\n")[0]

            assert reply("OPTIONS") == "SIP/2.0 200 OK"
            for other in ("", "v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 9 RTP/AVP 9\r\n", "c=IN IP4 \r\nm=audio 9 RTP/AVP 0\r\n"):
                assert reply("INVITE", other) == "SIP/2.0 488 Not Acceptable Here"
