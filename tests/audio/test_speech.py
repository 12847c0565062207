"""Renderings: pauses to the sample, levels, rates, the cache, and the real voice."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.audio.pcm import to_float
from harness.audio.speech import RATE_HZ, SPEECH_LEVEL_DBFS, PlainDirections, RenderedTurn, render_turn
from harness.audio.speech_edges import level_db, silent_runs, speaking
from harness.audio.speech_text import SpeechTextError
from harness.audio.synthesis import PiperSynthesiser
from harness.audio.transcribe import Transcriber, TranscriberError
from harness.audio.voice_error import VoiceError

TURN = "Both, I think. I mean, <pause 350> I had two good hours <pause 1200> and now it's gone."


def _silences_ms(turn: RenderedTurn) -> Iterator[float]:
    for start, end in silent_runs(to_float(turn.samples), turn.rate_hz):
        yield (end - start) * 8.0


def test_marked_pauses_are_true_silence_of_exactly_their_length(buzz: Any) -> None:
    turn = render_turn(TURN, None, buzz, None)
    assert [(end - start) / 16 for start, end in turn.pauses] == [350, 1200]
    for start, end in turn.pauses:
        assert not turn.samples[start:end].any()
        assert turn.samples[start - 320 : start].any()
        assert turn.samples[end : end + 320].any()


def test_a_turn_starts_and_ends_on_speech(buzz: Any) -> None:
    turn = render_turn(TURN, None, buzz, None)
    active = speaking(to_float(turn.samples), turn.rate_hz)
    assert active[0]
    assert active[-1]


def test_the_level_is_nominal_and_loudness_moves_it(buzz: Any) -> None:
    nominal = render_turn(TURN, PlainDirections(), buzz, None)
    quiet = render_turn(TURN, PlainDirections(loudness_db=-10), buzz, None)
    assert level_db(to_float(nominal.samples), RATE_HZ) == pytest.approx(SPEECH_LEVEL_DBFS, abs=1.0)
    difference = level_db(to_float(quiet.samples), RATE_HZ) - level_db(to_float(nominal.samples), RATE_HZ)
    assert difference == pytest.approx(-10, abs=0.1)


def test_rate_shortens_speech_and_leaves_marked_pauses(buzz: Any) -> None:
    plain = render_turn(TURN, PlainDirections(), buzz, None)
    fast = render_turn(TURN, PlainDirections(rate=1.25), buzz, None)
    assert fast.duration_s < plain.duration_s
    assert [e - s for s, e in fast.pauses] == [e - s for s, e in plain.pauses]


def test_a_turn_is_rendered_once_and_kept_by_content(buzz: Any, tmp_path: Path) -> None:
    first = render_turn(TURN, None, buzz, tmp_path)
    again = render_turn(TURN, None, buzz, tmp_path)
    assert len(buzz.calls) == 1
    assert np.array_equal(first.samples, again.samples)
    assert (first.pauses, first.text) == (again.pauses, again.text)
    render_turn(TURN + " Well.", None, buzz, tmp_path)
    render_turn(TURN, PlainDirections(rate=1.1), buzz, tmp_path)
    render_turn(TURN, None, replace(buzz, identity="buzz:2"), tmp_path)
    assert len(buzz.calls) == 4
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("damage", [b"", b"not flac at all", b"fLaC" + bytes(400)])
def test_a_damaged_cached_rendering_is_made_again(buzz: Any, tmp_path: Path, damage: bytes) -> None:
    first = render_turn(TURN, None, buzz, tmp_path)
    next(tmp_path.iterdir()).write_bytes(damage)
    assert np.array_equal(render_turn(TURN, None, buzz, tmp_path).samples, first.samples)
    assert len(buzz.calls) == 2


def test_a_segment_the_voice_cannot_say_is_an_error_and_not_silence(buzz: Any) -> None:
    with pytest.raises(SpeechTextError, match="says nothing for 'pfft'"):
        render_turn("Well, <pause 300> pfft <pause 300> fine.", None, buzz, None)


def test_a_file_that_is_no_voice_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(VoiceError, match="not a Piper voice"):
        PiperSynthesiser(tmp_path / "nothing.onnx")
    with pytest.raises(TranscriberError, match="cannot be loaded"):
        Transcriber(tmp_path)


@pytest.mark.models
def test_the_real_voice_says_the_same_bytes_twice_and_hides_no_pause(joe: PiperSynthesiser) -> None:
    turn = render_turn(TURN, None, joe, None)
    other = render_turn("Something else, to move whatever state there is.", None, joe, None)
    assert np.array_equal(render_turn(TURN, None, joe, None).samples, turn.samples)
    assert other.samples.size != turn.samples.size
    long = [ms for ms in _silences_ms(turn) if ms >= 200]
    assert len(long) == 2
    assert long[0] == pytest.approx(350, abs=17)
    assert long[1] == pytest.approx(1200, abs=17)


@pytest.mark.models
def test_the_transcriber_hears_the_real_voice_and_never_talks_in_silence(joe: PiperSynthesiser, tiny_path: Path) -> None:
    transcriber = Transcriber(tiny_path)
    turn = render_turn("I had two good hours on Sunday, <pause 600> and I can't remember any of it now.", None, joe, None)
    heard = transcriber.transcribe(turn.samples, turn.rate_hz)
    assert heard == transcriber.transcribe(turn.samples, turn.rate_hz)
    assert heard.text.lower().startswith("i had two good hours on sunday")
    words = {word.strip(".,").lower(): start for word, start, _ in heard.words}
    assert words["and"] == pytest.approx(turn.pauses[0][1] / turn.rate_hz, abs=0.1)
    rng = np.random.default_rng(1)
    for loudness in (0.0, 3e-5, 1e-3, 0.02):
        noise = (rng.normal(0, loudness, 5 * RATE_HZ) * 32_767).astype(np.int16)
        assert transcriber.transcribe(noise, RATE_HZ).text == ""
    assert transcriber.transcribe(np.zeros(0, dtype=np.int16), RATE_HZ).text == ""


@pytest.mark.models
@pytest.mark.long
def test_one_thing_said_over_and_over_is_heard(joe: PiperSynthesiser, tiny_path: Path) -> None:
    turn = render_turn("Don't worry. " + "You're not, I'm not. " * 10, None, joe, None)
    heard = Transcriber(tiny_path).transcribe(turn.samples, turn.rate_hz)
    assert "not" in heard.text.lower()
    assert len(heard.words) >= 10
