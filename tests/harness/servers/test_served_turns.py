"""A measured turn whose model server says what it did, by marks, by spans and by samples."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from benchmarks.made_recordings import Made, Said, make_recording, voice
from harness.agents import marks
from harness.agents.connection import Mark
from harness.servers.samples import ServerSample
from harness.timeline import NS_PER_MS, NS_PER_S
from harness.timing import measure
from harness.timing.chain import Reply, Stamps
from harness.timing.clock_offset import ClockOffset
from harness.timing.figures import TurnTiming
from harness.timing.served import Served
from harness.timing.session_stamps import SessionStamps
from tests.harness.timing.test_waterfall import PLAIN

TIMINGS = {"prompt_ms": 110.0, "predicted_ms": 20.0}


def marked(made: Made, *more: tuple[str, float, Mapping[str, object]]) -> list[Mark]:
    stamped: list[tuple[str, float, Mapping[str, object]]] = [
        (name, at_s, {} if request is None else {"request": request}) for name, at_s, request in PLAIN
    ]
    return [Mark(name, made.ms(at_s), made.ms(at_s + 0.001), detail) for name, at_s, detail in (*stamped, *more)]


def timed(*more: tuple[str, float, Mapping[str, object]], samples: tuple[ServerSample, ...] = ()) -> TurnTiming:
    made = make_recording()
    recording = make_recording(Said(1.050, voice(1.0)), marks=marked(made, *more)).recording
    return measure(recording, None, samples)


def sample(made: Made, at_s: float, **columns: float) -> ServerSample:
    return ServerSample(made.ms(at_s), made.ms(at_s + 0.002), 0, "bot", "llm", "vllm", columns)


def test_ttft_is_queue_and_prefill_and_first_decode() -> None:
    made = make_recording()
    stopped = [[made.ms(0.600), made.ms(0.610)]]
    turn = timed(
        (marks.LLM_BEGUN, 0.617, {"request": 1}),
        (marks.LLM_TIMINGS, 0.757, {"request": 1, "timings": TIMINGS, "stopped_ns": stopped}),
    )
    (split,) = turn.servers
    assert split.whole_ms == pytest.approx(turn.ttft_ms)
    assert (split.stage, split.server, split.source) == ("llm", "llama.cpp", "request")
    assert (split.queue_ms, split.prefill_ms, split.first_decode_ms) == pytest.approx((50, 110, 20))
    assert split.idle_ms == pytest.approx(10)
    assert split.unexplained_ms == pytest.approx(10)


def test_the_waterfall_and_every_other_figure_are_the_same_with_and_without_servers() -> None:
    bare = timed()
    assert bare.servers == ()
    served = timed((marks.LLM_BEGUN, 0.6, {"request": 1}), (marks.LLM_TIMINGS, 0.757, {"request": 1, "timings": TIMINGS}))
    assert replace(served, servers=()) == bare


def test_words_on_another_request_are_not_this_turns() -> None:
    assert timed((marks.LLM_TIMINGS, 0.757, {"request": 2, "timings": TIMINGS})).servers == ()


def test_a_bot_that_reports_its_stages_may_pass_on_its_servers_words_and_loses_no_stage_by_it() -> None:
    made = make_recording()
    asked, first = made.ms(0.557), made.ms(0.757)
    span = Mark("span.llm", asked, first, {"metrics.ttfb": 0.2, "end_ns": first})
    said = Mark(marks.LLM_TIMINGS, first, first, {"request": 17, "timings": TIMINGS})
    bare, served = (measure(make_recording(Said(1.050, voice(1.0)), marks=found).recording) for found in ([span], [span, said]))
    assert bare.stages_from == served.stages_from == "traces"
    assert served.waterfall == bare.waterfall
    assert [(split.source, split.prefill_ms) for split in served.servers] == [("request", 110)]


def test_the_end_of_a_request_that_a_bot_reports_without_a_number_is_the_next_one() -> None:
    made = make_recording()
    asked, first = made.ms(0.557), made.ms(0.757)
    found = [
        Mark("rtvi.bot-llm-stopped", made.ms(-0.5), made.ms(-0.5), {}),
        Mark("span.llm", asked, first, {"metrics.ttfb": 0.2, "end_ns": first}),
        Mark("rtvi.bot-llm-stopped", made.ms(0.79), made.ms(0.79), {}),
    ]
    one = {"queue_ms": 30.0, "queue_n": 1.0, "prefill_ms": 150.0, "prefill_n": 1.0, "finished": 1.0}
    samples = (sample(made, 0.5, **dict.fromkeys(one, 0.0)), sample(made, 0.95, **one))
    (split,) = measure(make_recording(Said(1.050, voice(1.0)), marks=found).recording, None, samples).servers
    assert (split.source, split.queue_ms) == ("counters", 30)


def test_what_an_agent_makes_up_splits_nothing() -> None:
    made_up: tuple[dict[str, object], ...] = (
        {"timings": "fast"},
        {"timings": {"prompt_ms": "110"}},
        {"metrics": None},
        {"stopped_ns": [[1, 2]]},
    )
    for detail in made_up:
        assert timed((marks.LLM_TIMINGS, 0.757, {"request": 1, **detail})).servers == ()


def test_a_trace_of_the_server_splits_a_turn_whose_agent_passes_nothing_on() -> None:
    said = {"gen_ai.latency.time_in_queue": 0.03, "gen_ai.latency.time_in_model_prefill": 0.15, "end_ns": 0}
    (split,) = timed(("span.llm_request", 0.560, said)).servers
    assert (split.server, split.queue_ms, split.compute_ms) == ("vllm", 30, 150)
    two = timed(("span.llm_request", 0.560, said), ("span.llm_request", 0.6, said))
    (unsplit,) = two.servers
    assert (unsplit.source, unsplit.note[:42]) == ("none", "2 requests of its server's traces began in")


def test_samples_split_a_turn_that_was_alone_and_say_why_they_split_no_other() -> None:
    made = make_recording()
    free = {"running": 0.0, "waiting": 0.0}
    one = {"queue_ms": 30.0, "queue_n": 1.0, "prefill_ms": 150.0, "prefill_n": 1.0, "finished": 1.0, "work": 9.0}
    before = sample(made, 0.5, **dict.fromkeys(one, 0.0), **free)
    over = (marks.LLM_DONE, 0.79, {"request": 1})
    (alone,) = timed(over, samples=(before, sample(made, 0.95, **one, **free))).servers
    assert (alone.source, alone.queue_ms, alone.prefill_ms) == ("counters", 30, 150)
    (open_end,) = timed((marks.LLM_DONE, 0.79, {"request": 2}), samples=(before, sample(made, 0.95, **one, **free))).servers
    assert (open_end.source, open_end.note[:26]) == ("none", "the end of its request is ")
    (beside,) = timed(over, samples=(before, sample(made, 0.95, **{**one, "finished": 4.0}, **free))).servers
    assert beside.source == "none"
    assert beside.unexplained_ms == pytest.approx(200)
    assert "4 requests were in this window" in beside.note


def test_a_recogniser_with_a_server_of_its_own_has_its_own_wait() -> None:
    made = make_recording()
    done = {"queue_ms": 40.0, "queue_n": 1.0, "compute_ms": 300.0, "compute_n": 1.0, "finished": 1.0}
    samples = [sample(made, 0.19, **dict.fromkeys(done, 0.0)), sample(made, 0.75, **done)]
    (split,) = timed(samples=tuple(replace(s, stage="asr", server="triton") for s in samples)).servers
    assert (split.stage, split.server) == ("asr", "triton")
    assert (split.whole_ms, split.queue_ms, split.compute_ms, split.unexplained_ms) == pytest.approx((349, 40, 300, 9))


AHEAD_NS = 5 * NS_PER_S


def test_each_wait_is_on_the_harness_clock_and_of_its_own_stage() -> None:
    def at(ms: int) -> int:
        return (10_000 + ms) * NS_PER_MS

    stopped = [[at(2_100) - AHEAD_NS, at(2_110) - AHEAD_NS]]
    steps: tuple[tuple[str, int, dict[str, object]], ...] = (
        (marks.ASR_STARTED, 1_000, {}),
        (marks.ASR_DONE, 1_300, {}),
        (marks.ASR_STARTED, 1_400, {}),
        (marks.LLM_REQUESTED, 2_000, {"request": 1}),
        (marks.LLM_FIRST_TOKEN, 2_200, {"request": 1}),
        (marks.LLM_TIMINGS, 2_200, {"request": 1, "timings": {"prompt_ms": 150.0}, "stopped_ns": stopped}),
        (marks.TTS_STARTED, 2_300, {"request": 1}),
        (marks.TTS_FIRST_AUDIO, 2_400, {"request": 1}),
    )
    stamps = Stamps([Mark(name, at(ms) - AHEAD_NS, at(ms), detail) for name, ms, detail in steps], AHEAD_NS)
    reply = Reply(1, {stamp.name: stamp for stamp in stamps.all}, ())
    sampled = [ServerSample(at(ms), at(ms) + 1, 0, "bot", stage, f"{stage}-server", {"running": 0.0})
               for stage in ("asr", "tts") for ms in (500, 4_000)]  # fmt: skip
    found = Served(SessionStamps(stamps, ClockOffset(AHEAD_NS), ()), sampled).of(reply)
    assert [(split.stage, split.server, split.whole_ms) for split in found] == [
        ("asr", "asr-server", 300), ("llm", "llama.cpp", 200), ("tts", "tts-server", 100),
    ]  # fmt: skip
    assert (found[1].idle_ms, found[1].prefill_ms) == (10, 140)
