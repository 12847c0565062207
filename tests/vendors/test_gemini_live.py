"""Calls to the scripted Live API: figures, words and history as the vendor's own types have them, and each failure by name."""

import re
from pathlib import Path

import pytest

from harness.agents.connection import ConnectionFailed
from harness.agents.connections import make
from harness.agents.message import Message
from harness.agents.profile import ProfileError
from harness.recording.why_silent import why_silent
from harness.timing import measure
from tests.vendors.calls import assert_nowhere, p95_ms, played, server, spec_of, ttfa_errors_ms
from tests.vendors.gemini_live import GOODBYES, HEARD, KEY, SAID

PROFILE = 'kind = "gemini-live"\nmodel = "m"\ngreets = false'
TOOL = '[[tools]]\nname = "look_up"\nanswer = "8 hours"'
SECRET = "a-key-that-nobody-may-read-0123456789"
HISTORY = (Message("user", "I cannot sleep."), Message("assistant", "I am sorry."))


@pytest.mark.long
@pytest.mark.alone
async def test_forty_calls_are_within_ten_milliseconds(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("gemini_live", PROFILE, tmp_path)
    assert len(errors_ms) == 40
    assert p95_ms(errors_ms) <= 10


@pytest.mark.alone
async def test_a_few_calls_are(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("gemini_live", PROFILE, tmp_path, calls=4)
    assert len(errors_ms) == 4
    assert p95_ms(errors_ms) <= 10


async def test_words_and_times_are_those_that_it_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, SECRET)
    async with server("gemini_live", "activity") as running:
        spec = spec_of(f'{PROFILE}\napi_key_env = "{KEY}"', running.url)
        recording = (await played(spec, tmp_path, 1))["0"]
    said = {(t.role, t.text) for t in recording.transcripts}
    assert said == {("user", HEARD), ("assistant", "".join(SAID))}
    timing = measure(recording)
    assert timing.ttft_ms is not None
    assert timing.ttfa_ms is not None
    assert timing.waterfall is not None
    names = [mark.name for mark in recording.marks]
    assert names.index("gemini.activity_end") < names.index("gemini.audio") < names.index("gemini.turn_complete")
    assert_nowhere(SECRET, tmp_path)


async def test_a_tool_of_the_profile_answers(tmp_path: Path) -> None:
    async with server("gemini_live", "tools") as running:
        spec = spec_of(f"{PROFILE}\n{TOOL}", running.url)
        recording = (await played(spec, tmp_path, 1))["0"]
    assert [mark.name for mark in recording.marks if "tool" in mark.name] == ["gemini.tool_call", "gemini.tool_response"]
    assert measure(recording).ttfa_ms is not None


async def test_a_history_is_given_before_any_sound() -> None:
    async with server("gemini_live") as running:
        line = make(spec_of(PROFILE, running.url))
        await line.open(HISTORY)
        line.send(bytes(640))
        await line.close()


async def test_vertex_ai_has_no_place_for_a_history() -> None:
    line = make(spec_of(PROFILE, "ws://127.0.0.1:1/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent"))
    with pytest.raises(ConnectionFailed, match="accepts no history") as failure:
        await line.open(HISTORY)
    assert failure.value.kind == "no_history"


@pytest.mark.parametrize(
    ("behaviour", "kind", "mend"),
    [
        ("key", "unauthorised", "api_key_env"),
        ("quota", "busy", "quota of the key's project"),
        ("region", "unauthorised", "region"),
        ("model", "not_found", "v1alpha"),
        ("modality", "refused", "speaks only text"),
    ],
)
async def test_a_refusal_has_the_server_s_words_and_how_it_is_mended(behaviour: str, kind: str, mend: str) -> None:
    async with server("gemini_live", behaviour) as running:
        line = make(spec_of(PROFILE, running.url))
        with pytest.raises(ConnectionFailed, match=re.escape(GOODBYES[behaviour][1])) as failure:
            await line.open(())
        await line.close()
    assert failure.value.kind == kind
    assert mend in str(failure.value)


async def test_a_wrong_route_is_shown_the_right_one() -> None:
    async with server("gemini_live", "route") as running:
        with pytest.raises(ConnectionFailed, match=r"v1beta\.GenerativeService\.BidiGenerateContent") as failure:
            await make(spec_of(PROFILE, running.url)).open(())
    assert failure.value.kind == "not_found"


async def test_a_wrong_key_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    async with server("gemini_live", **{KEY: "another-one"}) as running:
        monkeypatch.setenv(KEY, SECRET)
        with pytest.raises(ConnectionFailed, match=KEY) as failure:
            await make(spec_of(f'{PROFILE}\napi_key_env = "{KEY}"', running.url)).open(())
    assert failure.value.kind == "unauthorised"
    assert SECRET not in str(failure.value)


@pytest.mark.parametrize("patience_s", [0.2, 5])
async def test_a_slow_setup_is_waited_for_as_long_as_the_profile_says(patience_s: float) -> None:
    async with server("gemini_live", "slow") as running:
        line = make(spec_of(f"{PROFILE}\nopen_timeout_s = {patience_s}", running.url))
        if patience_s < 0.4:
            with pytest.raises(ConnectionFailed, match=r"setupComplete did not come within 0\.2 s"):
                await line.open(())
        else:
            await line.open(())
        await line.close()


async def test_a_drop_in_the_reply_is_named(tmp_path: Path) -> None:
    async with server("gemini_live", "drop") as running:
        with pytest.raises(AssertionError, match="closed_early: the line broke"):
            await played(spec_of(PROFILE, running.url), tmp_path, 1)


async def test_a_model_that_only_writes_is_named(tmp_path: Path) -> None:
    async with server("gemini_live", "writes") as running:
        recording = (await played(spec_of(PROFILE, running.url), tmp_path, 1))["0"]
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
        spec_of(f"{PROFILE}\n{setting}", "ws://127.0.0.1:1/")
