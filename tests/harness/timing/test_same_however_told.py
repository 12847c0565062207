"""What may not matter to any figure: the zero of the clocks, how sound is cut into messages, and silence behind everything.

And what was withdrawn answers nothing. The recordings are drawn by their number.
"""

from dataclasses import replace

import numpy as np
import pytest

from harness.audio.vocal import silero
from harness.recording.record import Arrival, Recording
from harness.timing import measure_turns
from harness.timing.figures import TurnTiming
from tests.harness.timing.any_recording import plausible

IN_CI, IN_LONG = 15, 2_000
FIGURES = (
    "spoken_end_ms", "ttfa_ms", "signed_ms", "first_sound_ms", "first_speech_ms", "first_byte_ms", "withdrawn_ms", "ttft_ms",
    "ttft_from_spoken_end_ms",
)  # fmt: skip
BY_NS = 86_400_000_000_777


def shifted(whole: Recording) -> Recording:
    caller = replace(whole.caller, t0_ns=whole.caller.t0_ns + BY_NS, departures_ns=whole.caller.departures_ns + BY_NS)
    return replace(
        whole,
        caller=caller,
        arrivals=tuple(replace(a, arrival_ns=a.arrival_ns + BY_NS) for a in whole.arrivals),
        clears_ns=tuple(at + BY_NS for at in whole.clears_ns),
        marks=tuple(
            replace(m, at_ns=m.at_ns + BY_NS if m.at_ns >= 0 else m.at_ns, arrival_ns=m.arrival_ns + BY_NS) for m in whole.marks
        ),
    )


def split(whole: Recording) -> Recording:
    """Each message in two, which arrived at once."""
    parts: list[Arrival] = []
    for a in whole.arrivals:
        half = a.count_samples // 3
        parts.append(replace(a, count_samples=half))
        parts.append(replace(a, offset_samples=a.offset_samples + half, count_samples=a.count_samples - half))
    return replace(whole, arrivals=tuple(parts))


def with_silence(whole: Recording, seconds: int = 2) -> Recording:
    """Both sides go on for so long without a sound: the caller's track, and the agent's last message."""
    caller = whole.caller
    still = np.zeros(seconds * caller.rate_hz, np.int16)
    longer = replace(caller, dry=np.concatenate([caller.dry, still]), played=np.concatenate([caller.played, still]))
    if not whole.arrivals or whole.arrivals[-1].offset_samples + whole.arrivals[-1].count_samples < len(whole.agent_pcm):
        return replace(whole, caller=longer)
    quiet = np.zeros(seconds * whole.agent_rate_hz, np.int16)
    last = replace(whole.arrivals[-1], count_samples=whole.arrivals[-1].count_samples + len(quiet))
    pcm = np.concatenate([whole.agent_pcm, quiet])
    return replace(whole, caller=longer, agent_pcm=pcm, arrivals=(*whole.arrivals[:-1], last))


def same(one: TurnTiming, other: TurnTiming, within_ms: float, where: object) -> None:
    assert (one.no_reply, one.discarded, one.cut_in) == (other.no_reply, other.discarded, other.cut_in), where
    for name in FIGURES:
        before, after = getattr(one, name), getattr(other, name)
        assert (before is None) == (after is None), (where, name, before, after)
        assert before is None or abs(before - after) <= within_ms, (where, name, before, after)


def check(seed: int) -> None:
    # A call ends in silence; a sound that the recording breaks off has no end to compare.
    whole = with_silence(plausible(np.random.default_rng(seed)), 1)
    found = measure_turns(whole, silero())
    for timing in found:
        _answers_with_nothing_withdrawn(timing, seed)
    for how, within_ms in ((shifted, 0.0), (split, 0.05), (with_silence, 10.0)):
        for one, other in zip(found, measure_turns(how(whole), silero()), strict=True):
            same(one, other, within_ms, (seed, how.__name__))


def _answers_with_nothing_withdrawn(timing: TurnTiming, seed: int) -> None:
    dead_air_ms = timing.endpointing.dead_air_ms if timing.endpointing else None
    for at_ms in (timing.ttfa_ms, timing.signed_ms, timing.first_speech_ms, dead_air_ms):
        inside = [
            u for u in timing.utterances if u.kind == "withdrawn" and at_ms is not None and u.start_ms <= at_ms < u.end_ms
        ]
        assert not inside, (seed, at_ms, inside)


def test_no_figure_hangs_on_how_it_was_told() -> None:
    for seed in range(IN_CI):
        check(seed)


@pytest.mark.long
def test_nor_does_one_of_thousands() -> None:
    for seed in range(IN_CI, IN_LONG):
        check(seed)
