"""Hibari as an agent's voice: in parts it says what it says whole, begins sooner, and never dies of a text."""

import statistics
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.agents.cascade import voice_hibari
from harness.agents.cascade.settings import SettingsFailed
from harness.agents.cascade.stock import trim_start
from harness.agents.cascade.voice_hibari import FIRST_FRAMES, PAUSE_MS, RATE_HZ, HibariVoice

SENTENCE = "That sounds hard, and I can hear how much it has worn you down."


@pytest.fixture(scope="module")
def whole() -> HibariVoice:
    return HibariVoice(threads=1, in_parts=False)


@pytest.fixture(scope="module")
def in_parts() -> HibariVoice:
    return HibariVoice(threads=1, in_parts=True)


def spoken(voice: HibariVoice, text: str) -> NDArray[np.float32]:
    return np.concatenate([np.zeros(0, np.float32), *(chunk.audio_float_array for chunk in voice.synthesize(text))])


def silent_end_ms(sound: NDArray[np.float32]) -> float:
    return float(sound.size - np.flatnonzero(np.abs(sound) > 250 / 32768)[-1]) * 1000 / RATE_HZ


def test_the_parts_are_the_whole_but_for_the_rounding_of_the_decoder(whole: HibariVoice, in_parts: HibariVoice) -> None:
    parts = [chunk.audio_float_array for chunk in in_parts.synthesize(SENTENCE)]
    one, joined = spoken(whole, SENTENCE), np.concatenate(parts)
    assert len(parts) > 2
    assert len(parts[0]) == FIRST_FRAMES * RATE_HZ // 80
    # Where the near-silence at the end begins depends on one sample.
    assert abs(len(joined) - len(one)) < RATE_HZ // 100
    length = min(len(joined), len(one))
    apart = joined[:length] - one[:length]
    assert np.mean(apart**2) < 0.005 * np.mean(one**2)
    assert whole.config.sample_rate == RATE_HZ


class _SameDecoder:
    """The decoder with one rounding for all: it decodes all frames and gives the ones that are asked for."""

    def __init__(self, decoder: Any, frames: NDArray[np.float32]) -> None:
        self._frames = frames
        self._name = decoder.get_inputs()[0].name
        self._all = decoder.run(list(voice_hibari._SPECTRA), {self._name: frames})

    def run(self, _names: Any, given: dict[str, NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        wanted = given[self._name]
        length = wanted.shape[2]
        starts = range(self._frames.shape[2] - length + 1)
        start = next(k for k in starts if np.array_equal(self._frames[:, :, k : k + length], wanted))
        return [spectrum[:, :, start : start + length] for spectrum in self._all]


def test_phases_and_noise_run_on_through_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    voice = HibariVoice()
    [ids] = voice._sentences(SENTENCE)
    given = {"ids": np.array([ids]), "speed": np.ones(1, np.float32)}
    frames, f0 = voice._encoder.run([voice._frames, "f0"], given)
    monkeypatch.setattr(voice, "_decoder", _SameDecoder(voice._decoder, frames))
    count = frames.shape[2]
    one = voice._sound(frames, f0[0], 0, count)
    bounds = [0, 24, 25, 60, 163, count]
    joined = np.concatenate([voice._sound(frames, f0[0], a, b) for a, b in pairwise(bounds)])
    np.testing.assert_allclose(joined, one, atol=1e-6)


def test_the_whole_is_the_packages_own_sound(whole: HibariVoice) -> None:
    import hibari

    class _Noise:
        def standard_normal(self, shape: tuple[int, int], dtype: type) -> NDArray[np.float32]:
            pairs = whole._noise[:, np.arange(shape[1] // 2) % whole._noise.shape[1]]
            return np.ascontiguousarray(pairs).view(np.float32).astype(dtype)

    package = hibari.Hibari()
    [phonemes] = package.phonemize(SENTENCE)
    [ids] = whole._sentences(SENTENCE)
    assert ids == package.ids(phonemes)
    frames, f0 = whole._encoder.run([whole._frames, "f0"], {"ids": np.array([ids]), "speed": np.ones(1, np.float32)})
    theirs = package.from_ids(ids, 1.0, _Noise())
    np.testing.assert_allclose(whole._sound(frames, f0[0], 0, frames.shape[2]), theirs, atol=1e-6)


def test_it_says_the_same_bytes_again(in_parts: HibariVoice) -> None:
    first = [chunk.audio_int16_bytes for chunk in in_parts.synthesize(SENTENCE)]
    assert len(spoken(in_parts, "Something else.")) > 0
    assert [chunk.audio_int16_bytes for chunk in in_parts.synthesize(SENTENCE)] == first


def test_the_first_part_of_a_piece_has_sound_for_the_caller(in_parts: HibariVoice) -> None:
    for text in ("I'm so sorry.", "Yes.", "You're right,", "That sounds really", "How are you?", SENTENCE):
        first = next(iter(in_parts.synthesize(text))).audio_int16_bytes
        assert len(trim_start(first, RATE_HZ)) / 2 > 0.15 * RATE_HZ, text


def test_a_piece_ends_as_its_last_mark_asks(in_parts: HibariVoice) -> None:
    pauses = {text: silent_end_ms(spoken(in_parts, text)) for text in ("I can hear", "I can hear,", "I can hear.", 'I "hear."')}
    assert pauses["I can hear"] <= PAUSE_MS["none"] + 1
    assert PAUSE_MS["none"] < pauses["I can hear,"] <= PAUSE_MS["comma"] + 1
    assert PAUSE_MS["comma"] < pauses["I can hear."] <= PAUSE_MS["sentence"] + 1
    assert PAUSE_MS["comma"] < pauses['I "hear."']


def test_every_sentence_of_a_text_is_said(in_parts: HibariVoice) -> None:
    assert len(spoken(in_parts, "Yes. I do. I am here.")) > 2 * len(spoken(in_parts, "Yes."))


def test_pieces_keep_one_level_without_overload(whole: HibariVoice) -> None:
    levels = []
    for text in ("I'm here.", SENTENCE, "Take all the time that you need!", "What happened then?", "Oh no!"):
        sound = spoken(whole, text)
        assert np.abs(sound).max() < 1.0, text
        loud = sound[np.abs(sound) > 250 / 32768]
        levels.append(float(np.sqrt(np.mean(loud**2))))
    assert max(levels) < 2 * min(levels)


@pytest.mark.parametrize(
    ("text", "at_least_s"),
    [
        ("", 0),
        ("   \n\n ", 0),
        ("\N{SLIGHTLY SMILING FACE}\N{HEAVY BLACK HEART}", 0),
        ("… — ?!", 0),
        ("At 7:30 on the 3rd of March 2024, Dr. Reed paid $1,250.99 to NASA, i.e. 5 %.", 5),
        ("Call 911 or 999 now.", 1.5),
        ("I hear you \N{BROKEN HEART} so much", 0.7),
        ("No" * 800, 0.5),
        ("no " * 400, 20),
        ("\x00\x1b[31m<think>*_~`{}\\|^ \N{RIGHT-TO-LEFT OVERRIDE}\ufffd", 0),
        ("안녕하세요 مرحبا 你好 Здравствуйте", 0),
        ("a\u0301\u0301\u0301\u0301 ß ﬁ ½ ² № ™", 0),
        ("supercalifragilisticexpialidocious xqzt brrr", 1.5),
        ("(" * 300 + '"' * 300, 0),
    ],
)
def test_no_text_is_an_error(in_parts: HibariVoice, text: str, at_least_s: float) -> None:
    assert len(spoken(in_parts, text)) >= at_least_s * RATE_HZ


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_no_made_up_text_is_an_error(in_parts: HibariVoice, text: str) -> None:
    assert np.isfinite(spoken(in_parts, text)).all()


def test_no_synthesis_is_longer_than_the_network_has_learnt(in_parts: HibariVoice) -> None:
    def lengths(text: str) -> Iterator[int]:
        return (len(ids) for ids in in_parts._sentences(text))

    long = list(lengths("I can hear how much it hurts and " * 40))
    assert len(long) > 1
    assert max(long) <= voice_hibari.MOST_PHONEMES + 2


@pytest.mark.long
def test_the_first_part_comes_well_before_the_whole(whole: HibariVoice, in_parts: HibariVoice) -> None:
    first_s: dict[str, list[float]] = {"whole": [], "parts": []}
    for _ in range(25):
        for name, voice in (("whole", whole), ("parts", in_parts)):
            began_s = time.perf_counter()
            next(iter(voice.synthesize(SENTENCE)))
            first_s[name].append(time.perf_counter() - began_s)
    assert statistics.median(first_s["parts"]) < 0.8 * statistics.median(first_s["whole"])


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.audio.hibari_package.find_spec", lambda _name: None)
    with pytest.raises(SettingsFailed, match=r"'hibari-tts' is missing: .*pip install") as missing:
        HibariVoice()
    assert "\n" not in str(missing.value)


def test_another_network_is_refused() -> None:
    import onnx

    node = onnx.helper.make_node("Identity", ["ids"], ["f0"])
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in ("ids", "f0")]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "other", value[:1], value[1:]))
    with pytest.raises(SettingsFailed, match="not the one known here"):
        voice_hibari._halves(model.SerializeToString())
