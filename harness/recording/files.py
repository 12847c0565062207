"""A recording on disk: FLAC for the sound, JSON for events with their times. The round trip is exact.

FLAC because it is lossless for 16-bit samples at any rate, half the size, and opens in every audio editor, so that a
sceptic can measure a reply without this program. The agent's track is stored at its native rate, message boundaries in the
JSON, because resampling is a method, and methods may improve after the run. Every file is flushed to the disk before
`save` returns; the store renames the folder into place only then.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from harness.audio.sound_file import Bounds, SoundFault, flac, read_int16
from harness.errors import UserError
from harness.files import write_whole
from harness.foreign_files import first_fault
from harness.recording.parts import CallerFacts, Count, Facts, put_together, taken_apart
from harness.recording.record import FRAME_MS, Recording
from harness.recording.span_file import load_spans
from harness.timeline import samples_to_ns

RECORDING_FILE = "recording.json"
DRY_FILE = "caller_dry.flac"
PLAYED_FILE = "caller_played.flac"
AGENT_FILE = "agent.flac"
BOUNDS = Bounds(longest_s=2 * 3_600.0, most_channels=1)
"""Twice the longest call that is measured."""


class _Caller(CallerFacts):
    lateness_ns: list[int]
    """For each frame, departure minus deadline, where frame k is due at t0 + (k + 1) × 20 ms."""
    dry_is_played: bool


class _File(Facts):
    schema_version: Literal[1] = 1
    caller: _Caller
    arrivals: list[tuple[int, Count, Count]]
    media: tuple[tuple[int, Count], ...] = ()
    """For each arrival, on lines with a media clock: its time on that clock (ns), packets lost before it."""


def deadlines_ns(t0_ns: int, rate_hz: int, frames: int) -> NDArray[np.int64]:
    """Times at which the frames of a track were due to depart."""
    frame_ns = samples_to_ns(rate_hz * FRAME_MS // 1000, rate_hz)
    due: NDArray[np.int64] = t0_ns + (np.arange(frames, dtype=np.int64) + 1) * frame_ns
    return due


def save(recording: Recording, folder: Path) -> None:
    """Write a recording into an existing folder and flush it to the disk."""
    caller = recording.caller
    same = bool(np.array_equal(caller.dry, caller.played))
    arrays, facts = taken_apart(recording)
    due_ns = deadlines_ns(caller.t0_ns, caller.rate_hz, len(caller.departures_ns))
    _write_audio(folder / PLAYED_FILE, caller.played, caller.rate_hz)
    if not same:
        _write_audio(folder / DRY_FILE, caller.dry, caller.rate_hz)
    _write_audio(folder / AGENT_FILE, recording.agent_pcm, recording.agent_rate_hz)
    file = _File.model_validate(
        {
            **facts,
            "caller": {**facts["caller"], "lateness_ns": (caller.departures_ns - due_ns).tolist(), "dry_is_played": same},
            "arrivals": arrays["arrivals"].reshape(-1, 3).tolist(),
            "media": arrays["media"].reshape(-1, 2).tolist(),
        }
    )
    write_whole(folder / RECORDING_FILE, file.model_dump_json(indent=1))


def load(folder: Path) -> Recording:
    """Read a recording back.

    Raises:
        UserError: a file is missing or is not what `save` writes.
    """
    try:
        file = _File.model_validate_json((folder / RECORDING_FILE).read_bytes())
        played = _read_audio(folder / PLAYED_FILE)
        dry = played if file.caller.dry_is_played else _read_audio(folder / DRY_FILE)
        agent = _read_audio(folder / AGENT_FILE)
    except (OSError, SoundFault) as error:
        raise UserError(f"{folder}: the recording cannot be read ({error})") from error
    except ValidationError as error:
        where, wrong = first_fault(error)
        raise UserError(f"{folder / RECORDING_FILE}: {where}: {wrong}") from error
    if any(offset + count > len(agent) for _, offset, count in file.arrivals):
        raise UserError(f"{folder}: the recording is damaged ({AGENT_FILE} is shorter than what arrived)")
    lateness_ns = np.array(file.caller.lateness_ns, np.int64)
    arrays: dict[str, NDArray[Any]] = {
        "dry": dry,
        "played": played,
        "agent_pcm": agent,
        "departures_ns": lateness_ns + deadlines_ns(file.caller.t0_ns, file.caller.rate_hz, len(lateness_ns)),
        "arrivals": np.array(file.arrivals, np.int64),
        "media": np.array(file.media, np.int64),
    }
    recording = put_together(arrays, file)
    spans = load_spans(folder)
    return replace(recording, marks=(*recording.marks, *(span.as_mark() for span in spans))) if spans else recording


def _write_audio(path: Path, samples: NDArray[np.int16], rate_hz: int) -> None:
    """Write a FLAC file; without samples none is written: libsndfile cannot read back a FLAC without a single sample."""
    if not len(samples):
        return
    write_whole(path, flac(samples, rate_hz))


def _read_audio(path: Path) -> NDArray[np.int16]:
    if not path.exists():
        return np.zeros(0, np.int16)
    samples: NDArray[np.int16] = read_int16(path, BOUNDS)[0][0]
    return samples
