"""Whatever was recorded: measuring raises nothing, and every figure it gives has its ground in the recording."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from benchmarks.made_recordings import Said, make_recording, voice
from harness.audio.vocal import silero
from harness.errors import UserError
from harness.measuring.transcribe import reply_heard
from harness.recording.files import load, save
from harness.recording.playout import HEARD_RATE_HZ, heard, stereo
from harness.recording.record import Arrival, Recording
from harness.replies.agent_words import said, understood
from harness.reports.session_audio import draw
from harness.timing import measure_turns
from harness.timing.figures import NO_REPLY_MS, TurnTiming
from harness.timing.measure import SILENT_TURN
from tests.harness.timing.any_recording import mutated, plausible


@dataclass(frozen=True)
class Heard:
    """What a transcriber gives that hears one word in everything."""

    seconds: float
    text: str = "word"

    @property
    def words(self) -> tuple[tuple[str, float, float], ...]:
        return (("word", 0.0, self.seconds),)


KEPT = TypeAdapter(tuple[TurnTiming, ...])
IN_CI, IN_LONG = 40, 4_000
Make = Callable[[np.random.Generator], Recording]


def floats(value: object) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from floats(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from floats(part)


def check(recording: Recording) -> None:
    timings = measure_turns(recording, silero())
    assert KEPT.validate_json(KEPT.dump_json(timings)) == timings, "what is kept is what was measured"
    track = heard(recording)
    assert stereo(recording, track).shape[1] == 2
    length_ms = len(track.samples) / HEARD_RATE_HZ * 1_000
    for timing in timings:
        check_turn(timing, recording, track.samples, length_ms)


def check_turn(timing: TurnTiming, recording: Recording, samples: np.ndarray, length_ms: float) -> None:
    assert all(math.isfinite(f) for f in floats(asdict(timing)))
    at_ms = timing.ttfa_ms if timing.ttfa_ms is not None else timing.signed_ms
    assert timing.no_reply == (at_ms is None and timing.discarded is None)
    if timing.ttfa_ms is not None:
        assert 0 <= timing.ttfa_ms < NO_REPLY_MS
        assert timing.signed_ms is None
        assert timing.discarded is None
    assert timing.signed_ms is None or timing.signed_ms < 0
    if at_ms is not None:
        onset = round((timing.spoken_end_ms + at_ms) * HEARD_RATE_HZ / 1_000)
        assert 0 <= onset < len(samples)
        assert np.abs(samples[onset : onset + HEARD_RATE_HZ // 50]).max(initial=0) > 1e-4, "a figure out of silence"
        assert timing.reply_end_ms is not None
        assert at_ms <= timing.reply_end_ms
    for end_ms in (timing.reply_end_ms, timing.first_sound_ms, timing.first_speech_ms):
        assert end_ms is None or timing.spoken_end_ms + end_ms <= length_ms + 0.1
    before_ms = -math.inf
    for utterance in timing.utterances:
        assert utterance.start_ms < utterance.end_ms
        assert utterance.start_ms >= before_ms
        before_ms = utterance.start_ms
    if timing.first_byte_ms is not None:
        came = [(a.arrival_ns - recording.caller.t0_ns) / 1e6 - timing.spoken_end_ms for a in recording.arrivals]
        assert min(abs(ms - timing.first_byte_ms) for ms in came) < 0.01
    assert timing.ttft_ms is None or timing.ttft_ms >= 0
    assert timing.yield_ms is None or timing.yield_ms >= 0
    if timing.waterfall is not None and timing.ttfa_ms is not None:
        stages = timing.waterfall.stages
        assert sum(s.duration_ms for s in stages) == pytest.approx(timing.ttfa_ms, abs=1e-3)
        assert all(s.duration_ms >= 0 for s in stages if s.name != "unexplained")


@pytest.mark.parametrize("make", [plausible, mutated])
def test_no_recording_raises_and_no_figure_is_without_ground(make: Make) -> None:
    for seed in range(IN_CI):
        check(make(np.random.default_rng(seed)))


@pytest.mark.parametrize("sample", [0, 9_000])
def test_a_caller_of_one_sample_has_no_spoken_end_to_measure_from(sample: int) -> None:
    recording = make_recording(Said(0.4, voice(1.0))).recording
    one = np.full(1, sample, np.int16)
    turn = replace(recording.caller.turns[0], start_sample=0, end_sample=1, pauses=())
    caller = replace(recording.caller, dry=one, played=one, departures_ns=np.zeros(0, np.int64), turns=(turn,))
    (timing,) = measure_turns(replace(recording, caller=caller))
    assert timing.discarded == (SILENT_TURN if not sample else None)
    assert timing.realtime_ratio is None
    empty = replace(caller, turns=(replace(turn, end_sample=0),))
    assert measure_turns(replace(recording, caller=empty))[0].discarded == SILENT_TURN


def test_an_agent_of_one_sample_has_not_replied() -> None:
    made = make_recording()
    recording = replace(made.recording, agent_pcm=np.full(1, 9_000, np.int16), arrivals=(Arrival(made.ms(0.4), 0, 1),))
    (timing,) = measure_turns(recording)
    assert timing.no_reply
    assert timing.first_byte_ms == pytest.approx(400)


def test_what_was_recorded_can_be_kept_read_transcribed_and_drawn(tmp_path: Path) -> None:
    for seed in range(10):
        recording = plausible(np.random.default_rng(seed))
        folder = tmp_path / str(seed)
        folder.mkdir()
        save(recording, folder)
        again = load(folder)
        assert (again.arrivals, again.clears_ns, again.transcripts) == (
            recording.arrivals, recording.clears_ns, recording.transcripts,
        )  # fmt: skip
        assert np.array_equal(again.agent_pcm, recording.agent_pcm)
        assert measure_turns(again, silero()) == measure_turns(recording, silero())
        assert (said(again), understood(again)) == (said(recording), understood(recording))
        text, words = reply_heard(again, lambda samples, rate_hz: Heard(len(samples) / rate_hz))
        assert bool(words) >= bool(text)
        drawn = draw(again, folder / "sound.flac")
        assert drawn.length_ms > 0


def test_a_file_that_says_more_arrived_than_was_kept_is_refused_by_name(tmp_path: Path) -> None:
    recording = make_recording(Said(0.3, voice(0.5))).recording
    last = recording.arrivals[-1]
    for wrong in (replace(last, count_samples=10**6), replace(last, offset_samples=10**9)):
        save(replace(recording, arrivals=(*recording.arrivals[:-1], wrong)), tmp_path)
        with pytest.raises(UserError, match="recording"):
            load(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("make", [plausible, mutated])
def test_nor_do_thousands(make: Make) -> None:
    for seed in range(IN_CI, IN_LONG):
        check(make(np.random.default_rng(seed)))
