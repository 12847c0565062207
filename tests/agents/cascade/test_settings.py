"""Profiles refuse tunings that would never take effect."""

import pytest
from pydantic import ValidationError

from harness.agents.cascade.settings import CascadeSettings

STREAMING = {"stt": {"service": "streaming-whisper"}, "endpoint": {"policy": "fixed", "silence_ms": 500}}


def test_an_empty_table_is_pipecat_as_it_comes() -> None:
    settings = CascadeSettings.model_validate({})
    assert settings.stt.service == "pipecat-whisper"
    assert settings.endpoint.policy == "pipecat-default"
    assert not settings.speculate


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"stt": {"service": "pipecat-whisper", "padding_frames": 200}}, "padding_frames"),
        ({"stt": {"service": "streaming-whisper"}}, "needs the endpoint policy"),
        ({"endpoint": {"policy": "fixed", "silence_ms": 500}}, "needs the endpoint policy"),
        ({"speculate": True}, "speculate needs"),
        (STREAMING | {"speculate": True, "reply": {"revisions": 1}}, "cannot be combined"),
        ({"llm": {"api_key_env": "KEY"}}, "needs base_url"),
        ({"tts": {"voice": "hibari", "use_cuda": True}}, "use_cuda needs a Piper voice"),
        ({"tts": {"most_first_words": 3}}, "most_first_words needs cut"),
        (STREAMING | {"endpoint": {"policy": "two-speed", "short_ms": 900, "long_ms": 700}}, "must not exceed"),
    ],
)
def test_settings_without_effect_are_refused(table: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        CascadeSettings.model_validate(table)


def test_only_names_of_the_store_are_asked_of_it() -> None:
    local = CascadeSettings.model_validate({"llm": {"model": "/models/some.gguf"}})
    assert local.weight_names == ("whisper-tiny.en", "piper-joe")
    remote = CascadeSettings.model_validate({"llm": {"model": "any-model", "base_url": "http://127.0.0.1:8000/v1"}})
    assert remote.weight_names == ("whisper-tiny.en", "piper-joe")
    packaged = CascadeSettings.model_validate({"tts": {"voice": "hibari"}})
    assert packaged.weight_names == ("whisper-tiny.en", "smollm2-135m")
