"""The recordings of a pack: checked before anything is played, and never from outside the pack's own folder.

A pack is untrusted; `audio: ../../etc/…` or a link out of the folder would let it read any file into a call.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

MOST_BYTES = 64 * 1024 * 1024
MOST_CHANNELS, HIGHEST_HZ = 2, 48_000
"""Of a few kilobytes of FLAC the length alone says nothing: eight channels at 655,350 Hz are gigabytes."""
MOST_SECONDS = 120.0
"""Longest turn: a turn is a few sentences; two minutes would be another experiment."""


class RecordingFault(ValueError):
    """The reason why a recording cannot be used, on one line."""


def sha256_of_recording(audio: str, folder: Path) -> str:
    """The SHA-256 (hex) of a recording, named relative to `folder`.

    Raises `RecordingFault` for a path that is absolute, climbs, or leads out of the folder through a link; for a file that is
    missing, too large, too long, or not audio that libsndfile reads.
    """
    path = PurePosixPath(audio)
    if path.is_absolute() or PureWindowsPath(audio).drive or "\\" in audio or ".." in path.parts or "\0" in audio:
        raise RecordingFault(f"{audio!r} must be a plain path below the pack's folder")
    file = folder / path
    try:
        inside = file.resolve(strict=True).is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        raise RecordingFault(f"no recording {audio!r} beside the pack") from None
    if not inside:
        raise RecordingFault(f"{audio!r} leads out of the pack's folder")
    if not file.is_file():
        raise RecordingFault(f"{audio!r} is not a file")
    if file.stat().st_size > MOST_BYTES:
        raise RecordingFault(f"{audio!r} is larger than {MOST_BYTES // 1024 // 1024} MiB")
    _refuse_what_is_not_audio(file, audio)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def refuse_pauses_outside(pauses_s: Sequence[tuple[float, float]], audio: str, folder: Path) -> None:
    """Check pauses against a recording that was checked before. Raises `RecordingFault` for one that is not inside it."""
    import soundfile

    lasts_s = float(soundfile.info(str(folder / audio)).duration)
    for start, end in pauses_s:
        if end > lasts_s:
            raise RecordingFault(f"{audio!r} lasts {lasts_s:.2f} s; the pause from {start:.2f} to {end:.2f} s is outside")


def _refuse_what_is_not_audio(file: Path, audio: str) -> None:
    import soundfile

    try:
        info = soundfile.info(str(file))
    except (soundfile.LibsndfileError, RuntimeError):
        raise RecordingFault(f"{audio!r} is not audio that libsndfile reads") from None
    if info.samplerate > HIGHEST_HZ or info.channels > MOST_CHANNELS:
        raise RecordingFault(
            f"{audio!r} has {info.channels} channels at {info.samplerate:,} Hz; a turn has at most {MOST_CHANNELS} at "
            f"{HIGHEST_HZ:,} Hz"
        )
    if not 0 < info.duration <= MOST_SECONDS:
        raise RecordingFault(f"{audio!r} lasts {info.duration:.1f} s; a turn lasts up to {MOST_SECONDS:.0f} s")
