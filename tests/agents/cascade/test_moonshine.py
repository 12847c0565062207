"""Moonshine: it hears words, goes on from known ones to the same end in less work, and survives any sound."""

import threading
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.agents.cascade.moonshine import Moonshine, read_tokens
from harness.agents.cascade.recogniser import RATE_HZ, quietest_place
from harness.models.store import resolve


@pytest.fixture(scope="module")
def moonshine() -> Moonshine:
    return Moonshine(str(resolve("moonshine-tiny.en")))


@pytest.fixture(scope="module")
def spoken(speech: NDArray[np.int16]) -> NDArray[np.float32]:
    return np.concatenate([speech, np.zeros(RATE_HZ // 10, np.int16)]).astype(np.float32) / np.float32(32768)


def test_a_transcript_goes_on_from_known_words_and_is_the_same(moonshine: Moonshine, spoken: NDArray[np.float32]) -> None:
    first, whole = moonshine.transcribe(spoken[: len(spoken) * 3 // 4]), moonshine.transcribe(spoken)
    assert "lost my job" in whole.text.lower()
    known = moonshine.agreed(first.tokens, whole.tokens)
    assert len(moonshine.text_of(known).split()) >= 4
    assert moonshine.transcribe(spoken, known=known).text == whole.text

    def shortest_s(known: tuple[int, ...]) -> float:
        times = []
        for _ in range(5):
            begun = time.process_time()
            moonshine.transcribe(spoken, known=known)
            times.append(time.process_time() - begun)
        return min(times)

    assert shortest_s(whole.tokens[:-2]) < shortest_s(())


def test_the_last_word_of_an_agreement_is_left_open(moonshine: Moonshine, spoken: NDArray[np.float32]) -> None:
    tokens = moonshine.transcribe(spoken).tokens
    agreed = moonshine.agreed(tokens, tokens)
    words = moonshine.text_of(tokens).split()
    assert moonshine.text_of(agreed).split() == words[:-1]
    assert moonshine.agreed(tokens, ()) == () == moonshine.agreed((), tokens)


def test_a_wrong_known_beginning_is_doubted(moonshine: Moonshine, spoken: NDArray[np.float32]) -> None:
    whole = moonshine.transcribe(spoken)
    broken = moonshine.transcribe(spoken[: RATE_HZ // 2]).tokens
    doubted = moonshine.transcribe(spoken, len(whole.text.split()) + 1, (*broken, 2))
    assert doubted.retries == 1
    assert doubted.text == whole.text


def test_a_stopped_transcript_is_a_beginning(moonshine: Moonshine, spoken: NDArray[np.float32]) -> None:
    stop = threading.Event()
    stop.set()
    assert moonshine.transcribe(spoken, stop=stop).text == ""


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.3, 13.0, 31.0])
def test_any_length_and_any_sound_gives_some_text(moonshine: Moonshine, seconds: float) -> None:
    noise = np.random.default_rng(1).normal(0, 0.1, int(seconds * RATE_HZ)).astype(np.float32)
    for sound in (noise, np.zeros_like(noise), np.ones_like(noise)):
        assert isinstance(moonshine.transcribe(sound).text, str)


def test_a_long_turn_is_cut_where_it_is_quietest(moonshine: Moonshine, spoken: NDArray[np.float32]) -> None:
    gap = np.zeros(RATE_HZ // 2, np.float32)
    long = np.concatenate([spoken, gap, spoken, gap, spoken, gap, spoken])
    assert len(long) > 9 * RATE_HZ
    assert moonshine.transcribe(long).text.lower().count("lost my job") == 4
    silent_middle = np.concatenate([np.ones(RATE_HZ), np.zeros(RATE_HZ // 10), np.ones(RATE_HZ)]).astype(np.float32)
    assert RATE_HZ <= quietest_place(silent_middle) <= RATE_HZ * 11 // 10


def test_lengths_of_tokens_have_one_byte_or_two() -> None:
    long = b"x" * 300
    assert read_tokens(b"\x00\x03abc" + bytes([128 + 300 % 128, 300 // 128]) + long) == [b"", b"abc", long]
