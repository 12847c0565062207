"""Marks that cannot be true are refused by name, move nobody else's clock, and give no TTFT."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.made_recordings import Said, make_recording, voice
from harness.agents import marks
from harness.agents.connection import NO_TIME_NS, Mark
from harness.timing import measure
from harness.timing.chain import OF_A_REQUEST
from harness.timing.clock_offset import believed, estimate
from harness.timing.figures import TurnTiming, crosses_clocks_unsurely

MADE = make_recording()
CALLER = MADE.recording.caller
HONEST = (
    (marks.SPEECH_STARTED, -1.95), (marks.SILENCE_SEEN, 0.200), (marks.ASR_STARTED, 0.201), (marks.ASR_DONE, 0.300),
    (marks.TURN_DECIDED, 0.305), (marks.LLM_REQUESTED, 0.307), (marks.LLM_FIRST_TOKEN, 0.407), (marks.FIRST_CLAUSE, 0.450),
    (marks.TTS_STARTED, 0.452), (marks.TTS_FIRST_AUDIO, 0.540), (marks.AUDIO_SENT, 0.547),
)  # fmt: skip
TTFT_MS = 100
ELSEWHERE_NS = 400_000_000_000


def stamped(offset_ns: int = 0, transit_s: float = 0.002) -> list[Mark]:
    """An honest agent's marks, by a clock that is `offset_ns` behind the caller's."""
    return [
        Mark(name, MADE.ms(at_s) - offset_ns, MADE.ms(at_s + transit_s), {"request": 1} if name in OF_A_REQUEST else {})
        for name, at_s in HONEST
    ]


def timed(found: list[Mark]) -> TurnTiming:
    return measure(make_recording(Said(0.55, voice(1.0)), marks=found).recording)


@pytest.mark.parametrize("offset_ns", [0, ELSEWHERE_NS, -ELSEWHERE_NS])
@pytest.mark.parametrize(("lie_s", "why"), [(7.0, "stamped after it had arrived"), (-9.0, "stamped before the session began")])
def test_one_lie_is_refused_by_name_and_moves_no_other_mark(offset_ns: int, lie_s: float, why: str) -> None:
    for k, honest in enumerate(stamped(offset_ns)):
        found = stamped(offset_ns)
        found[k] = replace(honest, at_ns=honest.at_ns + round(lie_s * 1e9))
        clock = estimate(found, CALLER)
        assert clock.refused is None
        assert abs(clock.offset_ns - offset_ns) <= clock.uncertainty_ns
        kept = believed(found, CALLER, clock)
        assert kept.marks == tuple(m for n, m in enumerate(found) if n != k)
        assert kept.refused == (f"{honest.name} {why}",)


@pytest.mark.parametrize("offset_ns", [0, ELSEWHERE_NS])
@pytest.mark.parametrize("name", [marks.LLM_REQUESTED, marks.LLM_FIRST_TOKEN])
def test_no_ttft_comes_from_a_mark_from_the_future(offset_ns: int, name: str) -> None:
    whole = timed(stamped(offset_ns))
    assert whole.ttft_ms == pytest.approx(TTFT_MS, abs=0.01)
    assert whole.refused == ()
    lied = timed([replace(m, at_ns=m.at_ns + 10**10) if m.name == name else m for m in stamped(offset_ns)])
    assert lied.ttft_ms is None
    assert lied.refused == (f"{name} stamped after it had arrived",)
    assert lied.ttfa_ms == whole.ttfa_ms
    assert lied.waterfall is not None
    assert sum(s.duration_ms for s in lied.waterfall.stages) == pytest.approx(lied.ttfa_ms)


def test_shuffled_and_shifted_marks_are_true_on_their_clock_or_refused() -> None:
    for seed in range(500):
        rng = np.random.default_rng(seed)
        found = stamped(int(rng.choice([0, ELSEWHERE_NS, -ELSEWHERE_NS])), rng.exponential(0.05))
        moved = rng.random(len(found)) < rng.random()
        found = [
            replace(m, at_ns=m.at_ns + round(rng.normal(0, 10 ** rng.uniform(5, 12)))) if lies else m
            for m, lies in zip(found, moved, strict=True)
        ]
        if rng.random() < 0.3:
            found = [replace(m, at_ns=found[k].at_ns) for m, k in zip(found, rng.permutation(len(found)), strict=True)]
        clock = estimate(found, CALLER)
        kept = believed(found, CALLER, clock)
        assert clock.uncertainty_ns >= 0
        assert len(kept.marks) == len(found) or kept.refused
        for mark in kept.marks:
            at_ns = mark.at_ns + clock.offset_ns
            assert at_ns - clock.uncertainty_ns <= mark.arrival_ns
            assert at_ns + clock.uncertainty_ns >= CALLER.t0_ns


def test_the_order_in_which_marks_came_changes_nothing() -> None:
    found = stamped(ELSEWHERE_NS)
    found[4] = replace(found[4], at_ns=found[4].at_ns + 10**10)
    expected = timed(found)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(found))
        assert timed([found[k] for k in order]) == expected


def test_a_ttft_is_never_negative_whatever_is_shuffled() -> None:
    figures = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        found = stamped(int(rng.choice([0, ELSEWHERE_NS])))
        some = rng.choice(len(found), 3, replace=False)
        moved = rng.permutation(some)
        for k, other in zip(some, moved, strict=True):
            found[k] = replace(found[k], at_ns=stamped(0)[other].at_ns)
        timing = timed(found)
        figures.append(timing.ttft_ms)
        assert timing.ttft_ms is None or timing.ttft_ms >= 0
    assert any(f is None for f in figures)
    assert any(f is not None for f in figures)


def test_two_clocks_that_are_known_too_vaguely_are_told_from_one_that_is_known() -> None:
    near = timed(stamped(0))
    far = timed(stamped(ELSEWHERE_NS, transit_s=0.002))
    vague = timed(stamped(ELSEWHERE_NS)[1:])  # nothing says that it heard the caller begin
    assert [crosses_clocks_unsurely(t) for t in (near, far, vague)] == [False, False, True]


@pytest.mark.parametrize("at_ns", [NO_TIME_NS, -1_000_000_000_000, 2**63, 2**70])
@pytest.mark.parametrize("offset_ns", [0, ELSEWHERE_NS])
def test_a_time_that_no_clock_gives_is_refused_by_name_and_moves_no_clock(at_ns: int, offset_ns: int) -> None:
    honest = stamped(offset_ns)
    lying = [replace(m, at_ns=at_ns) if m.name == marks.LLM_FIRST_TOKEN else m for m in honest]
    assert estimate(lying, CALLER) == estimate([m for m in honest if m.name != marks.LLM_FIRST_TOKEN], CALLER)
    timing = timed(lying)
    assert timing.refused == ("llm_first_token stamped with a time that no clock gives",)
    assert timing.ttft_ms is None
    assert timing.ttfa_ms is not None
    assert timing.waterfall is not None
    assert sum(s.duration_ms for s in timing.waterfall.stages) == pytest.approx(timing.ttfa_ms)
