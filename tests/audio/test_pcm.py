"""PCM: rates, word lengths and G.711 against what the standard and arithmetic say."""

import numpy as np
import pytest

from harness.audio.pcm import decode, encode, resample, to_float, to_int16


def test_int16_survives_the_way_to_float_and_back() -> None:
    every = np.arange(-32_768, 32_768, dtype=np.int16)
    assert np.array_equal(to_int16(to_float(every)), every)


def test_what_is_too_loud_is_clipped_not_wrapped() -> None:
    assert to_int16(np.array([1.5, -1.5, 1.0])).tolist() == [32_767, -32_768, 32_767]


@pytest.mark.parametrize(("from_hz", "to_hz"), [(16_000, 48_000), (22_050, 16_000), (24_000, 16_000), (16_000, 8_000)])
def test_resampling_keeps_length_in_time_and_the_place_of_an_event(from_hz: int, to_hz: int) -> None:
    signal = np.zeros(from_hz, dtype=np.int16)
    signal[from_hz // 2] = 30_000
    out = resample(signal, from_hz, to_hz)
    assert abs(out.size - to_hz) <= 1
    assert abs(int(np.argmax(np.abs(out))) - to_hz / 2) <= 1


def test_resampling_refuses_a_rate_of_zero() -> None:
    with pytest.raises(ValueError, match="positive"):
        resample(np.zeros(3, dtype=np.int16), 0, 8_000)


@pytest.mark.parametrize(("law", "silence"), [("ulaw", 0xFF), ("alaw", 0xD5)])
def test_g711_codes_silence_as_the_standard_says(law: str, silence: int) -> None:
    code = encode(np.zeros(4, dtype=np.int16), law)  # type: ignore[arg-type]
    assert set(code) == {silence}


@pytest.mark.parametrize("law", ["ulaw", "alaw"])
def test_g711_keeps_speech_levels_within_its_own_step(law: str) -> None:
    signal = np.arange(-32_000, 32_000, 7, dtype=np.int16)
    back = decode(encode(signal, law), law)  # type: ignore[arg-type]
    assert back.size == signal.size
    step = np.maximum(16, np.abs(signal.astype(int)) / 16)
    assert (np.abs(back.astype(int) - signal) <= step).all()
    assert np.array_equal(decode(encode(back, law), law), back)  # type: ignore[arg-type]
