"""A recording comes back from the disk exactly as it was."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from benchmarks.made_recordings import Said, make_recording, voice
from harness.agents.connection import LineReport, Mark, MediaStamp, Transcript
from harness.caller.exchange import take_raw, write_raw
from harness.errors import UserError
from harness.recording.files import load, save
from harness.recording.record import Recording


def _full() -> Recording:
    recording = make_recording(Said(0.4, voice(0.5)), pauses_s=[(0.5, 0.3)], clears_s=[0.7]).recording
    played = recording.caller.dry + np.arange(len(recording.caller.dry), dtype=np.int16) % 7
    caller = dataclasses.replace(
        recording.caller, played=played, departures_ns=recording.caller.departures_ns + np.arange(400) ** 2
    )
    return dataclasses.replace(
        recording,
        caller=caller,
        marks=(Mark("asr_done", 12, 15, {"request": 3, "words": ["a", "b"], "share": 0.5}), Mark("odd name", 1, 2)),
        transcripts=(Transcript(5, "assistant", "I’m “here”.\n", True),),
        ended="quiet",
        detail="one line",
        conditions=("noise-10db",),
        full_duplex=True,
    )


def _over_rtp() -> Recording:
    full = _full()
    arrivals = tuple(dataclasses.replace(a, media=MediaStamp(k * 20, k % 3)) for k, a in enumerate(full.arrivals))
    reports = (LineReport(7, 1.5, 2, 0.25), LineReport(9))
    return dataclasses.replace(full, arrivals=arrivals, line_reports=reports)


def assert_same(one: object, other: object) -> None:
    assert type(one) is type(other)
    for field in dataclasses.fields(one):  # type: ignore[arg-type]
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b), field.name
        elif dataclasses.is_dataclass(a):
            assert_same(a, b)
        else:
            assert a == b, field.name


@pytest.mark.parametrize("make", [_full, _over_rtp])
def test_round_trip(make: Callable[[], Recording], tmp_path: Path) -> None:
    save(make(), tmp_path)
    assert_same(load(tmp_path), make())


def test_the_way_from_the_callers_process_loses_nothing_either(tmp_path: Path) -> None:
    write_raw(_full(), tmp_path)
    assert_same(take_raw(tmp_path), _full())
    assert list(tmp_path.iterdir()) == []


def test_a_recording_of_nothing(tmp_path: Path) -> None:
    empty = np.zeros(0, np.int16)
    recording = make_recording().recording
    caller = dataclasses.replace(recording.caller, dry=empty, played=empty, departures_ns=np.zeros(0, np.int64))
    nothing = dataclasses.replace(recording, caller=caller)
    save(nothing, tmp_path)
    assert_same(load(tmp_path), nothing)


@pytest.mark.parametrize("rate_hz", [8_000, 22_050, 24_000, 48_000])
def test_the_agent_keeps_its_native_rate(tmp_path: Path, rate_hz: int) -> None:
    save(dataclasses.replace(_full(), agent_rate_hz=rate_hz), tmp_path)
    assert soundfile.info(tmp_path / "agent.flac").samplerate == rate_hz
    assert load(tmp_path).agent_rate_hz == rate_hz


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    save(_full(), tmp_path)
    (tmp_path / "recording.json").write_text('{"schema_version": 1}')
    with pytest.raises(UserError, match=r"recording\.json"):
        load(tmp_path)


def test_a_missing_recording_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=str(tmp_path)):
        load(tmp_path)
