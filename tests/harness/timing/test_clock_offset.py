"""A remote agent's clock: bounded from both sides, and refused when the bounds contradict."""

from benchmarks.made_recordings import Said, make_recording, voice
from harness.agents import marks
from harness.agents.connection import Mark
from harness.timing import measure
from harness.timing.clock_offset import estimate

MADE = make_recording()
OFFSET_NS = 4_987_654_321_000
"""The agent's machine was started that much later; no clock is below nothing."""


def _mark(name: str, at_s: float, transit_s: float, offset_ns: int = OFFSET_NS, **detail: object) -> Mark:
    """A mark stamped by a clock that is `offset_ns` behind the caller's."""
    return Mark(name, MADE.ms(at_s) - offset_ns, MADE.ms(at_s + transit_s), detail)


def test_the_true_offset_lies_within_the_uncertainty() -> None:
    found = [_mark(marks.SPEECH_STARTED, -1.94, 0.021), _mark(marks.ASR_DONE, 0.3, 0.012), _mark("other", 0.5, 0.030)]
    clock = estimate(found, MADE.recording.caller)
    assert clock.refused is None
    assert abs(clock.offset_ns - OFFSET_NS) <= clock.uncertainty_ns
    assert clock.uncertainty_ns == (60_000_000 + 12_000_000) // 2


def test_a_remote_agent_s_waterfall_carries_the_uncertainty() -> None:
    steps = [
        _mark(marks.SPEECH_STARTED, -1.99, 0.010),
        _mark(marks.ASR_STARTED, 0.2, 0.010),
        _mark(marks.ASR_DONE, 0.3, 0.010),
        _mark(marks.LLM_REQUESTED, 0.3, 0.010, request=1),
        _mark(marks.LLM_FIRST_TOKEN, 0.5, 0.010, request=1),
    ]
    timing = measure(make_recording(Said(0.8, voice(1.0)), marks=steps).recording)
    assert timing.ttft_ms is not None
    assert abs(timing.ttft_ms - 200) < 0.001
    assert timing.waterfall is not None
    assert 9 < timing.waterfall.clock_uncertainty_ms < 11
    stages = {s.name: s.duration_ms for s in timing.waterfall.stages}
    assert abs(stages["asr"] - 100) < 0.001
    assert abs(stages["endpointing"] - 200) <= timing.waterfall.clock_uncertainty_ms


def test_marks_that_contradict_are_refused_by_name() -> None:
    found = [_mark(marks.SPEECH_STARTED, -3.5, 0.01)]
    clock = estimate(found, MADE.recording.caller)
    assert clock.refused is not None
    timing = measure(make_recording(Said(0.8, voice(1.0)), marks=found).recording)
    assert timing.refused == (clock.refused,)
    assert timing.ttfa_ms is not None
