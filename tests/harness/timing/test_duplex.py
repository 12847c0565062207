"""Full duplex in timing: overlap, backchannels and late units of calls with a scripted agent whose truth is known."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from scripted_sound import Piece, render
from scripted_wire import ScriptedConnection, Truth

from harness.agents.connections import ConnectionSpec, make
from harness.caller import CallerTurn, Pacer, SessionPlan, play_session
from harness.recording.playout import heard
from harness.recording.record import Recording
from harness.timing import measure
from harness.timing.duplex import units_of
from harness.timing.figures import Duplex, TurnTiming
from harness.timing.utterances import BLOCK_S
from tests.virtual_time.clock import virtual_time

HZ = 16_000
LEAD_MS, TURN_MS = 500.0, 4_000.0
SPEECH_END = round((LEAD_MS + TURN_MS) * HZ / 1000) - 1


def says(ms: float, delay_ms: float, after: str = "speech_end") -> dict[str, Any]:
    return {"after": after, "delay_ms": delay_ms, "sound": [{"kind": "voice", "ms": ms}]}


def call(*replies: dict[str, Any], full_duplex: bool = True, **options: Any) -> tuple[Recording, Truth]:
    """A call of one turn of 4 s, from 0.5 s on."""
    spec = ConnectionSpec(
        "scripted",
        options={"full_duplex": full_duplex, "replies": list(replies), "speech_end_sample": SPEECH_END, **options},
    )
    turn = CallerTurn(render((Piece(kind="voice", ms=TURN_MS, hz=120.0),), HZ))

    async def run() -> tuple[Recording, Truth]:
        agent = make(spec)
        assert isinstance(agent, ScriptedConnection)
        return (await play_session(SessionPlan(spec, (turn,), HZ), agent, Pacer()))[0], agent.truth

    with virtual_time() as loop, asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(run())


def timed(*replies: dict[str, Any], **options: Any) -> tuple[TurnTiming, Duplex]:
    timing = measure(call(*replies, **options)[0])
    assert timing.duplex is not None
    return timing, timing.duplex


MM_HM, ANSWER = says(350, 1_500, "start"), says(2_500, 600)
NOISES = pytest.mark.parametrize("noise_db", [None, -62.0, -50.0])


@NOISES
def test_a_backchannel_is_no_cut_in_and_silence_is_no_first_byte(noise_db: float | None) -> None:
    recording, truth = call(MM_HM, ANSWER, comfort_noise_db=noise_db)
    timing = measure(recording)
    answer = truth.replies[1]
    onset_ms = (answer.given_ns[0] - recording.caller.t0_ns) / 1e6 + answer.lead_silence_ms - timing.spoken_end_ms
    assert timing.ttfa_ms == pytest.approx(onset_ms, abs=10)
    assert (timing.cut_in, timing.no_reply, timing.underruns, timing.stalled_ms) == (False, False, 0, None)
    assert timing.backchannels == 1
    # A voice that begins in the last block of a unit's level is brought by that unit or by the next one.
    could_bring = answer.given_ns[: 2 if answer.lead_silence_ms > 80 - 1.5e3 * BLOCK_S else 1]
    arrivals_ms = [(given_ns - recording.caller.t0_ns) / 1e6 - timing.spoken_end_ms for given_ns in could_bring]
    assert any(timing.first_byte_ms == pytest.approx(arrival_ms) for arrival_ms in arrivals_ms)
    assert timing.duplex is not None
    assert timing.duplex.where == ("over_speech",)
    assert timing.duplex.murmured_ms == pytest.approx(350, abs=20)
    assert timing.duplex.caller_ms == pytest.approx(TURN_MS, abs=20)
    assert (timing.duplex.overlap_ms, timing.duplex.cadence_ms, timing.duplex.unit_gaps_ms) == (0, 80, ())


def test_without_an_answer_nothing_was_a_first_byte() -> None:
    timing, _ = timed(MM_HM)
    assert (timing.no_reply, timing.first_byte_ms) == (True, None)


@NOISES
def test_an_answer_that_begins_in_overlap(noise_db: float | None) -> None:
    timing, duplex = timed(MM_HM, says(2_500, -400), comfort_noise_db=noise_db)
    assert timing.signed_ms == pytest.approx(-400, abs=10)
    assert duplex.overlap_ms == pytest.approx(400, abs=20)
    assert duplex.agent_ms == pytest.approx(2_500, abs=20)


def test_backchannels_have_their_place() -> None:
    voices = [Piece(kind="voice", ms=1_000), Piece(kind="silence", ms=900), Piece(kind="voice", ms=2_100)]
    spoken = render(voices, HZ)
    recording, _ = call(says(350, 400, "start"), says(350, 1_800, "start"), says(350, 300), says(2_500, 1_800))
    caller = recording.caller
    dry = caller.dry.copy()
    dry[caller.speech_start_sample : caller.speech_start_sample + len(spoken)] = spoken
    found = measure(replace(recording, caller=replace(caller, dry=dry, played=dry))).duplex
    assert found is not None
    assert found.where == ("in_pause", "after_turn"), "the first came before the caller began"
    assert found.caller_ms == pytest.approx(TURN_MS - 900, abs=60)


@pytest.mark.parametrize("stalls", [((2_000, 500),), ((2_000, 200), (6_000, 320))])
def test_a_late_unit_is_late_against_its_own_cadence(stalls: tuple[tuple[float, float], ...]) -> None:
    timing, duplex = timed(MM_HM, ANSWER, stalls=[{"at_ms": at, "ms": ms} for at, ms in stalls])
    assert duplex.cadence_ms == 80
    assert duplex.unit_gaps_ms == tuple(pytest.approx(ms + 80, abs=80) for _, ms in stalls)
    assert timing.stalled_ms == pytest.approx(max(ms for _, ms in stalls), abs=80)


def test_units_in_several_messages_have_the_cadence_of_the_unit() -> None:
    recording, _ = call(ANSWER)
    parts = [
        replace(a, arrival_ns=a.arrival_ns + 10_000 * k, offset_samples=a.offset_samples + k * n, count_samples=n)
        for a in recording.arrivals
        for n in [a.count_samples // 8]
        for k in range(8)
    ]
    units, whole = units_of(replace(recording, arrivals=tuple(parts))), units_of(recording)
    assert units is not None
    assert whole is not None
    assert units.cadence_ms == whole.cadence_ms == 80
    assert len(units.gaps) == len(whole.gaps)


def test_an_agent_slower_than_time_has_every_unit_late() -> None:
    recording, _ = call(ANSWER)
    first_ns = recording.arrivals[0].arrival_ns
    slow = tuple(replace(a, arrival_ns=first_ns + (a.arrival_ns - first_ns) * 8 // 5) for a in recording.arrivals)
    units = units_of(replace(recording, arrivals=slow))
    assert units is not None
    assert units.cadence_ms == 80
    assert all(gap > 1.5 * units.cadence_ms for _, gap in units.gaps)


def test_an_agent_that_sends_its_replies_alone_has_no_units() -> None:
    recording, _ = call(MM_HM, ANSWER, full_duplex=False)
    assert measure(recording).duplex is None
    said_so = replace(recording, full_duplex=True)
    duplex = measure(said_so).duplex
    assert duplex is not None
    assert (duplex.cadence_ms, duplex.units) == (None, 0)
    assert duplex.where == ("over_speech",)
    assert heard(said_so).stalls == ()


def test_an_agent_that_murmurs_all_the_while_sends_without_end() -> None:
    """By its quiet messages alone it would be one that sends its replies alone, and its stall would be a gap in the sound."""
    murmurs = [says(350, 900 + 1_200 * k, "start") for k in range(3)]
    timing, duplex = timed(*murmurs, ANSWER, stalls=[{"at_ms": 1_300, "ms": 500}])
    assert timing.stalled_ms == pytest.approx(500, abs=80)
    assert (timing.cut_in, timing.backchannels) == (False, 3)
    assert duplex.overlap_ms == 0
