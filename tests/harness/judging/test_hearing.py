"""A judge that hears: both replies arrive as sounds in the order asked, in the form that each official API takes."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from harness.errors import UserError
from harness.judging import Completion, Design, JudgeFailure, Question, VerdictCache, judge_pairs_async, open_judge
from harness.judging.cache import cache_key
from harness.judging.endpoint import EndpointJudge
from harness.judging.hearing import HearingJudge
from harness.judging.judge import hears
from harness.judging.settings import JudgeSettings, load_judge_settings
from harness.judging.sound import Clip, joined, wav
from harness.scenarios.context import Context, Turn
from tests.harness.judging.hearing_server import HearingServer, parted, read

RATE_HZ = 24_000
FORMS = {
    "input_audio": {"api": "openai", "audio": {"part": "input_audio"}},
    "audio_url": {"api": "openai", "audio": {"part": "audio_url"}},
    "one file": {"api": "openai", "structured": "none", "audio": {"joined": True}},
    "gemini": {"api": "gemini", "audio": {}},
    "gemini, one file": {"api": "gemini", "audio": {"joined": True}},
}


def tone(hz: float, seconds: float = 0.5) -> Clip:
    made = (np.sin(2 * np.pi * hz * np.arange(round(seconds * RATE_HZ)) / RATE_HZ + 0.1) * 3_000).astype(np.int16)
    return Clip(seconds, lambda: wav(made, RATE_HZ))


def pitch_of(file: bytes) -> float:
    samples = read(file)[0] if file[:4] == b"RIFF" else np.frombuffer(file, np.int16)
    return float(np.count_nonzero(np.diff(np.sign(samples)))) / len(samples)


def lower(one: bytes, other: bytes) -> Literal["A", "B"]:
    return "A" if pitch_of(one) < pitch_of(other) else "B"


def settings_at(url: str, **changes: Any) -> JudgeSettings:
    base_url = f"{url}/v1beta" if changes.get("api") == "gemini" else f"{url}/v1"
    given = {"id": "ear", "family": "none", "version": "1", "model": "m-1", "base_url": base_url, "attempts": 1, "audio": {}}
    return JudgeSettings.model_validate({**given, **changes})


def asked(first: Clip, second: Clip) -> Question:
    return Question((Turn(role="seeker", text="Nobody rang. <pause 300> All week."),), "", "", sounds=(first, second))


@pytest.mark.parametrize("form", FORMS)
async def test_each_api_gets_both_sounds_in_order_in_its_official_form(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EAR_KEY", "sk-hear-0123456789")
    low, high = tone(200), tone(400)
    with HearingServer(lower) as server:
        judge = HearingJudge(settings_at(server.url, key_env="EAR_KEY", **FORMS[form]))
        async with judge:
            forward, backward = await judge.compare(asked(low, high)), await judge.compare(asked(high, low))
    assert server.faults == []
    assert (forward.winner, backward.winner) == ("first", "second")
    assert (forward.tokens_in, forward.tokens_out) == (300, 60 if form.startswith("gemini") else 20)
    sent = str(server.bodies[0])
    assert "Nobody rang. All week." in sent, "the caller's words are text"
    assert "reply_A" not in sent, "the replies' words are not"
    given = server.headers[0]
    assert "sk-hear-0123456789" in (
        given.get("X-Goog-Api-Key") or given.get("x-goog-api-key") or given.get("Authorization", "")
    )


@pytest.mark.parametrize("form", ["input_audio", "gemini"])
async def test_a_refusal_to_listen_is_named(form: str) -> None:
    with HearingServer(lower, refuses=True) as server:
        async with HearingJudge(settings_at(server.url, **FORMS[form])) as judge:
            with pytest.raises(JudgeFailure) as caught:
                await judge.compare(asked(tone(200), tone(400)))
    assert caught.value.kind == "refused"


async def test_geminis_own_api_takes_a_judge_that_reads() -> None:
    with HearingServer(lambda *_: "A") as server:
        async with EndpointJudge(settings_at(server.url, api="gemini", audio=None)) as judge:
            verdict = await judge.compare(Question((), "one", "two"))
    assert (verdict.winner, server.faults) == ("first", [])
    assert "reply_A" in str(server.bodies)


def test_the_two_sounds_of_one_file_are_apart_by_a_beep() -> None:
    one, other = tone(200).wav(), tone(400, 0.7).wav()
    first, second = parted(joined(one, other))
    assert (first, second) == (read(one)[0].tobytes(), read(other)[0].tobytes())
    with pytest.raises(ValueError, match="cannot be joined"):
        joined(one, wav(np.zeros(10, np.int16), 16_000))


def test_the_key_of_an_answer_holds_both_sounds_and_the_way_they_are_given() -> None:
    low, high = tone(200), tone(400)
    keys = {cache_key("f", asked(*pair)) for pair in ((low, high), (high, low), (low, low))}
    assert len(keys) == 3
    assert cache_key("f", asked(low, high)) == cache_key("f", asked(tone(200), tone(400))), (
        "the same sound is the same question"
    )
    prints = {HearingJudge(settings_at("http://x", **form)).fingerprint for form in FORMS.values()}
    assert len(prints) == len(FORMS)


async def test_one_text_in_two_sounds_is_asked_and_one_sound_twice_is_a_tie() -> None:
    context = Context(
        id="c", subset="regular", emotion="sadness", problem="loss", source="test", licence="Apache-2.0",
        turns=(Turn(role="seeker", text="Nobody rang."),),
    )  # fmt: skip
    low, high = tone(200), tone(400)
    replies = [
        Completion("c", name, "I am here.", sound=clip) for name, clip in (("low", low), ("high", high), ("again", tone(400)))
    ]
    with HearingServer(lower) as server, VerdictCache() as cache:
        judge = HearingJudge(settings_at(server.url))
        out = await judge_pairs_async([context], replies, judge, Design(swapped_share=0), cache=cache, presentation="audio")
        server.prefers = lambda *_: "A"
        again = await judge_pairs_async(
            [context],
            replies,
            HearingJudge(settings_at(server.url)),
            Design(swapped_share=0),
            cache=cache,
            presentation="audio",
        )
    won = {(row.system_a, row.system_b): row.winner for row in out.judgments}
    assert won == {("again", "high"): "tie", ("again", "low"): "b", ("high", "low"): "b"}
    assert (out.calls, out.ties_without_call, again.cached, again.calls) == (2, 1, 2, 0)


def test_shipped_judges_that_hear_say_so_and_a_file_that_mixes_apis_is_refused(tmp_path: Path) -> None:
    for name in ("openai-audio", "gemini-audio"):
        assert hears(open_judge(name))
        assert load_judge_settings(name).audio is not None
    assert not hears(open_judge("openai"))
    path = tmp_path / "j.toml"
    head = 'id = "x"\nfamily = "f"\nversion = "1"\nmodel = "m"\nbase_url = "http://x"\n'
    path.write_text(f'{head}api = "anthropic"\n[audio]\n')
    with pytest.raises(UserError, match="hears with api"):
        load_judge_settings(str(path))
    path.write_text(f'{head}api = "gemini"\n[audio]\npart = "audio_url"\n')
    with pytest.raises(UserError, match="leave it out"):
        load_judge_settings(str(path))
