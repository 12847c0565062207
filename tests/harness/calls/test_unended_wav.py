"""A WAV file of a recorder that was killed has all its samples, whatever its header says."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.audio.sound_file import Bounds, SoundFault, read_int16
from harness.audio.unended_wav import unended_wav

BOUNDS = Bounds(longest_s=60.0)
SOUND = np.random.default_rng(3).integers(-9_000, 9_000, (12_345, 2)).astype(np.int16)


def wav(subtype: str = "PCM_16", *, rate_hz: int = 8_000, more: bytes = b"") -> bytearray:
    """A file of two channels, with `more` chunks before its samples."""
    encoded = io.BytesIO()
    soundfile.write(encoded, SOUND, rate_hz, format="WAV", subtype=subtype)
    whole = bytearray(encoded.getvalue())
    at = whole.index(b"data")
    return whole[:at] + more + whole[at:]


def killed(whole: bytearray, size: int, riff: int | None = None) -> bytes:
    """The file as its recorder left it: these sizes in its header."""
    struct.pack_into("<I", whole, 4, size if riff is None else riff)
    struct.pack_into("<I", whole, whole.index(b"data") + 4, size)
    return bytes(whole)


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
@pytest.mark.parametrize("riff", [0, 36, 0xFFFFFFFF])
@pytest.mark.parametrize("as_file", [False, True])
def test_a_header_without_sizes_hides_no_sample(
    size: int, riff: int, as_file: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source: Path | bytes = killed(wav(), size, riff)
    if as_file:
        path = tmp_path_factory.mktemp("call") / "killed.wav"
        path.write_bytes(source)  # type: ignore[arg-type]
        source = path
    samples, rate_hz = read_int16(source, BOUNDS)
    assert rate_hz == 8_000
    np.testing.assert_array_equal(samples.T, SOUND)


def test_chunks_before_the_samples_are_no_samples() -> None:
    samples, _ = read_int16(killed(wav(more=b"JUNK" + struct.pack("<I", 10) + bytes(10)), 0), BOUNDS)
    np.testing.assert_array_equal(samples.T, SOUND)


@pytest.mark.parametrize("subtype", ["ULAW", "ALAW", "PCM_24", "FLOAT"])
def test_any_coding_of_samples_is_read_to_its_end(subtype: str) -> None:
    whole, _ = read_int16(bytes(wav(subtype)), BOUNDS)
    samples, _ = read_int16(killed(wav(subtype), 0), BOUNDS)
    np.testing.assert_array_equal(samples, whole)


def test_a_file_that_is_its_header_has_no_sample() -> None:
    bare = wav()
    with pytest.raises(SoundFault, match="no samples"):
        read_int16(killed(bare[: bare.index(b"data") + 8], 0), BOUNDS)


def test_a_whole_file_is_read_as_it_is() -> None:
    assert unended_wav(bytes(wav())) is None


def test_what_is_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(SoundFault, match="at most"):
        read_int16(killed(wav(), 0), Bounds(longest_s=1.0))
