"""What an unmodified bot reports of itself, against times that are programmed; and a real one, whose delays are known."""

import itertools
from collections.abc import Sequence
from typing import Final

import pytest

from benchmarks.made_recordings import Made, Said, make_recording, voice
from harness.agents import marks
from harness.agents.connection import Mark
from harness.recording.record import Arrival
from harness.timing import measure
from harness.timing.marks_from_wire import REPORTED, reported_marks

LLM, VOICE, STT = "OpenAILLMService#0", "Melody#0", "WhisperSTTService#0"


Event = tuple[str, float, dict[str, object]]


def told(made: Made, events: Sequence[Event], late_s: float = 0.0) -> list[Mark]:
    """RTVI's events, arriving `late_s` after they happened; times in seconds after the spoken end."""
    return [
        Mark(f"rtvi.{name}", made.ms(at_s + late_s), made.ms(at_s + late_s), {**detail, "stamped": "arrival"})
        for name, at_s, detail in events
    ]


def of(processor: str, seconds: float, key: str = "ttfb") -> dict[str, object]:
    value = "ttfat" if key == "ttfat" else "ttfa" if key == "ttfa" else "value"
    return {key: [{"processor": processor, value: seconds}]}


REPLY: Final[tuple[Event, ...]] = (
    ("user-started-speaking", -1.0, {}),
    ("vad-user-stopped-speaking", 0.200, {}),
    ("metrics", 0.300, of(STT, 0.095, "processing")),
    ("user-transcription", 0.302, {}),
    ("user-stopped-speaking", 0.500, {}),
    ("bot-llm-started", 0.505, {}),
    ("metrics", 0.700, of(LLM, 0.180)),
    ("metrics", 0.720, of(LLM, 0.200, "ttfat")),
    ("bot-llm-text", 0.720, {"text": "Hi"}),
    ("bot-tts-started", 0.790, {}),
    ("metrics", 0.850, of(VOICE, 0.060)),
    ("metrics", 0.860, of(VOICE, 0.080, "ttfa")),
    ("bot-started-speaking", 0.863, {}),
)


def test_an_unmodified_bot_has_a_waterfall_and_a_ttft() -> None:
    made = make_recording()
    timing = measure(make_recording(Said(0.860, voice(1.0)), marks=told(made, REPLY)).recording)
    assert timing.ttft_ms == pytest.approx(200, abs=0.1)
    assert timing.stages_from == "reported"
    assert timing.waterfall is not None
    stages = {stage.name: stage.duration_ms for stage in timing.waterfall.stages}
    assert stages["llm"] == pytest.approx(200, abs=1)
    assert stages["turn_decision"] == pytest.approx(300, abs=1)
    assert stages["endpointing"] == pytest.approx(200, abs=1)
    assert stages["first_clause"] == pytest.approx(70, abs=1)
    assert sum(stages.values()) == pytest.approx(timing.ttfa_ms)
    assert stages["unexplained"] < 40
    assert timing.stages_resolution_ms == pytest.approx(3, abs=0.1)


def test_late_messages_are_put_before_what_they_caused_and_the_resolution_says_how_late() -> None:
    made = make_recording()
    timing = measure(make_recording(Said(0.860, voice(1.0)), marks=told(made, REPLY, late_s=0.045)).recording)
    assert timing.ttft_ms == pytest.approx(200, abs=0.1)
    assert timing.waterfall is not None
    assert timing.waterfall.refused == ()
    stages = {stage.name: stage.duration_ms for stage in timing.waterfall.stages}
    assert stages["llm"] == pytest.approx(200, abs=1)
    assert timing.stages_resolution_ms is not None
    assert timing.stages_resolution_ms == pytest.approx(48, abs=1)
    assert abs(stages["endpointing"] - 200) <= timing.stages_resolution_ms
    assert abs(stages["tts"] - 60) <= timing.stages_resolution_ms + 40


def test_what_the_agent_stamps_itself_is_believed_alone() -> None:
    made = make_recording()
    own = [Mark(marks.LLM_REQUESTED, made.ms(0.6), made.ms(0.6)), Mark(marks.LLM_FIRST_TOKEN, made.ms(0.65), made.ms(0.65))]
    assert reported_marks([*own, *told(made, REPLY)], ()) == ()
    timing = measure(make_recording(Said(0.860, voice(1.0)), marks=[*own, *told(made, REPLY)]).recording)
    assert timing.ttft_ms == pytest.approx(50, abs=0.1)
    assert timing.stages_from == "marks"
    assert timing.stages_resolution_ms is None


def test_a_request_that_was_cut_off_gives_its_figures_to_no_reply() -> None:
    made = make_recording()
    first: list[Event] = [("bot-llm-started", -0.4, {}), ("metrics", -0.1, of(LLM, 0.29))]
    timing = measure(make_recording(Said(0.860, voice(1.0)), marks=told(made, [*first, *REPLY])).recording)
    assert timing.ttft_ms == pytest.approx(200, abs=0.1)


@pytest.mark.parametrize(
    "detail",
    [{"ttfb": None}, {"ttfb": ["x"]}, {"ttfb": [{}]}, {"ttfb": [{"processor": 3, "value": True}]}, {"ttfat": {"a": 1}},
     {"ttfb": [{"processor": LLM, "value": 1e300}]}, {"processing": [{"processor": STT, "value": -1}]}],
)  # fmt: skip
def test_metrics_that_are_none_are_passed_over(detail: dict[str, object]) -> None:
    made = make_recording()
    found = told(made, [("metrics", 0.1, detail), ("bot-llm-started", 0.2, {}), ("metrics", 0.3, detail)])
    assert [mark.name for mark in reported_marks(found, ())] == [marks.LLM_REQUESTED]


def test_every_order_of_what_is_told_gives_causes_before_their_effects() -> None:
    made = make_recording()
    parts = REPLY[4:9]
    for order in itertools.permutations(range(len(parts))):
        shuffled = [(parts[k][0], 0.5 + 0.01 * n, parts[k][2]) for n, k in enumerate(order)]
        arrivals = (Arrival(made.ms(0.9), 0, 960),)
        found = [mark for mark in reported_marks(told(made, shuffled), arrivals) if "request" in mark.detail]
        assert all(mark.detail["stamped"] == REPORTED for mark in found)
        for request in {mark.detail["request"] for mark in found}:
            at = {mark.name: mark.at_ns for mark in found if mark.detail["request"] == request}
            if {marks.LLM_REQUESTED, marks.LLM_FIRST_TOKEN} <= set(at):
                assert at[marks.LLM_REQUESTED] <= at[marks.LLM_FIRST_TOKEN]


def test_a_realtime_server_s_own_events_bound_its_stages() -> None:
    made = make_recording()
    events = (
        ("input_audio_buffer.speech_started", -1.0),
        ("input_audio_buffer.speech_stopped", 0.500),
        ("response.created", 0.510),
        ("response.output_audio_transcript.delta", 0.700),
        ("response.output_audio.delta", 0.820),
        ("response.done", 2.0),
    )

    def stamped(of_events: Sequence[tuple[str, float]]) -> list[Mark]:
        return [Mark(f"realtime.{name}", made.ms(at_s), made.ms(at_s), {"stamped": "arrival"}) for name, at_s in of_events]

    timing = measure(make_recording(Said(0.820, voice(1.0)), marks=stamped(events)).recording)
    assert timing.stages_from == "reported"
    assert timing.ttft_ms == pytest.approx(190, abs=0.1)
    assert timing.waterfall is not None
    stages = {stage.name: stage.duration_ms for stage in timing.waterfall.stages}
    assert stages["endpointing"] == pytest.approx(500, abs=1)
    assert stages["llm"] == pytest.approx(190, abs=1)
    assert stages["tts"] >= 119
    assert sum(stages.values()) == pytest.approx(timing.ttfa_ms, abs=1e-6)
    # Sound before words: the voice has no time of its own.
    sound_first = [event for event in events if "transcript" not in event[0]]
    timing = measure(make_recording(Said(0.820, voice(1.0)), marks=stamped(sound_first)).recording)
    assert timing.ttft_ms == pytest.approx(310, abs=0.1)


@pytest.mark.parametrize(
    ("greeting", "asked", "words", "sound", "done"),
    [
        (("gemini.words", "gemini.audio", "gemini.generation_complete"),
         "gemini.activity_end", "gemini.words", "gemini.audio", "gemini.generation_complete"),
        ((),
         "elevenlabs.user_transcript", "elevenlabs.words", "elevenlabs.audio", "elevenlabs.agent_response_complete"),
    ],
)  # fmt: skip
def test_the_end_of_the_turn_is_taken_for_the_request_where_a_wire_has_none(
    greeting: tuple[str, ...], asked: str, words: str, sound: str, done: str
) -> None:
    made = make_recording()
    events = [(name, -2.0) for name in greeting] + [(asked, 0.4), (words, 0.6), (sound, 0.82), (done, 2.0)]
    found = [Mark(name, made.ms(at_s), made.ms(at_s), {"stamped": "arrival"}) for name, at_s in events]
    timing = measure(make_recording(Said(0.820, voice(1.0)), marks=found).recording)
    assert timing.ttft_ms == pytest.approx(200, abs=0.1)
    assert timing.waterfall is not None
    assert {stage.name: stage.duration_ms for stage in timing.waterfall.stages}["endpointing"] == pytest.approx(400, abs=1)
    without = [mark for mark in found if mark.name != asked]
    timing = measure(make_recording(Said(0.820, voice(1.0)), marks=without).recording)
    assert timing.ttft_ms is None
    assert timing.ttft_from_spoken_end_ms == pytest.approx(600, abs=0.1)
