"""One session against scripted agents: what is sent, what is kept, and how it ends.

In virtual time; one call is played in real time too, and, where time is allowed (`long`), one of each other kind.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scripted_wire import Script, ScriptedConnection

from harness.agents.connection import AudioChunk, Cleared, Connection, ConnectionFailed, Event, Mark
from harness.agents.connections import ConnectionSpec, make
from harness.agents.message import Message
from harness.audio.pcm import resample
from harness.caller import CallerTurn, Greeting, Limits, Pacer, SessionOutcome, SessionPlan, play_session
from harness.caller.pacer import precise_loop
from harness.recording.record import Pause, Recording
from harness.store.unspoken import Reason, Unspoken, unspoken
from harness.timeline import NS_PER_MS
from tests.virtual_time.clock import virtual_time

QUICK = Limits(quiet_s=0.4, no_reply_s=1.0, total_s=3.0)
SOON: dict[str, Any] = {"limits": QUICK, "reply_ends_after_ms": 300}


def play(plan: SessionPlan, *, real: bool = False) -> tuple[Recording, SessionOutcome]:
    async def run() -> tuple[Recording, SessionOutcome]:
        return await play_session(plan, make(plan.connection), Pacer())

    with contextlib.nullcontext(precise_loop) if real else virtual_time() as loop, asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(run())


in_both_times = pytest.mark.parametrize(
    "real", [pytest.param(False, id="virtual"), pytest.param(True, id="real", marks=pytest.mark.long)]
)


def spoken_end_ns(recording: Recording) -> float:
    return recording.caller.t0_ns + recording.caller.speech_end_sample * 1e9 / recording.caller.rate_hz


@pytest.mark.parametrize("real", [False, True], ids=["virtual", "real"])
def test_everything_sent_and_received_is_kept(tone: NDArray[np.int16], scripted: Any, real: bool) -> None:
    history = (Message("user", "Hello."), Message("assistant", "Hi there."))
    plan = SessionPlan(scripted(), (CallerTurn(tone, pauses=(Pause(800, 1600),)),), 16_000, history, **SOON)
    recording, outcome = play(plan, real=real)
    caller = recording.caller
    assert outcome == SessionOutcome("quiet")
    assert caller.speech_start_sample == 8_000
    assert np.array_equal(caller.played[8_000 : 8_000 + len(tone)], tone)
    assert not caller.played[:8_000].any()
    assert not caller.played[8_000 + len(tone) :].any()
    assert caller.pauses == (Pause(8_800, 9_600),)
    assert len(caller.played) == 320 * len(caller.departures_ns)
    assert len(recording.agent_pcm) == 24_000 * 0.7
    assert sum(a.count_samples for a in recording.arrivals) == len(recording.agent_pcm)
    assert [t.text for t in recording.transcripts] == ["I hear you."]
    assert recording.loop_lag_ms


@in_both_times
def test_silence_leaves_as_fast_as_it_would_be_spoken(tone: NDArray[np.int16], scripted: Any, real: bool) -> None:
    recording, _ = play(SessionPlan(scripted(), (CallerTurn(tone),), 16_000, **SOON), real=real)
    departures = recording.caller.departures_ns
    took_ms = (departures[-1] - departures[0]) / NS_PER_MS
    assert took_ms == pytest.approx((len(departures) - 1) * 20, abs=20)
    assert (departures - recording.caller.t0_ns >= (np.arange(len(departures)) + 1) * 20 * NS_PER_MS).all()


def test_a_session_ends_when_the_reply_has_been_heard_not_when_it_has_arrived(tone: NDArray[np.int16], scripted: Any) -> None:
    burst = [{"delay_ms": 50, "sound": [{"kind": "voice", "ms": 900}], "pace": 0}]
    recording, outcome = play(SessionPlan(scripted(replies=burst), (CallerTurn(tone),), 16_000, **SOON))
    lasted_s = (recording.caller.departures_ns[-1] - spoken_end_ns(recording)) / 1e9
    assert outcome.ended == "quiet"
    assert lasted_s == pytest.approx(0.05 + 0.9 + 0.4, abs=0.08)


@pytest.mark.parametrize("sound", [None, {"kind": "silence", "ms": 5_000}])
def test_nothing_heard_is_no_reply(tone: NDArray[np.int16], scripted: Any, sound: Any) -> None:
    replies = [] if sound is None else [{"delay_ms": 50, "sound": [sound]}]
    recording, outcome = play(SessionPlan(scripted(replies=replies), (CallerTurn(tone),), 16_000, **SOON))
    assert outcome == SessionOutcome("no_reply")
    assert (recording.caller.departures_ns[-1] - spoken_end_ns(recording)) / 1e9 == pytest.approx(1.0, abs=0.05)


@in_both_times
def test_an_agent_that_never_stops_is_cut_off(tone: NDArray[np.int16], scripted: Any, real: bool) -> None:
    endless = [{"delay_ms": 50, "sound": [{"kind": "voice", "ms": 30_000}]}]
    limits = Limits(quiet_s=0.4, no_reply_s=1.0, total_s=1.2)
    _, outcome = play(SessionPlan(scripted(replies=endless), (CallerTurn(tone),), 16_000, limits=limits), real=real)
    assert outcome == SessionOutcome("limit")


def test_a_refusal_is_a_named_failure(tone: NDArray[np.int16], scripted: Any) -> None:
    recording, outcome = play(SessionPlan(scripted(refuses="no room"), (CallerTurn(tone),), 16_000, **SOON))
    assert (outcome.failure_kind, outcome.detail) == ("refused", "no room")
    assert recording.ended == "refused"


@in_both_times
def test_an_agent_that_does_not_acknowledge_is_not_waited_for(tone: NDArray[np.int16], scripted: Any, real: bool) -> None:
    limits = Limits(open_s=0.2)
    begun = time.monotonic()
    _, outcome = play(SessionPlan(scripted(open_delay_ms=10_000), (CallerTurn(tone),), 16_000, limits=limits), real=real)
    assert outcome.failure_kind == "open_timeout"
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(("error", "kind"), [("the agent died", "garbage"), (None, None)])
def test_a_line_that_closes_in_mid_call_keeps_what_was_recorded(
    tone: NDArray[np.int16], scripted: Any, error: str | None, kind: str | None
) -> None:
    spec = scripted(closes_after_ms=700, close_error=error, close_kind=kind)
    recording, outcome = play(SessionPlan(spec, (CallerTurn(tone),), 16_000, **SOON))
    assert outcome.failure_kind == (kind or "closed_early")
    assert 30 <= len(recording.caller.departures_ns) <= 40


def test_hanging_up_after_the_answer_is_no_failure(tone: NDArray[np.int16], scripted: Any) -> None:
    spec = scripted(delay_ms=50, sound_ms=100, closes_after_ms=1_250)
    _, outcome = play(SessionPlan(spec, (CallerTurn(tone),), 16_000, **SOON))
    assert outcome == SessionOutcome("closed")


def test_each_turn_waits_for_the_reply_before_it_to_end(tone: NDArray[np.int16], scripted: Any) -> None:
    replies = [
        {"delay_ms": 50, "sound": [{"kind": "voice", "ms": 600}]},
        {"after": "start", "delay_ms": 2_600, "sound": [{"kind": "voice", "ms": 600}]},
    ]
    turns = (CallerTurn(tone), CallerTurn(tone, start="after_reply", offset_ms=200))
    recording, outcome = play(SessionPlan(scripted(replies=replies), turns, 16_000, **SOON))
    first, second = recording.caller.turns
    assert outcome == SessionOutcome("quiet")
    assert second.start_sample - first.end_sample == pytest.approx((0.05 + 0.6 + 0.3) * 16_000, abs=700)
    assert np.array_equal(recording.caller.played[second.start_sample : second.end_sample], tone)
    assert recording.caller.speech_start_sample == second.start_sample


@in_both_times
def test_a_barge_in_starts_inside_the_reply(tone: NDArray[np.int16], scripted: Any, real: bool) -> None:
    replies = [{"delay_ms": 100, "sound": [{"kind": "voice", "ms": 2_000}]}]
    turns = (CallerTurn(tone), CallerTurn(tone[:3200], start="into_reply", offset_ms=400))
    spec = scripted(replies=replies, yields_after_ms=150)
    recording, _ = play(SessionPlan(spec, turns, 16_000, **SOON), real=real)
    main, barge_in = recording.caller.turns
    assert barge_in.kind == "barge_in"
    assert barge_in.start_sample - main.end_sample == pytest.approx(0.5 * 16_000, abs=600)
    assert recording.caller.speech_end_sample == main.end_sample
    assert len(recording.clears_ns) == 1


def test_an_interruption_without_occasion_is_no_turn_that_is_missing(tone: NDArray[np.int16], scripted: Any) -> None:
    turns = (CallerTurn(tone), CallerTurn(tone, start="into_reply", offset_ms=2_000))
    recording, outcome = play(SessionPlan(scripted(), turns, 16_000, **SOON))
    assert outcome == SessionOutcome("quiet")
    assert (recording.planned_turns, len(recording.caller.turns)) == (1, 1)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ({"delay_ms": 50, "sound_ms": 100, "closes_after_ms": 1_250}, "agent hung up"),
        ({"delay_ms": None}, "no reply"),
        ({"delay_ms": 50, "sound_ms": 30_000}, "length"),
        ({"closes_after_ms": 700, "close_error": "the agent died", "close_kind": "closed_early"}, "agent hung up"),
        ({"closes_after_ms": 700, "close_error": "not PCM", "close_kind": "garbage"}, "failed"),
        ({"closes_after_ms": 700, "close_error": "KeyError: 'rate'", "close_kind": "defect"}, "ours"),
        ({"refuses": "no room"}, "failed"),
    ],
)
def test_each_planned_turn_is_spoken_or_has_a_reason(tone: NDArray[np.int16], scripted: Any, script: Any, why: Reason) -> None:
    turns = (CallerTurn(tone), *(CallerTurn(tone, start="after_reply", offset_ms=500) for _ in range(2)))
    recording, outcome = play(SessionPlan(scripted(**script), turns, 16_000, limits=QUICK))
    spoken = sum(turn.kind == "turn" for turn in recording.caller.turns)
    left = unspoken(recording.planned_turns, spoken, recording.ended, outcome.failure_kind)
    assert left == Unspoken(2, 3, why)


def test_a_call_to_its_end_leaves_nothing_unspoken(tone: NDArray[np.int16], scripted: Any) -> None:
    sound = [{"kind": "tone", "ms": 200}]
    replies = [{"delay_ms": 50, "sound": sound}, {"after": "start", "delay_ms": 2_600, "sound": sound}]
    turns = (CallerTurn(tone), CallerTurn(tone, start="after_reply", offset_ms=200))
    recording, outcome = play(SessionPlan(scripted(replies=replies), turns, 16_000, limits=QUICK))
    assert (recording.planned_turns, len(recording.caller.turns)) == (2, 2)
    assert unspoken(recording.planned_turns, 2, recording.ended, outcome.failure_kind) is None


def test_line_noise_fills_what_the_caller_does_not_say(tone: NDArray[np.int16], scripted: Any) -> None:
    noise = np.arange(1, 501, dtype=np.int16) % 40 + 1
    recording, _ = play(SessionPlan(scripted(), (CallerTurn(tone),), 16_000, **SOON, line_noise=noise))
    assert (recording.caller.played[:8_000] == np.resize(noise, 8_000)).all()
    assert not recording.caller.dry[:8_000].any()


def greets(**greeting: Any) -> dict[str, Any]:
    """A scripted agent's replies: a greeting of two parts before anybody has spoken, and an answer."""
    parts = [{"kind": "voice", "ms": 300}, {"kind": "silence", "ms": 300}, {"kind": "voice", "ms": 300}]
    first = {"after": "start", "delay_ms": 700, "sound": parts, **greeting}
    return {"replies": [first, {"delay_ms": 100, "sound": [{"kind": "voice", "ms": 300}]}]}


def start_ms(recording: Recording) -> float:
    return recording.caller.turns[0].start_sample / 16


def test_a_greeting_is_heard_out(tone: NDArray[np.int16], scripted: Any) -> None:
    greeting = Greeting(wait_s=2.0, after_ms=400)
    plan = SessionPlan(scripted(**greets()), (CallerTurn(tone),), 16_000, **SOON, greeting=greeting)
    recording, outcome = play(plan)
    assert outcome.failure_kind is None
    assert 700 + 900 + 400 - 20 <= start_ms(recording) < 2_400
    # Between its two parts the agent is silent for less than the caller leaves after it.
    late = play(SessionPlan(scripted(**greets()), (CallerTurn(tone),), 16_000, **SOON))[0]
    assert start_ms(late) == 500


@in_both_times
def test_who_does_not_greet_is_spoken_to_after_the_wait(tone: NDArray[np.int16], scripted: Any, real: bool) -> None:
    plan = SessionPlan(scripted(), (CallerTurn(tone),), 16_000, **SOON, greeting=Greeting(wait_s=0.9))
    recording, outcome = play(plan, real=real)
    assert outcome.failure_kind is None
    assert start_ms(recording) == pytest.approx(900, abs=40)


def test_a_line_that_is_never_quiet_is_spoken_into(tone: NDArray[np.int16], scripted: Any) -> None:
    endless = [{"after": "start", "delay_ms": 50, "sound": [{"kind": "voice", "ms": 30_000}]}]
    greeting = Greeting(wait_s=0.5, longest_s=1.0)
    limits = Limits(quiet_s=0.4, no_reply_s=1.0, total_s=1.2)
    plan = SessionPlan(scripted(replies=endless), (CallerTurn(tone),), 16_000, limits=limits, greeting=greeting)
    recording, _ = play(plan)
    assert start_ms(recording) == pytest.approx(1_000, abs=40)


class _Agent(ScriptedConnection):
    """A scripted agent with a fault that no agent has."""

    def __init__(self, fault: str, spec: ConnectionSpec) -> None:
        super().__init__(Script(**spec.options))
        self._fault = fault

    async def open(self, history: Sequence[Message]) -> None:
        if self._fault == "open":
            raise OSError("our bug")
        if self._fault == "refuses":
            raise ConnectionFailed("no places left", "busy")
        await super().open(history)

    def send(self, frame: bytes) -> None:
        if self._fault == "send":
            raise KeyError("our bug")
        super().send(frame)

    async def events(self) -> AsyncIterator[Event]:
        async for event in super().events():
            if self._fault == "events":
                raise ValueError("our bug")
            if self._fault == "ends":
                return
            if self._fault == "unknown time":
                yield Cleared("soon")  # type: ignore[arg-type]
            yield event


def played(plan: SessionPlan, connection: Connection) -> tuple[Recording, SessionOutcome]:
    async def run() -> tuple[Recording, SessionOutcome]:
        return await play_session(plan, connection, Pacer())

    with virtual_time() as loop, asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(run())


@pytest.mark.parametrize("fault", ["open", "send", "events", "ends", "unknown time"])
def test_a_fault_of_a_connection_is_not_the_agent_s(fault: str, tone: NDArray[np.int16], scripted: Any) -> None:
    plan = SessionPlan(scripted(), (CallerTurn(tone),), 16_000, limits=QUICK)
    recording, outcome = played(plan, _Agent(fault, plan.connection))
    assert (outcome.failure_kind, recording.ended) == ("defect", "defect")
    assert recording.planned_turns == 1
    assert "our bug" in outcome.detail or fault in ("ends", "unknown time")


def test_a_fault_that_a_connection_names_keeps_its_name(tone: NDArray[np.int16], scripted: Any) -> None:
    plan = SessionPlan(scripted(), (CallerTurn(tone),), 16_000, limits=QUICK)
    _, outcome = played(plan, _Agent("refuses", plan.connection))
    assert (outcome.failure_kind, outcome.detail) == ("busy", "no places left")


def three_turns(tone: NDArray[np.int16], spec: ConnectionSpec, **wish: Any) -> SessionPlan:
    turns = (CallerTurn(tone), *[CallerTurn(tone, start="after_reply", offset_ms=200)] * 2)
    return SessionPlan(spec, turns, 16_000, **{**SOON, **wish})


def answers(*delays_ms: float) -> list[dict[str, Any]]:
    """Replies of 0.7 s, so long after the line was opened."""
    return [{"after": "start", "delay_ms": delay, "sound": [{"kind": "voice", "ms": 700}]} for delay in delays_ms]


@pytest.mark.parametrize(
    ("error", "kind", "ended"), [(None, None, "closed"), ("close code 1012", "hung_up", "hung_up"), ("lost", None, "hung_up")]
)
def test_an_agent_that_hangs_up_loses_no_turn_that_it_answered(
    tone: NDArray[np.int16], scripted: Any, error: str | None, kind: str | None, ended: str
) -> None:
    spec = scripted(replies=answers(1_100, 3_100), closes_after_ms=3_400, close_error=error, close_kind=kind)
    recording, outcome = play(three_turns(tone, spec))
    assert (outcome.ended, outcome.failure_kind, outcome.detail) == (ended, None, error or "")
    assert (recording.planned_turns, len(recording.caller.turns)) == (3, 2)


@pytest.mark.parametrize("kind", ["garbage", "flood", "defect"])
def test_what_cannot_be_trusted_is_no_call(tone: NDArray[np.int16], scripted: Any, kind: str) -> None:
    spec = scripted(replies=answers(1_100, 3_100), closes_after_ms=3_400, close_error="it failed", close_kind=kind)
    assert play(three_turns(tone, spec))[1].failure_kind == kind


def test_a_goodbye_ends_the_call_for_the_agent(tone: NDArray[np.int16], scripted: Any) -> None:
    recording, outcome = play(three_turns(tone, scripted(replies=answers(1_100), closes_after_ms=1_850)))
    assert outcome == SessionOutcome("closed")
    assert (recording.planned_turns, len(recording.caller.turns)) == (3, 1)


@pytest.mark.parametrize(("replies", "ended"), [([], "no_reply"), (answers(1_100), "no_reply")])
def test_a_turn_without_a_reply_ends_the_call(tone: NDArray[np.int16], scripted: Any, replies: Any, ended: str) -> None:
    recording, outcome = play(three_turns(tone, scripted(replies=replies)))
    assert outcome == SessionOutcome(ended)
    assert (recording.planned_turns, len(recording.caller.turns)) == (3, len(replies) + 1)


def test_a_monologue_ends_the_call_by_name(tone: NDArray[np.int16], scripted: Any) -> None:
    replies = [{"delay_ms": 100, "sound": [{"kind": "voice", "ms": 40_000}, {"kind": "voice", "ms": 35_000}]}]
    recording, outcome = play(three_turns(tone, scripted(replies=replies), limits=Limits()))
    assert outcome == SessionOutcome("limit")
    assert (recording.planned_turns, len(recording.caller.turns)) == (3, 1)
    lasted_s = (recording.caller.departures_ns[-1] - spoken_end_ns(recording)) / 1e9
    assert lasted_s == pytest.approx(60, abs=0.1)


@pytest.mark.parametrize("gap_ms", [900, 2_500, 3_400])
def test_a_filler_and_its_answer_are_one_reply(tone: NDArray[np.int16], scripted: Any, gap_ms: float) -> None:
    voice = [{"kind": "voice", "ms": 1_500}]
    replies = [{"delay_ms": 600, "sound": voice}, {"delay_ms": 600 + 1_500 + gap_ms, "sound": voice}]
    plan = SessionPlan(
        scripted(replies=replies), (CallerTurn(tone), CallerTurn(tone, start="after_reply", offset_ms=700)), 16_000
    )
    recording, _ = play(plan)
    first, second = recording.caller.turns
    over_s = (600 + 1_500 + gap_ms + 1_500 + 700) / 1000
    assert over_s < (second.start_sample - first.end_sample) / 16_000 < over_s + 4


def test_a_wire_that_says_done_makes_no_call_longer(tone: NDArray[np.int16], scripted: Any) -> None:
    plan = SessionPlan(scripted(sound_ms=1_500), (CallerTurn(tone),), 16_000)

    class Says(ScriptedConnection):
        async def events(self) -> AsyncIterator[Event]:
            async for event in super().events():
                yield event
                if isinstance(event, AudioChunk):
                    yield Mark("reply_done", event.arrival_ns, event.arrival_ns)

    ends = [played(plan, agent(Script(**plan.connection.options))) for agent in (Says, ScriptedConnection)]
    said_s, silent_s = ((r.caller.departures_ns[-1] - spoken_end_ns(r)) / 1e9 for r, _ in ends)
    assert said_s == pytest.approx(0.1 + 1.5 + 2.0, abs=0.1)
    assert silent_s == pytest.approx(0.1 + 1.5 + 3.8, abs=0.1)


def test_an_interruption_waits_for_a_voice(tone: NDArray[np.int16], scripted: Any) -> None:
    ticks = [{"kind": "tone", "ms": 30}, {"kind": "silence", "ms": 600}] * 3
    replies = [{"delay_ms": 100, "sound": [*ticks, {"kind": "voice", "ms": 2_000}]}]
    turns = (CallerTurn(tone), CallerTurn(tone[:3200], start="into_reply", offset_ms=400))
    limits = Limits(quiet_s=0.4, no_reply_s=4.0, total_s=9.0)
    recording, _ = play(SessionPlan(scripted(replies=replies), turns, 16_000, limits=limits))
    main, barge_in = recording.caller.turns
    assert (barge_in.start_sample - main.end_sample) / 16_000 == pytest.approx(0.1 + 3 * 0.63 + 0.4, abs=0.1)


def test_a_voice_after_ringing_is_waited_for_as_a_greeting(tone: NDArray[np.int16], scripted: Any) -> None:
    ring = [{"kind": "tone", "ms": 2_000, "hz": 440}, {"kind": "silence", "ms": 4_000}]
    greeting = {"after": "start", "delay_ms": 100, "sound": [*ring, *ring, {"kind": "voice", "ms": 1_200}]}
    spec = scripted(replies=[greeting, {"delay_ms": 100, "sound": [{"kind": "voice", "ms": 700}]}])
    recording, _ = play(SessionPlan(spec, (CallerTurn(tone),), 16_000, limits=QUICK, greeting=Greeting(wait_s=1.0)))
    assert start_ms(recording) == pytest.approx(100 + 12_000 + 1_200 + 700, abs=80)


def test_a_rate_that_changes_in_the_call_is_heard_and_kept(tone: NDArray[np.int16], scripted: Any) -> None:
    plan = SessionPlan(scripted(sound_ms=1_600), (CallerTurn(tone),), 16_000, **SOON)

    class Changes(ScriptedConnection):
        async def events(self) -> AsyncIterator[Event]:
            count = 0
            async for event in super().events():
                if isinstance(event, AudioChunk):
                    count += 1
                    if 10 < count <= 30:
                        pcm = resample(np.frombuffer(event.pcm, "<i2").astype(np.int16), 24_000, 16_000)
                        event = replace(event, pcm=pcm.tobytes(), rate_hz=16_000)
                yield event

    (same, _), (changed, outcome) = (
        played(plan, agent(Script(**plan.connection.options))) for agent in (ScriptedConnection, Changes)
    )
    assert outcome == SessionOutcome("quiet")
    assert changed.agent_rate_hz == 24_000
    assert len(changed.agent_pcm) == pytest.approx(len(same.agent_pcm), abs=4)
    assert [a.arrival_ns - changed.caller.t0_ns for a in changed.arrivals] == pytest.approx(
        [a.arrival_ns - same.caller.t0_ns for a in same.arrivals], abs=NS_PER_MS
    )
    assert [a.offset_samples for a in changed.arrivals] == pytest.approx([a.offset_samples for a in same.arrivals], abs=4)
    apart = changed.agent_pcm[: len(same.agent_pcm)].astype(float) - same.agent_pcm[: len(changed.agent_pcm)]
    assert np.std(apart) < 0.2 * np.std(same.agent_pcm)


def test_an_agent_whose_turn_detection_is_off_is_told_of_each_end_of_speech(tone: NDArray[np.int16], scripted: Any) -> None:
    ends: list[int] = []

    class Told(ScriptedConnection):
        frames = 0

        def send(self, frame: bytes) -> None:
            self.frames += 1
            super().send(frame)

        def end_turn(self) -> None:
            ends.append(self.frames)

    replies = [{"delay_ms": 50, "sound": [{"kind": "voice", "ms": 900}]}] * 2
    cough = CallerTurn(tone[:1_600], start="into_reply", event="cough")
    plan = SessionPlan(
        scripted(replies=replies), (CallerTurn(tone), cough, CallerTurn(tone, start="after_reply")), 16_000, **SOON
    )

    async def run() -> tuple[Recording, SessionOutcome]:
        return await play_session(plan, Told(Script.model_validate(plan.connection.options)), Pacer())

    with virtual_time() as loop, asyncio.Runner(loop_factory=loop) as runner:
        recording, _ = runner.run(run())
    spoken = [turn for turn in recording.caller.turns if turn.kind != "event"]
    assert len(spoken) == 2
    assert ends == [-(-turn.end_sample // 320) for turn in spoken]
