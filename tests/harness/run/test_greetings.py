"""Agents that speak first, at whatever instant: found out by calling, and charged with no cut-in and no answer for it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from benchmarks.made_recordings import AGENT_HZ, Said, make_recording, pcm, voice
from harness.caller import Greeting
from harness.experiment import Experiment
from harness.recording.record import Recording, SpokenTurn
from harness.run.greetings import FIND_OUT_S, KNOWN_S, Greetings
from harness.run.plan import RunPlan, make_plan
from harness.store.session import Session
from tests.harness.conftest import peer
from tests.harness.run.test_sessions import play as play_scripts

LEAD_S = 0.5
"""Where the caller of a made recording begins."""
AGENT = "raw-pcm-echo"


def profile(plan: RunPlan, **wish: Any) -> Any:
    return plan.profiles[0].model_copy(update={"greets": None, **wish})


@pytest.fixture
def plan(pack: Path) -> RunPlan:
    made = make_plan(Experiment(agents=(str(peer(AGENT)),), pack=str(pack), repeats=2))
    return replace(made, profiles=(profile(made),))


def waits(greetings: Greetings, plan: RunPlan) -> float:
    greeting = greetings.of(plan.profiles[0])
    assert greeting is not None
    return greeting.wait_s


def call(*said: Said, waited_s: float = LEAD_S, clears_s: Sequence[float] = ()) -> Recording:
    """A call whose caller speaks for 2 s, after so long a wait; what is said counts from its spoken end."""
    made = make_recording(*said, clears_s=clears_s).recording
    before = round((waited_s - LEAD_S) * made.caller.rate_hz)
    turns = tuple(SpokenTurn(t.start_sample + before, t.end_sample + before) for t in made.caller.turns)
    silence = np.zeros(before, np.int16)
    dry = np.concatenate([silence, made.caller.dry])
    later = round(before * 1e9 / made.caller.rate_hz)
    arrivals = tuple(replace(a, arrival_ns=a.arrival_ns + later) for a in made.arrivals)
    clears = tuple(c + later for c in made.clears_ns)
    return replace(made, caller=replace(made.caller, dry=dry, played=dry, turns=turns), arrivals=arrivals, clears_ns=clears)


ANSWERED = Said(0.4, voice(0.5))
SPOKEN_OVER = Said(-0.3, voice(0.5))
GREETED = Said(-2.3, voice(0.2))


def test_who_greets_is_waited_for_from_then_on(plan: RunPlan) -> None:
    greetings = Greetings()
    assert waits(greetings, plan) == FIND_OUT_S
    greetings.learn(AGENT, call(GREETED, ANSWERED))
    assert waits(greetings, plan) == KNOWN_S
    greetings.learn(AGENT, call(ANSWERED, waited_s=KNOWN_S))
    assert waits(greetings, plan) == KNOWN_S


def test_who_answers_is_not_waited_for_again(plan: RunPlan) -> None:
    greetings = Greetings()
    greetings.learn(AGENT, call(ANSWERED, waited_s=FIND_OUT_S))
    assert waits(greetings, plan) == 0
    assert not greetings.is_doubtful(plan.profiles[0], call(ANSWERED))


@pytest.mark.parametrize("waited_s", [FIND_OUT_S, LEAD_S])
def test_who_spoke_before_its_caller_had_finished_may_have_greeted_late(plan: RunPlan, waited_s: float) -> None:
    greetings, doubted = Greetings(), call(SPOKEN_OVER, waited_s=waited_s)
    greetings.learn(AGENT, call(ANSWERED, waited_s=FIND_OUT_S))
    greetings.learn(AGENT, doubted)
    assert greetings.is_doubtful(plan.profiles[0], doubted)
    assert waits(greetings, plan) == KNOWN_S
    greetings.learn(AGENT, call(GREETED, waited_s=KNOWN_S))
    assert waits(greetings, plan) == KNOWN_S


def test_who_is_silent_for_as_long_as_any_reply_may_take_has_cut_in(plan: RunPlan) -> None:
    greetings, cut_in = Greetings(), call(SPOKEN_OVER)
    greetings.learn(AGENT, cut_in)
    greetings.learn(AGENT, call(SPOKEN_OVER, waited_s=KNOWN_S))
    assert waits(greetings, plan) == 0
    greetings.learn(AGENT, cut_in)
    assert not greetings.is_doubtful(plan.profiles[0], cut_in)
    assert waits(greetings, plan) == 0


def test_what_was_taken_back_at_once_is_no_greeting(plan: RunPlan) -> None:
    greetings = Greetings()
    greetings.learn(AGENT, call(Said(-2.3, voice(0.5)), ANSWERED, clears_s=[-2.2]))
    assert waits(greetings, plan) == 0


def test_of_calls_at_once_each_is_in_doubt_until_one_has_greeted(plan: RunPlan) -> None:
    greetings, one, other = Greetings(), call(SPOKEN_OVER, waited_s=FIND_OUT_S), call(SPOKEN_OVER, waited_s=FIND_OUT_S)
    greetings.learn(AGENT, one)
    greetings.learn(AGENT, call(GREETED, waited_s=KNOWN_S))
    greetings.learn(AGENT, other)
    assert greetings.is_doubtful(plan.profiles[0], other)


def test_what_the_profile_says_is_not_doubted(plan: RunPlan) -> None:
    greetings, spoken_over = Greetings(), call(SPOKEN_OVER)
    greetings.learn(AGENT, spoken_over)
    assert greetings.of(profile(plan, greets=False)) is None
    assert greetings.of(profile(plan, greets=True)) == Greeting(KNOWN_S)
    for greets in (True, False):
        assert not greetings.is_doubtful(profile(plan, greets=greets), spoken_over)


@pytest.fixture
def speech(tmp_path: Path) -> str:
    path = tmp_path / "speech.wav"
    soundfile.write(path, pcm(voice(0.9)), AGENT_HZ)
    return str(path)


async def play(plan: RunPlan, folder: Path, *replies: dict[str, Any]) -> tuple[Session, ...]:
    store = await play_scripts(plan, folder, {AGENT: {"replies": list(replies)}})
    assert left_over(folder) == []
    return tuple(store.sessions())


def left_over(folder: Path) -> list[Path]:
    return list(folder.rglob(".partial-*"))


@pytest.mark.models
@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("greets_at_s", [1.0, 3.2, 3.8])
async def test_a_greeting_is_a_cut_in_in_no_call(plan: RunPlan, tmp_path: Path, speech: str, greets_at_s: float) -> None:
    sound = [{"kind": "file", "path": speech}]
    greeting = {"after": "start", "delay_ms": 1_000 * greets_at_s, "sound": sound}
    answer = {"delay_ms": 600, "sound": sound}
    for session in await play(plan, tmp_path / "r", greeting, answer):
        assert session.timing is not None
        assert session.timing.greeting_ms == pytest.approx(1_000 * greets_at_s, abs=60)
        assert not session.timing.cut_in
        assert session.timing.ttfa_ms == pytest.approx(600, abs=60)


@pytest.mark.models
@pytest.mark.usefixtures("virtual_time")
async def test_an_agent_that_speaks_in_a_pause_is_charged_in_every_call(plan: RunPlan, tmp_path: Path, speech: str) -> None:
    hasty = {"delay_ms": 100, "sound": [{"kind": "file", "path": speech}]}
    sessions = [s for s in await play(plan, tmp_path / "r", hasty) if s.key.context_id == "first"]
    assert len(sessions) == 2
    for session in sessions:
        assert session.timing is not None
        assert session.timing.greeting is None
        assert session.timing.pauses_cut == 1
