"""Stages from spans: joined by clock and order, under every name in use, with what they lack taken from the wire."""

import pytest

from benchmarks.made_recordings import Made, Said, make_recording, voice
from harness.agents.connection import Mark
from harness.recording.spans import TTFT_ATTRIBUTES, Span
from harness.timing import measure
from harness.timing.figures import TurnTiming
from harness.timing.session_stamps import traced_requests

AT_S = 0.860


def span(made: Made, name: str, start_s: float, end_s: float, **attributes: str | float) -> Mark:
    dotted = {key.replace("__", "."): value for key, value in attributes.items()}
    return Span(name, made.ms(start_s), made.ms(end_s), dotted).as_mark()


def timed(*found: Mark) -> TurnTiming:
    return measure(make_recording(Said(AT_S, voice(1.0)), marks=found).recording)


def stages(timing: TurnTiming) -> dict[str, float]:
    assert timing.waterfall is not None
    return {stage.name: stage.duration_ms for stage in timing.waterfall.stages}


def test_pipecat_s_spans_fill_the_waterfall_and_ttft() -> None:
    made = make_recording()
    found = (
        span(made, "turn", -2.4, 3.0),
        span(made, "stt", -1.9, 0.3, metrics__ttfb=0.3),
        span(made, "llm", 0.5, 0.9, metrics__ttfb=0.2),
        span(made, "tts", 0.75, 2.5, metrics__ttfb=0.08),
    )
    timing = timed(*found)
    assert timing.ttft_ms == pytest.approx(200, abs=0.1)
    assert timing.stages_from == "traces"
    assert stages(timing)["llm"] == pytest.approx(200, abs=1)
    assert stages(timing)["first_clause"] == pytest.approx(50, abs=1)
    assert stages(timing)["tts"] == pytest.approx(80, abs=5)
    assert sum(stages(timing).values()) == pytest.approx(timing.ttfa_ms)


@pytest.mark.parametrize("name", TTFT_ATTRIBUTES)
def test_the_time_to_the_first_token_is_read_under_every_name(name: str) -> None:
    made = make_recording()
    asked = Span("anything", made.ms(0.4), made.ms(0.8), {"gen_ai.operation.name": "chat", name: 0.25}).as_mark()
    assert timed(asked).ttft_ms == pytest.approx(250, abs=0.1)


def test_a_framework_s_own_span_counts_and_not_the_client_s_under_it() -> None:
    made = make_recording()
    client = span(made, "chat m", 0.51, 0.9, gen_ai__operation__name="chat", gen_ai__response__time_to_first_chunk=0.1)
    node = span(made, "llm_node", 0.5, 0.9, lk__response__ttft=0.2)
    assert timed(node, client).ttft_ms == pytest.approx(200, abs=0.1)


def test_what_spans_lack_is_taken_from_the_wire() -> None:
    made = make_recording()
    late = 0.03
    told = [
        ("vad-user-stopped-speaking", 0.2, {}),
        ("user-stopped-speaking", 0.5 + late, {}),
        ("bot-llm-started", 0.5 + late, {}),
        ("metrics", 0.7 + late, {"ttfb": [{"processor": "XLLMService#0", "value": 0.2}]}),
        ("metrics", 0.84 + late, {"ttfb": [{"processor": "XTTSService#0", "value": 0.08}]}),
    ]
    reported = [Mark(f"rtvi.{name}", made.ms(at), made.ms(at), detail) for name, at, detail in told]
    timing = timed(span(made, "llm", 0.5, 0.9, metrics__ttfb=0.2), *reported)
    assert timing.stages_from == "traces"
    assert stages(timing)["endpointing"] == pytest.approx(200, abs=1)
    assert stages(timing)["turn_decision"] == pytest.approx(300, abs=1)
    assert stages(timing)["llm"] == pytest.approx(200, abs=1)
    assert stages(timing)["tts"] > 0


def test_a_voice_belongs_to_the_last_request_that_was_asked_before_it() -> None:
    made = make_recording()
    found = [
        span(made, "llm", 0.1, 0.2, metrics__ttfb=0.05), span(made, "tts", 0.15, 0.3, metrics__ttfb=0.02),
        span(made, "llm", 0.5, 0.9, metrics__ttfb=0.2), span(made, "tts", 0.75, 2.5, metrics__ttfb=0.08),
        span(made, "llm", 3.0, 3.4, metrics__ttfb=0.1),
    ]  # fmt: skip
    requests = traced_requests(found)
    assert [request.asked for request in requests] == [made.ms(s) for s in (0.1, 0.5, 3.0)]
    assert [request.voice_started for request in requests] == [made.ms(0.15), made.ms(0.75), None]
    assert [request.first_audio for request in requests] == [made.ms(0.17), made.ms(0.83), None]
