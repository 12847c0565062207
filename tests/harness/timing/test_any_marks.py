"""Whatever an agent says of its stages: they are none below nothing, add up to TTFA, and hang on no clock's zero.

The marks of each case are drawn by its number, so that a case that fails is made again by it.
"""

import math
from dataclasses import dataclass, replace

import pytest

from harness.recording.record import Recording
from harness.timing import waterfall
from harness.timing.chain import OF_A_REQUEST, Reply, heard_reply
from harness.timing.figures import Waterfall
from harness.timing.session_stamps import SessionStamps, stamps_in
from tests.harness.timing.any_marks import MADE, Case, draw

IN_CI, IN_LONG = 800, 100_000
NS = 1e-6
"""In ms: what a sum of whole nanoseconds may be off as a float."""


@dataclass(frozen=True)
class Explained:
    """What is made of a case's marks."""

    waterfall: Waterfall
    reply: Reply | None
    told: SessionStamps


def explained(case: Case) -> Explained:
    told = stamps_in(case.recording)
    caller = case.recording.caller
    begun_ns = caller.t0_ns + round(caller.turns[0].start_sample * 1e9 / caller.rate_hz)
    reply = heard_reply(told.stamps, case.arrived_ns, begun_ns)
    built = waterfall.build(case.audible, reply, told.stamps, told.clock.uncertainty_ns / 1e6, case.network)
    return Explained(built, reply, told)


def shifted(case: Case, by_ns: int, agent_by_ns: int) -> Case:
    """The same session, every clock of the caller's machine ahead by so much, and the agent's by as much or other."""
    whole, audible = case.recording, case.audible
    caller = replace(whole.caller, t0_ns=whole.caller.t0_ns + by_ns, departures_ns=whole.caller.departures_ns + by_ns)
    moved: Recording = replace(
        whole,
        caller=caller,
        arrivals=tuple(replace(a, arrival_ns=a.arrival_ns + by_ns) for a in whole.arrivals),
        marks=tuple(
            replace(m, at_ns=m.at_ns + agent_by_ns if 0 <= m.at_ns < 2**62 else m.at_ns, arrival_ns=m.arrival_ns + by_ns)
            for m in whole.marks
        ),
    )
    ends = waterfall.Audible(
        audible.spoken_end_ns + by_ns, audible.onset_ns + by_ns, audible.first_arrival_ns + by_ns, audible.lead_ns
    )
    return Case(moved, ends, case.arrived_ns + by_ns, case.network)


def check(seed: int) -> None:
    case = draw(seed)
    found = explained(case)
    stages = found.waterfall.stages
    ttfa_ms = (case.audible.onset_ns - case.audible.spoken_end_ns) / 1e6
    assert all(s.duration_ms >= 0 for s in stages), (seed, stages)
    assert math.isclose(sum(s.duration_ms for s in stages), ttfa_ms, abs_tol=NS), (seed, stages, ttfa_ms)
    assert len({s.name for s in stages}) == len(stages), (seed, stages)
    at_ms = 0.0
    for stage in stages:
        assert math.isclose(stage.start_ms, at_ms, abs_tol=NS), (seed, stages)
        at_ms += stage.duration_ms
    assert all(h.duration_ms >= 0 for h in found.waterfall.hidden), (seed, found.waterfall.hidden)
    steps = list(found.reply.steps.values()) if found.reply else []
    assert all(s.at_ns <= case.arrived_ns for s in steps), (seed, "a step of the reply after it was heard")
    in_order = [found.reply.steps[name].at_ns for name in OF_A_REQUEST if found.reply and name in found.reply.steps]
    assert in_order == sorted(in_order), (seed, "an effect before its cause")
    named = (*found.told.refused, *(found.reply.refused if found.reply else ()))
    assert all(isinstance(why, str) and why for why in named), seed
    by_ns = 86_400_000_000_000 + 777
    assert explained(shifted(case, by_ns, by_ns)).waterfall == found.waterfall, (seed, "all clocks shifted")


def test_stages_of_any_marks_are_none_below_nothing_and_add_up() -> None:
    for seed in range(IN_CI):
        check(seed)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_so_are_those_of_a_hundred_thousand(part: int) -> None:
    for seed in range(IN_CI + part * IN_LONG // 10, IN_CI + (part + 1) * IN_LONG // 10):
        check(seed)


def test_the_cases_drawn_are_of_every_kind() -> None:
    """What is drawn must reach the code that it tries: every stage, refusals, hidden work, and marks of every source."""
    found = [explained(draw(seed)) for seed in range(400)]
    names = {s.name for one in found for s in one.waterfall.stages if s.duration_ms > 0}
    assert names == {
        "endpointing", "asr", "turn_score", "turn_decision", "llm", "first_clause", "tts", "transport", "network",
        "unexplained",
    }  # fmt: skip
    assert any(one.told.refused for one in found)
    assert any(one.reply and one.reply.refused for one in found)
    assert any(one.waterfall.hidden for one in found)
    assert any(not one.told.clock.is_the_caller_s for one in found)
    sources = {s.mark.detail.get("stamped") for one in found if one.reply for s in one.reply.steps.values()}
    assert sources == {None, "reported", "traces"}
    assert MADE.recording.caller.t0_ns > 0
