"""Agents that send sound all the time, silence too: the caller's side of a call with one."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scripted_sound import Piece, render

from harness.agents.connections import ConnectionSpec, make
from harness.agents.profile import parse_profile
from harness.caller import CallerTurn, Greeting, Limits, Pacer, SessionOutcome, SessionPlan, play_session
from harness.caller.exchange import read_plan, write_plan
from harness.recording.record import Recording
from harness.replies.agent_words import said
from harness.replies.ending import AFTER_LITTLE_MS
from harness.run.greetings import Greetings
from tests.virtual_time.clock import virtual_time

QUICK = Limits(quiet_s=0.4, no_reply_s=1.0, total_s=3.0)


def play(plan: SessionPlan) -> tuple[Recording, SessionOutcome]:
    async def run() -> tuple[Recording, SessionOutcome]:
        return await play_session(plan, make(plan.connection), Pacer())

    with virtual_time() as loop, asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(run())


@pytest.mark.parametrize("said", [False, True])
def test_the_recording_says_if_the_agent_is_full_duplex(
    tone: NDArray[np.int16], scripted: Any, said: bool, tmp_path: Path
) -> None:
    write_plan(SessionPlan(scripted(), (CallerTurn(tone),), 16_000, limits=QUICK, full_duplex=said), tmp_path)
    assert play(read_plan(tmp_path, scripted()))[0].full_duplex is said


def talks(*replies: dict[str, Any], **options: Any) -> ConnectionSpec:
    """An agent that sends a unit of 80 ms every 80 ms, with these replies in it."""
    return ConnectionSpec("scripted", options={"full_duplex": True, "replies": list(replies), **options})


def says(ms: float, delay_ms: float, after: str = "speech_end") -> dict[str, Any]:
    return {"after": after, "delay_ms": delay_ms, "sound": [{"kind": "voice", "ms": ms}]}


def turn(ms: float, **start: Any) -> CallerTurn:
    return CallerTurn(render((Piece(kind="voice", ms=ms, hz=120.0),), 16_000), **start)


NEXT = {"start": "after_reply", "offset_ms": 700.0}
MURMURS = tuple(says(350, 3_100 + 1_400 * k) for k in range(1, 20))
"""One every 1.4 s, on and on."""


@pytest.mark.parametrize("noise_db", [None, -62.0, -50.0])
def test_silence_without_end_ends_the_reply_and_the_call(noise_db: float | None) -> None:
    agent = talks(says(350, 1_500, "start"), says(2_500, 600), comfort_noise_db=noise_db)
    recording, outcome = play(SessionPlan(agent, (turn(4_000), turn(1_000, **NEXT)), 16_000, limits=Limits(no_reply_s=4.0)))
    assert outcome == SessionOutcome("no_reply"), "the second turn has none"
    first, second = recording.caller.turns
    assert (second.start_sample - first.end_sample) / 16 == pytest.approx(600 + 2_500 + AFTER_LITTLE_MS, abs=200)
    assert len(recording.arrivals) == pytest.approx(len(recording.caller.dry) / 16 / 80, abs=2)


@pytest.mark.parametrize("noise_db", [None, -62.0, -50.0])
def test_silence_is_no_greeting(noise_db: float | None) -> None:
    agent = talks(says(2_500, 600), comfort_noise_db=noise_db)
    recording, _ = play(SessionPlan(agent, (turn(1_000),), 16_000, greeting=Greeting(3.0)))
    assert recording.caller.turns[0].start_sample / 16_000 == pytest.approx(3.0, abs=0.05)


def test_murmurs_after_the_reply_leave_the_floor_with_the_caller() -> None:
    plan = SessionPlan(talks(says(2_500, 600), *MURMURS), (turn(1_000), turn(1_000, **NEXT)), 16_000)
    recording, _ = play(plan)
    first, second = recording.caller.turns
    assert (second.start_sample - first.end_sample) / 16_000 < 9


def test_murmurs_without_end_do_not_keep_the_call() -> None:
    recording, outcome = play(SessionPlan(talks(says(2_500, 600), *MURMURS), (turn(1_000),), 16_000))
    assert outcome == SessionOutcome("quiet")
    assert len(recording.caller.dry) / 16_000 < 12


def test_a_sound_into_the_reply_does_not_count_from_a_murmur_before_it() -> None:
    cough = turn(200, start="into_reply", offset_ms=1_500.0, event="cough")
    recording, _ = play(SessionPlan(talks(says(350, 300), says(4_000, 1_500)), (turn(1_000), cough), 16_000))
    asked, coughed = recording.caller.turns
    assert (coughed.start_sample - asked.end_sample) / 16 == pytest.approx(3_000, abs=150)


@pytest.mark.parametrize("most_s", [5, pytest.param(600, marks=pytest.mark.long)])
def test_a_long_call_of_silence_is_no_flood(monkeypatch: pytest.MonkeyPatch, most_s: int) -> None:
    monkeypatch.setattr("harness.caller.session.MAX_AGENT_AUDIO_S", most_s)
    limits = Limits(no_reply_s=most_s + 60.0, total_s=most_s + 100.0)
    recording, outcome = play(SessionPlan(talks(says(1_000, 1_000 * (most_s + 40))), (turn(1_000),), 16_000, limits=limits))
    assert outcome == SessionOutcome("quiet")
    assert len(recording.agent_pcm) / recording.agent_rate_hz > most_s + 40


def test_a_backchannel_is_no_part_of_the_written_reply() -> None:
    replies = ({**says(350, 1_500, "start"), "text": "Mm-hm."}, {**says(2_500, 600), "text": "Yeah."})
    recording, _ = play(SessionPlan(talks(*replies), (turn(4_000),), 16_000))
    assert [t.text for t in recording.transcripts] == ["Mm-hm.", "Yeah."]
    assert said(recording) == "Yeah."
    assert said(replace(recording, full_duplex=False)) == "Mm-hm. Yeah."


def test_a_backchannel_into_the_first_turn_raises_no_doubt_about_a_greeting() -> None:
    profile = parse_profile('kind = "raw-pcm"\nurl = "ws://localhost:1/"', Path("bot.toml"))

    def in_doubt(*replies: dict[str, Any], **options: Any) -> bool:
        recording, _ = play(SessionPlan(talks(*replies, **options), (turn(3_000),), 16_000))
        found = Greetings()
        found.learn(profile.name, recording)
        return found.is_doubtful(profile, recording)

    answer = says(1_000, 600)
    assert not in_doubt(says(350, 1_500, "start"), answer)
    assert in_doubt(says(900, 1_500, "start"), answer), "this may be a greeting that is late"
    assert in_doubt(says(350, 1_500, "start"), answer, full_duplex=False)
