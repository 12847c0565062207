"""Sound of files that others give: small ones that unpack to gigabytes, headers that lie, and the sentence for each."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.audio.sound_file import Bounds, SoundFault, flac, read_float, read_int16

ROOT = Path(__file__).parents[2]
CALL = Bounds(longest_s=3_600.0, most_channels=2, least_hz=8_000)
READ_IN_A_PROCESS = """
import resource, sys
from pathlib import Path
from harness.audio.sound_file import Bounds, SoundFault, read_float
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
for path in sys.argv[1:]:
    try:
        read_float(Path(path), Bounds(longest_s=3600.0, most_channels=2, least_hz=8000))
    except SoundFault as fault:
        print(fault.kind, peak() - before)
    else:
        print("read", peak() - before)
"""


def quiet(path: Path, rate_hz: int, channels: int, seconds: float, container: str = "FLAC", subtype: str = "PCM_16") -> Path:
    with soundfile.SoundFile(path, "w", rate_hz, channels, format=container, subtype=subtype) as file:
        block, left = np.zeros((1_000_000, channels), np.int16), round(rate_hz * seconds)
        while left > 0:
            file.write(block[:left])
            left -= len(block)
    return path


def claiming(path: Path, frames: int, rate_hz: int) -> Path:
    """A short FLAC whose header claims another length."""
    soundfile.write(path, np.random.default_rng(0).integers(-900, 900, (16_000, 2)).astype(np.int16), rate_hz, format="FLAC")
    data = bytearray(path.read_bytes())
    # RFC 9639, section 8.2: the number of samples is the lower 36 bits before the checksum of STREAMINFO.
    packed = int.from_bytes(data[18:26], "big") >> 36 << 36 | frames
    data[18:26] = packed.to_bytes(8, "big")
    path.write_bytes(data)
    return path


def test_a_file_takes_the_memory_of_the_sound_that_is_allowed_and_no_more(tmp_path: Path) -> None:
    """Small files that unpack to much are refused before that; a file that is allowed takes its own sound."""
    refused = {(48_000, 8, 300): "channels", (655_350, 2, 120): "high_rate", (8_000, 1, 3_700): "too_long"}
    paths = [quiet(tmp_path / f"{kind}.flac", *shape) for shape, kind in refused.items()]
    assert max(path.stat().st_size for path in paths) < 2_000_000
    paths.append(quiet(tmp_path / "long.flac", 16_000, 2, 1_200))
    line = [sys.executable, "-c", READ_IN_A_PROCESS, *map(str, paths)]
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=ROOT)
    found = [(kind, int(mb)) for kind, mb in map(str.split, done.stdout.splitlines())]
    assert [kind for kind, _ in found] == [*refused.values(), "read"]
    own_mb = 16_000 * 2 * 1_200 * 4 // 2**20
    assert all(mb < 60 for _, mb in found[:-1])
    assert found[-1][1] < own_mb + 60


@pytest.mark.parametrize(
    ("frames", "rate_hz", "kind"),
    [
        (2**36 - 1, 16_000, "too_long"),
        (0, 16_000, "too_long"),
        (16_000 * 3_000, 16_000, "unreadable"),
        (192_000 * 1_200, 192_000, "too_long"),
    ],
    ids=["days", "none", "an hour", "a high rate"],
)
def test_a_length_that_is_a_lie_is_refused(tmp_path: Path, frames: int, rate_hz: int, kind: str) -> None:
    path = claiming(tmp_path / "lie.flac", frames, rate_hz)
    with pytest.raises(SoundFault) as caught:
        read_int16(path, CALL)
    assert caught.value.kind in (kind, "damaged")
    assert "\n" not in str(caught.value)


def test_a_data_chunk_larger_than_its_file_is_read_to_the_files_end(tmp_path: Path) -> None:
    path = tmp_path / "huge.wav"
    soundfile.write(path, np.ones((8_000, 2), np.int16), 8_000)
    data = bytearray(path.read_bytes())
    data[4:8], data[40:44] = b"\xff\xff\xff\xff", b"\xf0\xff\xff\xff"
    path.write_bytes(data)
    samples, rate_hz = read_int16(path, CALL)
    assert (samples.shape, rate_hz) == ((2, 8_000), 8_000)


@pytest.mark.parametrize(
    ("container", "subtype", "rate_hz"),
    [("WAV", "PCM_16", 44_100), ("WAV", "PCM_24", 16_000), ("WAV", "FLOAT", 16_000), ("FLAC", "PCM_16", 8_000),
     ("OGG", "VORBIS", 44_100), ("OGG", "OPUS", 48_000), ("MP3", "MPEG_LAYER_III", 44_100)],
)  # fmt: skip
def test_what_is_within_the_bounds_is_what_libsndfile_decodes(
    tmp_path: Path, container: str, subtype: str, rate_hz: int
) -> None:
    path = tmp_path / "sound"
    sound = np.random.default_rng(1).normal(0, 0.1, (3 * rate_hz, 2)).astype(np.float32)
    soundfile.write(path, sound, rate_hz, format=container, subtype=subtype)
    expected = soundfile.read(path, dtype="float32", always_2d=True)[0]
    for source in (path, path.read_bytes()):
        samples, found_hz = read_float(source, CALL)
        assert found_hz == rate_hz
        assert np.array_equal(samples.T, expected)
    whole, _ = read_int16(path, CALL)
    assert np.abs(whole.T / 32_768 - expected).max() <= 1 / 32_768


@pytest.mark.parametrize("channels", [1, 2])
def test_a_file_at_a_hertz_has_too_low_a_rate(tmp_path: Path, channels: int) -> None:
    path = quiet(tmp_path / "slow.wav", 1, channels, 100, "WAV")
    with pytest.raises(SoundFault, match=re.escape("it is at 1 Hz; speech needs 8,000 Hz")):
        read_int16(path, CALL)


def test_bounds_that_name_no_rate_take_any() -> None:
    samples, rate_hz = read_int16(flac(np.array([1, 2, 3], np.int16), 1), Bounds(longest_s=60.0))
    assert (samples.tolist(), rate_hz) == ([[1, 2, 3]], 1)


def test_a_file_without_samples_is_no_sound(tmp_path: Path) -> None:
    path = tmp_path / "empty.wav"
    soundfile.write(path, np.zeros((0, 2), np.int16), 16_000)
    with pytest.raises(SoundFault, match="it has no samples"):
        read_float(path, CALL)


OWN = {"audio/sound_file.py", "audio/speech_cache.py", "audio/pcm.py", "harness/known/sounds.py",
       "harness/people/caller/as_pack.py",
       "harness/run/plan.py", "reports/listening/collect.py", "reports/listening/people.py", "reports/listening/material.py",
       "scenarios/recorded.py"}  # fmt: skip
"""Files that read what the harness has written itself, a header alone, or in bounds of their own."""


def test_foreign_sound_is_read_in_one_place() -> None:
    places = set()
    for room in ("agents", "audio", "harness", "reports", "scenarios"):
        for folder, _, names in os.walk(ROOT / room):
            for path in (Path(folder) / name for name in names if name.endswith(".py")):
                if re.search(r"soundfile\.(read|info|SoundFile|blocks)\(", path.read_text(encoding="utf-8")):
                    places.add(path.relative_to(ROOT).as_posix())
    assert {place for place in places if not (ROOT / place).parent.is_symlink()} - OWN - {"harness/calibrate/run.py"} == set()


def test_rows_of_parquet_that_unpack_to_much_are_refused(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    from harness.scenarios.imports.eot_bench import eot_rows
    from harness.scenarios.imports.imported import ImportFault

    span = [{"start": 0.0, "end": 1.0}]
    for number, audio in enumerate(({"bytes": bytes(100 << 20)}, {"array": np.zeros(20_000_000, np.float32)})):
        path = tmp_path / f"{number}.parquet"
        columns = {"id": ["a"], "language": ["en"], "audio": [audio], "silence_spans": [span]}
        parquet.write_table(pyarrow.table(columns), path, compression="zstd")
        assert path.stat().st_size < 2_000_000
        with pytest.raises(ImportFault, match="as no sound does"):
            list(eot_rows(path))


def test_a_turn_of_a_pack_has_no_channels_or_rate_that_unpack_to_gigabytes(tmp_path: Path) -> None:
    from harness.scenarios.recorded import RecordingFault, sha256_of_recording

    quiet(tmp_path / "turn.flac", 655_350, 8, 1)
    with pytest.raises(RecordingFault, match="has 8 channels at 655,350 Hz"):
        sha256_of_recording("turn.flac", tmp_path)


def test_a_packed_block_of_a_page_is_unpacked_in_pieces() -> None:
    import base64
    import gzip

    from harness.doctor.leaks import PIECE_CHARACTERS, _unpacked

    words = b"a" * (3 * PIECE_CHARACTERS) + b"the end"
    pieces = list(_unpacked(base64.b64encode(gzip.compress(words)).decode()))
    assert "".join(pieces) == words.decode()
    assert max(map(len, pieces)) <= PIECE_CHARACTERS
