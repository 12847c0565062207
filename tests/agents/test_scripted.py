"""The scripted agent is a ruler, so it is measured itself: its truth must be what a caller sees, and its delays exact."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from scripted_sound import Piece, render
from scripted_wire import Script, ScriptedConnection

from harness.agents.connection import AudioChunk, Cleared, Closed, ConnectionFailed, Event, Mark, Transcript
from harness.agents.connections import ConnectionSpec, make
from harness.agents.message import Message
from harness.agents.process import AgentProcess
from harness.agents.profile import load_profile
from harness.audio.pcm import resample, to_float
from harness.audio.vocal import silero
from tests.virtual_time.clock import in_virtual_time

Call = Callable[..., Awaitable[list[Event]]]

TARDY_NS = 100_000_000
"""How late a busy machine may be; what is programmed is asserted exactly, what is done to within this."""

TONE = {"kind": "tone", "ms": 200}


def scripted(**script: Any) -> ScriptedConnection:
    return ScriptedConnection(Script.model_validate(script))


def audio(events: Sequence[Event]) -> list[AudioChunk]:
    return [event for event in events if isinstance(event, AudioChunk)]


async def spoken_to(call: Call, line: ScriptedConnection, pcm: bytes) -> list[Event]:
    await line.open(())
    return await call(line, pcm)


@in_virtual_time
async def test_a_reply_comes_its_delay_after_the_last_loud_sample(call: Call, spoken: bytes) -> None:
    line = scripted(replies=[{"delay_ms": 300, "sound": [{"kind": "silence", "ms": 50}, TONE], "text": "Hello."}])
    events = await spoken_to(call, line, spoken)
    last_loud = int(np.flatnonzero(np.abs(np.frombuffer(spoken, "<i2").astype(int)) > 100)[-1])
    (truth,) = line.truth.replies
    assert line.truth.t0_ns is not None
    assert truth.due_ns == line.truth.t0_ns + round((last_loud + 1) * 1e9 / 16_000) + 300_000_000
    assert truth.lead_silence_ms == pytest.approx(50, abs=0.2)
    chunks = audio(events)
    assert [chunk.arrival_ns for chunk in chunks] == truth.given_ns
    assert 0 <= chunks[0].arrival_ns - truth.due_ns < TARDY_NS
    whole = np.frombuffer(b"".join(chunk.pcm for chunk in chunks), "<i2")
    assert np.array_equal(whole, render([Piece(kind="silence", ms=50), Piece(kind="tone", ms=200)], 24_000))
    assert [event.text for event in events if isinstance(event, Transcript)] == ["Hello."]


@in_virtual_time
async def test_a_short_delay_answers_in_a_pause_and_a_known_end_does_not(call: Call, spoken: bytes) -> None:
    words = spoken[: 640 * 20]
    paused = words + bytes(640 * 25) + words + bytes(640 * 40)
    end_sample = (len(words) * 2 + 640 * 25) // 2 - 1
    sound = [{"kind": "tone", "ms": 40}]
    rash = scripted(replies=[{"delay_ms": 200, "sound": sound}])
    patient = scripted(replies=[{"delay_ms": 200, "sound": sound}], speech_end_sample=end_sample)
    early, late = await asyncio.gather(spoken_to(call, rash, paused), spoken_to(call, patient, paused))
    assert rash.truth.t0_ns is not None
    assert patient.truth.t0_ns is not None
    assert rash.truth.replies[0].due_ns - rash.truth.t0_ns == pytest.approx(600e6, abs=TARDY_NS)
    assert patient.truth.replies[0].due_ns - patient.truth.t0_ns == pytest.approx(1_500e6, abs=TARDY_NS)
    assert audio(early)[0].arrival_ns < audio(late)[0].arrival_ns


@in_virtual_time
async def test_it_can_talk_at_any_time_and_in_any_pace(call: Call, spoken: bytes) -> None:
    line = scripted(
        replies=[
            {"after": "start", "delay_ms": 100, "sound": [TONE], "pace": 0},
            {"after": "start", "delay_ms": 500, "sound": [TONE], "pace": 1, "chunk_ms": 40},
        ]
    )
    events = await spoken_to(call, line, spoken)
    at_once, in_time = line.truth.replies
    assert line.truth.t0_ns is not None
    assert (at_once.due_ns - line.truth.t0_ns, in_time.due_ns - line.truth.t0_ns) == (100_000_000, 500_000_000)
    assert at_once.given_ns[-1] - at_once.given_ns[0] < TARDY_NS
    for count, given_ns in enumerate(in_time.given_ns):
        assert 0 <= given_ns - (in_time.due_ns + count * 40_000_000) < TARDY_NS
    assert len(audio(events)) == 10


@in_virtual_time
async def test_marks_tell_programmed_times(call: Call, spoken: bytes) -> None:
    marks = [{"name": "turn_decided", "at_ms": -80}, {"name": "audio_sent", "at_ms": 0, "detail": {"request": "r1"}}]
    line = scripted(replies=[{"delay_ms": 200, "sound": [TONE], "marks": marks}], understood="yes")
    events = await spoken_to(call, line, spoken)
    (truth,) = line.truth.replies
    told = {event.name: event for event in events if isinstance(event, Mark)}
    assert told["turn_decided"].at_ns == truth.due_ns - 80_000_000
    assert told["audio_sent"].at_ns == truth.due_ns
    assert told["audio_sent"].detail == {"request": "r1"}
    assert [event.role for event in events if isinstance(event, Transcript)] == ["user"]


@pytest.mark.parametrize("yields_after_ms", [150.0, None])
@in_virtual_time
async def test_it_yields_to_a_barge_in_or_talks_on(call: Call, spoken: bytes, yields_after_ms: float | None) -> None:
    words = spoken[: 640 * 15]
    over = words + bytes(640 * 25) + words + bytes(640 * 40)
    reply = {"delay_ms": 200, "sound": [{"kind": "tone", "ms": 1_000}], "pace": 1}
    line = scripted(replies=[reply], yields_after_ms=yields_after_ms)
    events = await spoken_to(call, line, over)
    (truth,) = line.truth.replies
    cleared = [event for event in events if isinstance(event, Cleared)]
    if yields_after_ms is None:
        assert cleared == []
        assert len(audio(events)) == 25
        return
    assert line.truth.t0_ns is not None
    assert truth.barge_in_ns is not None
    assert truth.barge_in_ns - line.truth.t0_ns == pytest.approx(800e6, abs=TARDY_NS)
    assert [event.arrival_ns for event in cleared] == [truth.cleared_ns]
    assert 0 <= cleared[0].arrival_ns - truth.barge_in_ns - 150_000_000 < TARDY_NS
    assert len(audio(events)) < 25
    assert audio(events)[-1].arrival_ns < cleared[0].arrival_ns


@in_virtual_time
async def test_it_can_refuse_be_slow_be_silent_and_hang_up(call: Call, spoken: bytes, tmp_path: Path) -> None:
    with pytest.raises(ConnectionFailed, match="not today"):
        await scripted(refuses="not today").open(())
    slow = scripted(open_delay_ms=100)
    began = time.monotonic()
    assert [type(event) for event in await spoken_to(call, slow, bytes(6_400))] == [Closed]
    assert time.monotonic() - began >= 0.1
    truth = tmp_path / "truth.json"
    rude = scripted(closes_after_ms=100, close_error="bye", close_kind="closed_early", truth_path=truth)
    events = await spoken_to(call, rude, spoken)
    assert isinstance(events[-1], Closed)
    assert (events[-1].error, events[-1].kind) == ("bye", "closed_early")
    assert json.loads(truth.read_text())["replies"] == []


@in_virtual_time
async def test_a_script_travels_as_plain_data_and_takes_its_history() -> None:
    script = Script(replies=(), accepts_history=True)
    line = make(ConnectionSpec("scripted", options=json.loads(script.model_dump_json(exclude_defaults=True))))
    assert isinstance(line, ScriptedConnection)
    await line.open([Message("user", "hi")])
    assert line.truth.history == [("user", "hi")]
    await line.close()
    with pytest.raises(ConnectionFailed) as caught:
        await scripted(accepts_history=False).open([Message("user", "hi")])
    assert caught.value.kind == "no_history"


def test_sounds_are_exact(tmp_path: Path) -> None:
    tone = render([Piece(kind="tone", ms=100, hz=1_000, level_db=-20)], 16_000)
    assert tone.size == 1_600
    assert 20 * np.log10(np.sqrt(np.mean((tone / 32_767.0) ** 2))) == pytest.approx(-20, abs=0.05)
    assert np.count_nonzero(render([Piece(kind="click", ms=10)], 16_000)) == 1
    assert not render([Piece(kind="silence", ms=10)], 16_000).any()
    noise = render([Piece(kind="noise", ms=500, level_db=-30)], 16_000)
    assert np.array_equal(noise, render([Piece(kind="noise", ms=500, level_db=-30)], 16_000))
    path = tmp_path / "a.wav"
    soundfile.write(path, tone, 16_000)
    assert np.array_equal(render([Piece(kind="file", path=path)], 16_000), tone)
    assert render([Piece(kind="file", path=path)], 24_000).size == 2_400


@in_virtual_time
async def test_a_profile_can_name_a_script(peers: Path, tmp_path: Path, call: Call, spoken: bytes) -> None:
    profile = load_profile(peers / "scripted.toml")
    agent = AgentProcess(profile, {}, tmp_path / "none.log")
    await agent.start()
    assert agent.alive
    assert agent.pid is None
    line = make(profile.connection(agent.url))
    assert line.capabilities.accepts_history
    await line.open([Message("user", "hi")])
    events = await call(line, spoken)
    assert [event.text for event in events if isinstance(event, Transcript)] == ["That sounds hard."]
    assert len([event for event in events if isinstance(event, Mark)]) == 4
    await agent.stop()


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 48_000])
@pytest.mark.parametrize("pitch_hz", [160.0, 180.0])
def test_a_scripted_voice_is_heard_as_voice(rate_hz: int, pitch_hz: float) -> None:
    said = render([Piece(kind="voice", ms=1_500, hz=pitch_hz, level_db=-20)], rate_hz)
    assert said.size == round(1.5 * rate_hz)
    assert 20 * np.log10(np.sqrt(np.mean(to_float(said) ** 2))) == pytest.approx(-20, abs=0.5)
    assert np.flatnonzero(np.abs(said) > 33)[0] < 0.005 * rate_hz
    heard = silero()(to_float(resample(said, rate_hz, 16_000)))
    assert np.mean(heard > 0.5) > 0.95
    assert heard[0] > 0.5


def test_what_is_not_a_voice_is_not_heard_as_one() -> None:
    for kind in ("tone", "noise", "click"):
        sound = render([Piece.model_validate({"kind": kind, "ms": 1_500})], 16_000)
        assert np.mean(silero()(to_float(sound)) > 0.5) < 0.1
