"""Calls to the scripted Live API: its times, tools and history as the vendor's own types have them."""

from pathlib import Path

import pytest

from harness.agents.connection import ConnectionFailed
from harness.agents.connections import make
from harness.agents.profile import ProfileError
from harness.recording.why_silent import why_silent
from harness.timing import measure
from tests.vendors.calls import PAST, PROFILES, one_call, server, spec_of

NAME = "gemini_live"


async def test_times_are_those_that_it_sends(tmp_path: Path) -> None:
    recording = await one_call(NAME, tmp_path, "activity")
    timing = measure(recording)
    assert timing.ttft_ms is not None
    assert timing.ttfa_ms is not None
    assert timing.waterfall is not None
    names = [mark.name for mark in recording.marks]
    assert names.index("gemini.activity_end") < names.index("gemini.audio") < names.index("gemini.turn_complete")


async def test_a_history_is_given_before_any_sound() -> None:
    async with server(NAME) as running:
        line = make(spec_of(PROFILES[NAME], running.url))
        await line.open(PAST)
        line.send(bytes(640))
        await line.close()


async def test_vertex_ai_has_no_place_for_a_history() -> None:
    line = make(
        spec_of(PROFILES[NAME], "ws://127.0.0.1:1/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent")
    )
    with pytest.raises(ConnectionFailed, match="accepts no history") as failure:
        await line.open(PAST)
    assert failure.value.kind == "no_history"


async def test_a_model_that_only_writes_is_named(tmp_path: Path) -> None:
    recording = await one_call(NAME, tmp_path, "writes")
    assert "name a model that speaks" in (why_silent(recording.marks) or "")


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("activity_detection = { disabled = true }", "activityEnd"),
        ('generation = { responseModalities = ["TEXT"] }', "sound is always asked for"),
    ],
)
def test_a_setting_with_which_it_never_speaks_is_refused(setting: str, why: str) -> None:
    with pytest.raises(ProfileError, match=why):
        spec_of(PROFILES[NAME] + setting, "ws://127.0.0.1:1/")
