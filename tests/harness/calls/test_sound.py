"""The files of a call: every format and rate that is read, and one sentence for each that cannot be measured."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.calls import sound
from harness.calls.sound import CallFiles, NotMeasurable, read_call
from tests.harness.calls.made_calls import AGENT_HZ, CALLER_HZ, RATE_HZ, pcm, short_call, side, write_call

FORMATS = [("wav", "WAV", "PCM_16"), ("wav", "WAV", "FLOAT"), ("flac", "FLAC", "PCM_16"), ("wav", "WAV", "ULAW"),
           ("ogg", "OGG", "VORBIS"), ("opus", "OGG", "OPUS"), ("mp3", "MP3", "MPEG_LAYER_III")]  # fmt: skip


def files(*paths: Path, caller: sound.Side | None = None) -> CallFiles:
    return CallFiles(paths[0].name, paths, caller)


def refused(*paths: Path, caller: sound.Side | None = None) -> NotMeasurable:
    with pytest.raises(NotMeasurable) as caught:
        read_call(files(*paths, caller=caller))
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(("suffix", "container", "subtype"), FORMATS)
def test_every_format_gives_the_two_sides(tmp_path: Path, suffix: str, container: str, subtype: str) -> None:
    call = short_call()
    path = write_call(tmp_path / f"call.{suffix}", call, format=container, subtype=subtype)
    found = read_call(files(path, caller="left")).sides
    assert abs(len(found.caller) / found.caller_rate_hz - len(call.caller) / RATE_HZ) < 0.1
    for mine, theirs in ((found.caller, call.caller), (found.agent, call.agent)):
        loud, as_loud = (float(np.sqrt(np.mean(one.astype(np.float64) ** 2))) for one in (mine, theirs))
        assert loud == pytest.approx(as_loud, rel=0.1)


def test_the_callers_channel_is_the_one_that_is_named(tmp_path: Path) -> None:
    call = short_call()
    path = write_call(tmp_path / "call.wav", call)
    left, right = (read_call(files(path, caller=one)).sides for one in sound.SIDES)
    assert np.array_equal(left.caller, call.caller)
    assert np.array_equal(right.caller, call.agent)


def test_two_files_with_rates_of_their_own(tmp_path: Path) -> None:
    caller, agent = tmp_path / "caller.wav", tmp_path / "agent.flac"
    soundfile.write(caller, pcm(side([(1.0, 2.0)], 5.0, CALLER_HZ, rate_hz=44_100)), 44_100)
    soundfile.write(agent, pcm(side([(3.0, 4.0)], 5.0, AGENT_HZ, rate_hz=8_000)), 8_000)
    found = read_call(files(caller, agent)).sides
    assert (found.caller_rate_hz, found.agent_rate_hz) == (44_100, 8_000)


@pytest.mark.parametrize(("caller_noise", "agent_noise", "side_"), [(-62, None, "left"), (None, -62, "right")])
def test_the_side_of_a_program_shows_by_its_silence(
    tmp_path: Path, caller_noise: float | None, agent_noise: float | None, side_: str
) -> None:
    one = side([(1.0, 2.4)], 8.0, CALLER_HZ, noise_db=caller_noise)
    other = side([(3.1, 5.0)], 8.0, AGENT_HZ, noise_db=agent_noise)
    path = tmp_path / "call.wav"
    soundfile.write(path, np.stack([pcm(one), pcm(other)], axis=1), RATE_HZ)
    found = read_call(files(path))
    assert (found.caller, found.looks_swapped) == (side_, False)
    assert read_call(files(path, caller="right" if side_ == "left" else "left")).looks_swapped


@pytest.mark.parametrize("noise_db", [None, -62])
def test_where_both_sides_are_alike_the_table_is_asked_for(tmp_path: Path, noise_db: float | None) -> None:
    one = side([(1.0, 2.4)], 8.0, CALLER_HZ, noise_db=noise_db)
    other = side([(3.1, 5.0)], 8.0, AGENT_HZ, noise_db=noise_db, seed=5)
    path = tmp_path / "call.wav"
    soundfile.write(path, np.stack([pcm(one), pcm(other)], axis=1), RATE_HZ)
    found = refused(path)
    assert found.kind == "sides_unknown"
    assert "--caller left" in str(found)
    assert "calls.csv" in str(found)


def test_a_mono_call_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mono.wav"
    soundfile.write(path, short_call().caller, RATE_HZ)
    assert refused(path, caller="left").kind == "one_channel"


def test_a_mono_call_in_two_channels_is_refused(tmp_path: Path) -> None:
    call = short_call()
    mixed = call.caller + call.agent
    path = tmp_path / "both.wav"
    soundfile.write(path, np.stack([mixed, mixed // 2], axis=1), RATE_HZ)
    assert refused(path, caller="left").kind == "one_channel"


def test_three_channels_are_refused(tmp_path: Path) -> None:
    call = short_call()
    path = tmp_path / "three.wav"
    soundfile.write(path, np.stack([call.caller, call.agent, call.agent], axis=1), RATE_HZ)
    assert "has 3 channels" in str(refused(path, caller="left"))


@pytest.mark.parametrize("content", [b"", b"RIFF\x00", b"not a sound at all" * 50])
def test_a_file_that_is_no_sound_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.wav"
    path.write_bytes(content)
    found = refused(path, caller="left")
    assert (found.kind, str(found)) == ("unreadable", sound.UNREADABLE)
    other = tmp_path / "whole.wav"
    soundfile.write(other, short_call().caller, RATE_HZ)
    assert str(refused(other, path)) == f"broken.wav: {sound.UNREADABLE}", "of two files the damaged one is named"


def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    whole = write_call(tmp_path / "whole.flac", short_call(), format="FLAC").read_bytes()
    path = tmp_path / "damaged.flac"
    path.write_bytes(whole[: len(whole) // 2])
    assert refused(path, caller="left").kind == "unreadable"


def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    samples = np.zeros((RATE_HZ, 2), np.float32)
    samples[100, 0] = np.nan
    path = tmp_path / "nan.wav"
    soundfile.write(path, samples, RATE_HZ, subtype="FLOAT")
    assert "no numbers" in str(refused(path, caller="left"))


def test_two_files_of_different_lengths_are_refused(tmp_path: Path) -> None:
    call = short_call()
    caller, agent = tmp_path / "caller.wav", tmp_path / "agent.wav"
    soundfile.write(caller, call.caller, RATE_HZ)
    soundfile.write(agent, call.agent[: -2 * RATE_HZ], RATE_HZ)
    found = refused(caller, agent)
    assert found.kind == "lengths_differ"
    assert "11.5 s and 9.5 s" in str(found)


def test_a_rate_below_the_telephones_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "slow.wav"
    soundfile.write(path, np.zeros((4_000, 2), np.int16), 4_000)
    assert "is at 4,000 Hz" in str(refused(path, caller="left"))


def test_a_call_that_is_too_long_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sound, "BOUNDS", replace(sound.BOUNDS, longest_s=10.0))
    path = write_call(tmp_path / "long.wav", short_call())
    assert refused(path, caller="left").kind == "too_long"


def test_the_decoder_of_a_damaged_file_writes_nothing_of_its_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = write_call(tmp_path / "whole.mp3", short_call(), format="MP3").read_bytes()
    path = tmp_path / "damaged.mp3"
    path.write_bytes(whole[: len(whole) // 3] + np.random.default_rng(1).bytes(4_000) + whole[len(whole) // 3 + 4_000 :])
    found = refused(path, caller="left")
    assert (found.kind, capfd.readouterr().err) == ("unreadable", "")


def test_no_samples_are_no_call(tmp_path: Path) -> None:
    path = tmp_path / "empty.wav"
    soundfile.write(path, np.zeros((0, 2), np.int16), RATE_HZ)
    assert str(refused(path, caller="left")) == "it has no samples"


@pytest.mark.parametrize(("alike", "channels"), [(True, 2), (False, 2), (False, 3)])
def test_a_file_of_one_side_has_one_sound(tmp_path: Path, alike: bool, channels: int) -> None:
    """Recorders write one side to both channels of a stereo file too."""
    call = short_call()
    caller, agent = tmp_path / "caller.wav", tmp_path / "agent.wav"
    other = call.caller if alike else call.agent
    soundfile.write(caller, np.stack([call.caller, *[other] * (channels - 1)], axis=1), RATE_HZ)
    soundfile.write(agent, call.agent, RATE_HZ)
    if alike:
        assert np.array_equal(read_call(files(caller, agent)).sides.caller, call.caller)
    else:
        assert str(refused(caller, agent)) == f"caller.wav has {channels} channels; a file of one side has one"


def test_the_first_of_two_files_is_the_callers(tmp_path: Path) -> None:
    call = short_call()
    caller, agent = tmp_path / "caller.wav", tmp_path / "agent.wav"
    soundfile.write(caller, call.caller, RATE_HZ)
    soundfile.write(agent, call.agent[: -RATE_HZ // 5], RATE_HZ)
    found = read_call(files(caller, agent)).sides
    assert np.array_equal(found.caller, call.caller)
    assert np.array_equal(found.agent, call.agent[: -RATE_HZ // 5]), "a recorder's last block may be missing"


def test_a_channel_that_is_the_other_upside_down_is_the_same_sound(tmp_path: Path) -> None:
    call = short_call()
    path = tmp_path / "wired.wav"
    soundfile.write(path, np.stack([call.agent, -call.agent], axis=1), RATE_HZ)
    assert refused(path, caller="left").kind == "one_channel"


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_an_echo_of_the_other_side_is_a_sound_of_its_own(tmp_path: Path, share: float) -> None:
    call = short_call()
    path = tmp_path / "echo.wav"
    soundfile.write(path, np.stack([call.caller, (share * call.caller + call.agent).astype(np.int16)], axis=1), RATE_HZ)
    assert read_call(files(path, caller="left")).caller == "left"


def test_a_side_that_is_still_at_times_is_no_programs(tmp_path: Path) -> None:
    """As of a microphone behind a noise gate, which opens for half of the pauses."""
    one, other = side([(1.0, 2.4)], 8.0, CALLER_HZ, noise_db=-62), side([(3.1, 5.0)], 8.0, AGENT_HZ, noise_db=-62, seed=5)
    other[-RATE_HZ:] = 0
    path = tmp_path / "call.wav"
    soundfile.write(path, np.stack([pcm(one), pcm(other)], axis=1), RATE_HZ)
    assert refused(path).kind == "sides_unknown"


def test_the_silence_of_a_law_is_still(tmp_path: Path) -> None:
    one, other = side([(1.0, 2.4)], 8.0, CALLER_HZ, noise_db=-50), side([(3.1, 5.0)], 8.0, AGENT_HZ)
    path = tmp_path / "call.wav"
    soundfile.write(path, np.stack([pcm(one), pcm(other)], axis=1), RATE_HZ, subtype="ALAW")
    assert read_call(files(path)).caller == "left"
