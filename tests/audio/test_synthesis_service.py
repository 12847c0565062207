"""Voices through pipecat's services: two of its own classes against a scripted server that speaks their formats."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import soundfile

from harness.audio.speech import PlainDirections, render_turn
from harness.audio.speech_floor import FloorSettings
from harness.audio.synthesis_service import SERVICE_RATE_HZ, PipecatSynthesiser, ServiceVoice, load_service_voices
from harness.audio.voice_error import VoiceError
from tests.http_serving import Handler, serving

AS_READ = FloorSettings(hold_share=0.0)
KEY = "key-that-must-not-show"
OPENAI = "pipecat.services.openai.tts.OpenAITTSService"
MS_A_LETTER = 60


class SpeechServer(Handler):
    """Buzzes for 60 ms a letter at 24 kHz, to whoever has the key. `fails` answers every request with that status."""

    requests: ClassVar[list[dict[str, Any]]]
    fails: ClassVar[int | None] = None
    url: ClassVar[str]

    def do_POST(self) -> None:
        body = self.asked()
        self.requests.append({**body, "path": self.path})
        status = self.fails or (200 if KEY in self.headers.get("Authorization", KEY) else 401)
        self.answer(status, _said(body) if status == 200 else {"error": {"message": "refused"}})


def _said(body: dict[str, Any]) -> bytes:
    """Bare samples as one service wants them, or a WAV file as the other does."""
    if "input" in body:
        return _buzz(body["input"])
    wav = io.BytesIO()
    soundfile.write(wav, np.frombuffer(_buzz(body["text"]), "<i2"), SERVICE_RATE_HZ, format="WAV")
    return wav.getvalue()


def _buzz(text: str) -> bytes:
    time_s = np.arange(SERVICE_RATE_HZ * MS_A_LETTER * len(text) // 1000) / SERVICE_RATE_HZ
    wave = sum(np.sin(2 * np.pi * 140 * k * time_s) / k for k in range(1, 12))
    return (6_000 * np.asarray(wave)).astype("<i2").tobytes()


@pytest.fixture
def server() -> Iterator[type[SpeechServer]]:
    class Mine(SpeechServer):
        requests: ClassVar[list[dict[str, Any]]] = []

    with serving(Mine) as url:
        Mine.url = f"{url}/v1"
        yield Mine


def anna(server: type[SpeechServer], **changed: Any) -> ServiceVoice:
    return ServiceVoice.model_validate(
        {
            "service": OPENAI,
            "arguments": {"base_url": server.url},
            "settings": {"voice": "nova", "model": "speech-1"},
            "key_env": "ANNAS_KEY",
            **changed,
        }
    )


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNAS_KEY", KEY)


def test_a_turn_is_spoken_by_the_service_with_the_packs_pauses_and_asked_for_once(
    server: type[SpeechServer], tmp_path: Path
) -> None:
    voice = PipecatSynthesiser(anna(server))
    text = "I went home. <pause 450> It was late."
    turn = render_turn(text, PlainDirections("sadness", 0.5), voice, tmp_path, floor=AS_READ)
    assert [asked["input"] for asked in server.requests] == ["I went home.", "It was late."]
    assert {(asked["voice"], asked["model"]) for asked in server.requests} == {("nova", "speech-1")}
    ((start, end),) = turn.pauses
    assert end - start == round(0.450 * turn.rate_hz)
    assert not turn.samples[start:end].any()
    letters = len("I went home.") + len("It was late.")
    spoken_s = turn.duration_s - 0.450
    assert 0.9 < spoken_s / (letters * MS_A_LETTER / 1000) < 1.2, "sad callers are slower, and it is the service's sound"
    again = render_turn(
        "I went home. <pause 450> It was late.", PlainDirections("sadness", 0.5), voice, tmp_path, floor=AS_READ
    )
    assert len(server.requests) == 2, "a kept turn is not asked for again"
    assert np.array_equal(again.samples, turn.samples)


def test_a_service_that_wants_an_http_session_gets_one(server: type[SpeechServer]) -> None:
    other = ServiceVoice(
        service="pipecat.services.piper.tts.PiperHttpTTSService",
        arguments={"base_url": server.url},
        settings={"voice": "en_US-ryan-high"},
    )
    ((sound,),) = PipecatSynthesiser(other).speak(["Hello you."], 1)
    assert server.requests == [{"text": "Hello you.", "voice": "en_US-ryan-high", "path": "/v1"}]
    assert sound.size / SERVICE_RATE_HZ == pytest.approx(0.6, abs=0.02)


def test_what_it_is_made_with_is_its_identity_and_the_key_is_not(
    server: type[SpeechServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = PipecatSynthesiser(anna(server)).identity
    other = PipecatSynthesiser(anna(server, settings={"voice": "ash", "model": "speech-1"})).identity
    monkeypatch.setenv("ANNAS_KEY", "another")
    assert PipecatSynthesiser(anna(server)).identity == one != other
    assert KEY not in one


@pytest.mark.parametrize("status", [401, 400, 500])
def test_a_refusal_is_one_line_without_the_key(server: type[SpeechServer], status: int) -> None:
    server.fails = status
    with pytest.raises(VoiceError) as caught:
        PipecatSynthesiser(anna(server)).speak(["Hello."], 1)
    assert "\n" not in str(caught.value)
    assert "OpenAITTSService" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_server_that_is_not_there_is_one_line(server: type[SpeechServer]) -> None:
    with pytest.raises(VoiceError, match="OpenAITTSService"):
        PipecatSynthesiser(anna(server, arguments={"base_url": "http://127.0.0.1:9/v1"})).speak(["Hello."], 1)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
        ({"service": "pipecat.services.nowhere.Service"}, "cannot be imported"),
        ({"service": "subprocess.Popen"}, "no pipecat TTS service"),
    ],
)
def test_what_cannot_speak_is_refused_before_it_is_made(server: type[SpeechServer], changed: dict[str, Any], says: str) -> None:
    with pytest.raises(VoiceError, match=says):
        PipecatSynthesiser(anna(server, **changed))


def test_an_argument_that_the_service_does_not_know_is_named(server: type[SpeechServer]) -> None:
    with pytest.raises(VoiceError, match="tempo"):
        PipecatSynthesiser(anna(server, settings={"tempo": 2})).speak(["Hello."], 1)


def test_a_voices_file_is_read_and_its_faults_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "voices.toml"
    file.write_text(f'[anna]\nservice = "{OPENAI}"\nkey_env = "ANNAS_KEY"\n[anna.settings]\nvoice = "nova"\n')
    assert load_service_voices(file)["anna"].settings == {"voice": "nova"}
    for text, says in (
        ("[anna]\n", r"line 1: \[anna\] service is missing"),
        (f'[anna]\nservice = "{OPENAI}"\nkey = "sk-1"\n', r"line 3: \[anna\] key is no setting of a voice"),
        ("[anna\n", "not valid TOML"),
        ('[anna]\nservice = "os"\n', r"\[anna\].service"),
        ("anna = 3\n", r"\[anna\]"),
    ):
        file.write_text(text)
        with pytest.raises(VoiceError, match=says) as caught:
            load_service_voices(file)
        assert "\n" not in str(caught.value)
        assert str(file) in str(caught.value)
    with pytest.raises(VoiceError, match="cannot be read"):
        load_service_voices(tmp_path / "nowhere.toml")
