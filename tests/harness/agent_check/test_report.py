"""What is said of one call, where the sound alone leaves a question open."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.made_recordings import Said, make_recording, noise, voice
from harness.agent_check.call import Trial
from harness.agent_check.report import Check, report_of
from harness.agents.connection import FELL_BACK, IGNORED, ODD_SOUND, Mark
from harness.agents.profile import AgentProfile, load_profile, parse_profile
from harness.caller import SessionOutcome
from harness.recording.record import Recording
from harness.timing import measure_turns
from harness.timing.figures import TurnTiming
from tests.harness.conftest import peer
from tests.harness.timing.test_barge_in import interrupted


@pytest.fixture
def profile() -> AgentProfile:
    return load_profile(str(peer("raw-pcm-echo")))


def check(profile: AgentProfile, recording: Recording, name: str) -> Check:
    trial = Trial(SessionOutcome("quiet"), recording, measure_turns(recording)[0])
    return next(c for c in report_of(profile, trial).checks if c.name == name)


def test_a_reply_that_simply_ended_is_not_called_a_yield(profile: AgentProfile) -> None:
    recording = interrupted(make_recording(Said(0.3, voice(1.3))).recording, 1.2)
    found = check(profile, recording, "yields")
    assert found.verdict == "unknown"
    assert "may simply have ended" in found.detail


@pytest.mark.parametrize(("cleared_s", "verdict"), [(1.45, "ok"), (0.1, "unknown"), (4.5, "unknown")])
def test_only_what_was_taken_back_at_the_interruption_proves_a_yield(
    profile: AgentProfile, cleared_s: float, verdict: str
) -> None:
    made = make_recording(Said(0.3, voice(3.0) if cleared_s > 1 else voice(1.3), 3_000), clears_s=[cleared_s])
    assert check(profile, interrupted(made.recording, 1.2), "yields").verdict == verdict


def test_an_agent_s_own_marks_are_not_taken_for_those_of_a_telephone_network(profile: AgentProfile) -> None:
    made = make_recording(Said(0.3, voice(1.3))).recording
    forged = replace(made, marks=(Mark("sip.answered", made.caller.t0_ns, made.caller.t0_ns, {}),))
    assert check(profile, forged, "reached").detail == ""
    assert check(profile, forged, "says of itself").detail == "1 kind of marks"


SAID_SO: dict[str, Any] = {"full_duplex": True}


def test_an_agent_that_only_murmurs_is_not_told_of_its_sample_rate(profile: AgentProfile) -> None:
    recording = make_recording(Said(-1.0, voice(0.4))).recording
    found = check(profile, recording, "answers")
    assert found.verdict == "failed"
    assert found.detail.startswith("it spoke into the caller's turn")


def test_the_noise_between_the_words_of_a_full_duplex_agent_is_no_wrong_rate(profile: AgentProfile) -> None:
    hiss = replace(make_recording(Said(0.5, noise(2.0, -58.0))).recording, **SAID_SO)
    assert check(profile, hiss, "answers").detail.startswith("it is silent")
    assert "output_rate_hz" in check(profile, replace(hiss, full_duplex=False), "answers").detail


def test_a_full_duplex_agent_that_stops_sending_is_named(profile: AgentProfile) -> None:
    recording = replace(make_recording(Said(0.3, voice(1.3))).recording, **SAID_SO)
    assert check(profile, recording, "full duplex").verdict == "not so"
    murmured = replace(make_recording(Said(-1.0, voice(0.4)), Said(0.5, voice(1.3))).recording, **SAID_SO)
    wish: dict[str, Any] = {"greets": None}
    assert "greets = true" not in check(profile.model_copy(update=wish), murmured, "greeting").detail


def test_what_was_said_over_the_caller_may_be_a_late_greeting(profile: AgentProfile) -> None:
    recording = make_recording(Said(-1.0, voice(0.5)), Said(0.5, voice(0.5))).recording
    wish: dict[str, Any] = {"greets": None}
    found = check(profile.model_copy(update=wish), recording, "greeting")
    assert found.verdict == "unknown"
    assert "greets = true" in found.detail
    quiet = check(profile.model_copy(update=wish), make_recording(Said(0.5, voice(0.5))).recording, "greeting")
    assert (quiet.verdict, quiet.detail) == ("not so", "none")


def figures(profile: AgentProfile, recording: Recording) -> dict[str, str]:
    trial = Trial(SessionOutcome("quiet"), recording, measure_turns(recording)[0])
    return {figure.figure: figure.detail for figure in report_of(profile, trial).figures}


@pytest.mark.parametrize("start", ["", '[process]\ncommand = ["bot"]\nready_pattern = "up"\n'])
def test_a_wire_that_carries_no_ttft_is_told_of_traces(start: str) -> None:
    profile = parse_profile(f'kind = "twilio"\nurl = "ws://127.0.0.1:9/ws"\n{start}', Path("mine.toml"))
    found = figures(profile, make_recording(Said(0.5, voice(1.0))).recording)
    assert "from traces: OpenTelemetry spans" in found["TTFT"]
    assert ("once the harness starts it" in found["TTFT"]) is not bool(start)
    assert "not possible" in found["word errors of its recogniser"]


def test_a_wire_that_carries_it_says_what_brings_it(profile: AgentProfile) -> None:
    assert "llm_requested" in figures(profile, make_recording(Said(0.5, voice(1.0))).recording)["TTFT"]


def test_a_call_over_the_plain_route_says_why(profile: AgentProfile) -> None:
    recording = make_recording(Said(0.5, voice(1.0)), marks=[Mark(FELL_BACK, 1, 1, {"why": "it is off"})]).recording
    assert check(profile, recording, "wire") == Check("wire", "not so", "it is off")
    assert check(profile, recording, "says of itself").verdict == "not so", "the harness said it, and not the agent"


def test_why_a_history_was_not_given_is_said(profile: AgentProfile) -> None:
    recording = make_recording(Said(0.5, voice(1.0))).recording
    trial = Trial(SessionOutcome("quiet"), recording, measure_turns(recording)[0], no_history="it is off; --mode replay")
    report = report_of(profile, trial)
    assert next(c.detail for c in report.checks if c.name == "history") == "it is off; --mode replay"
    assert not report.takes_history


def test_a_thinker_under_an_unknown_name_is_told_what_to_write() -> None:
    profile = parse_profile('kind = "text"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n', Path("writer.toml"))
    timing = TurnTiming(method="trial", spoken_end_ms=0.0, ttfa_ms=None, ttft_ms=900.0)
    for thought in (True, False):
        report = report_of(profile, Trial(SessionOutcome("answered"), None, timing, True, reply="Yes.", thought=thought))
        assert any("reasoning_effort" in c.detail for c in report.checks) is thought
        assert report.works


def test_what_the_connection_noticed_is_said_and_is_no_mark_of_the_agent(profile: AgentProfile) -> None:
    made = make_recording(Said(0.3, voice(1.3))).recording
    at_ns = made.caller.t0_ns
    ignored = [Mark(IGNORED, at_ns, at_ns, {"message": f"a message that is not JSON: {word}"}) for word in ("pong", "hi", "x")]
    noticed = replace(made, marks=(*ignored, Mark(ODD_SOUND, at_ns, at_ns, {"why": "each sample comes twice"})))
    messages, channels = (check(profile, noticed, name) for name in ("messages", "channels"))
    assert (messages.verdict, channels.verdict) == ("not so", "not so")
    assert messages.detail == "ignored 3 messages that this wire does not know: " + "; ".join(
        f"a message that is not JSON: {word}" for word in ("pong", "hi", "x")
    )
    assert channels.detail == "each sample comes twice"
    assert check(profile, noticed, "says of itself").detail == "no marks received"


def test_a_call_that_failed_has_the_server_s_words(profile: AgentProfile) -> None:
    made = make_recording(Said(0.3, voice(1.3))).recording
    error = Mark("rtvi.error", made.caller.t0_ns, made.caller.t0_ns, {"error": "no credits left", "fatal": True})
    outcome = SessionOutcome("failed", "closed_early", "the agent hung up")
    trial = Trial(outcome, replace(made, marks=(error,)), measure_turns(made)[0])
    (answers,) = [one for one in report_of(profile, trial).checks if one.name == "answers"]
    assert answers.detail == 'closed_early: the agent hung up; the server says "no credits left"'
