"""The sound and the timeline of one session: a stereo file beside the page, and the intervals to draw.

The file is FLAC, not a smaller lossy format, because the playhead must match the sound: lossy codecs shift a file by
their own delay, which some browsers undo and others do not. At 24 kHz, with true silence in most of it, a session takes
about a quarter of a megabyte. All derived data are stored beside it, so a page is built twice as quickly the second time.
"""

import io
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from harness.errors import StorageError
from harness.files import own_folder, write_whole
from harness.foreign_files import FileFault, read_json
from harness.recording import files as recording_files
from harness.recording import playout
from harness.recording.record import Recording
from harness.reports.session_view import Span
from harness.reports.shown_runs import Part, ShownRuns
from harness.scenarios.context import Context
from harness.store.disk import storage_fault
from harness.store.run_store import RunStore
from harness.store.session import Session
from harness.store.step_failure import StepFailure, attempt
from harness.timeline import NS_PER_MS
from harness.verdicts.conversations import conversation_of

MIX_RATE_HZ = 24_000
"""Rate of the file, which covers everything that speech synthesis produces and the telephone does not."""
ENVELOPE_STEPS = 360
"""Steps of the drawn waveform: about one a pixel on a phone, and four kilobytes a conversation of five agents."""
FLOOR_DB = -54.0
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
LONGEST_AFTER_CALL_MS = 60_000.0
"""Longest part to draw after the caller's last sample: as long as a session may last after its spoken end. Some agents send
ten minutes of sound in a second, which nobody would have heard to its end, and which took a gigabyte to draw."""
_VERSION = f"drawing-2/{playout.METHOD}/{MIX_RATE_HZ}/{ENVELOPE_STEPS}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A session's timeline in ms since the caller's first sample, and the file that plays it."""

    file: Path
    length_ms: float
    caller: tuple[Span, ...]
    pauses: tuple[tuple[float, float], ...]
    marks: tuple[Span, ...]
    envelope: tuple[str, str]


def draw(recording: Recording, file: Path) -> Drawing:
    """Write the stereo file (caller left, agent right) and return its timeline."""
    stereo = playout.stereo(_until_hung_up(recording)).astype(np.float32) / 32_768.0
    mixed: NDArray[np.float32] = soxr.resample(stereo, playout.HEARD_RATE_HZ, MIX_RATE_HZ, quality="HQ")
    own_folder(file.parent)
    # Encoded in memory first, because libsndfile does not report a full disk as such.
    encoded = io.BytesIO()
    soundfile.write(encoded, np.clip(mixed, -1, 1), MIX_RATE_HZ, format="FLAC", subtype="PCM_16")
    write_whole(file, encoded.getvalue())
    found = Drawing(
        file=file,
        length_ms=1_000.0 * len(mixed) / MIX_RATE_HZ,
        caller=_caller_spans(recording),
        pauses=tuple(
            (_ms(pause.start_sample, recording), _ms(pause.end_sample, recording)) for pause in recording.caller.pauses
        ),
        marks=_marks(recording),
        envelope=(envelope(mixed[:, 0]), envelope(mixed[:, 1])),
    )
    kept = asdict(found) | {"file": file.name, "version": _VERSION}
    write_whole(_sidecar(file), json.dumps(kept))
    return found


def drawn_before(file: Path) -> Drawing | None:
    """The drawing of a file that `draw` wrote by the current method, or None."""
    try:
        kept = read_json(_sidecar(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, FileFault):
        return None
    if kept.get("version") != _VERSION or not file.is_file():
        return None
    return Drawing(
        file=file,
        length_ms=kept["length_ms"],
        caller=tuple(Span(**span) for span in kept["caller"]),
        pauses=tuple((start, end) for start, end in kept["pauses"]),
        marks=tuple(Span(**span) for span in kept["marks"]),
        envelope=(kept["envelope"][0], kept["envelope"][1]),
    )


def envelope(samples: NDArray[np.float32]) -> str:
    """Loudness along a signal: `ENVELOPE_STEPS` base-36 digits, 0 at −54 dB of full scale or below."""
    edges = np.linspace(0, len(samples), ENVELOPE_STEPS + 1).astype(int)
    power = np.concatenate([[0.0], np.cumsum(samples.astype(np.float64) ** 2)])
    mean = (power[edges[1:]] - power[edges[:-1]]) / np.maximum(np.diff(edges), 1)
    level_db = 10 * np.log10(np.maximum(mean, 1e-12))
    steps = np.clip((level_db - FLOOR_DB) / -FLOOR_DB * 35 * 1.3, 0, 35).astype(int)
    return "".join(_DIGITS[step] for step in steps)


def _until_hung_up(recording: Recording) -> Recording:
    end_ns = recording.caller.t0_ns + round(_drawn_ms(recording) * NS_PER_MS)
    return replace(recording, clears_ns=(*recording.clears_ns, end_ns))


def _drawn_ms(recording: Recording) -> float:
    return _ms(len(recording.caller.played), recording) + LONGEST_AFTER_CALL_MS


def _sidecar(file: Path) -> Path:
    return file.with_suffix(".json")


def _ms(sample: int, recording: Recording) -> float:
    return 1_000.0 * sample / recording.caller.rate_hz


def _caller_spans(recording: Recording) -> tuple[Span, ...]:
    """The intervals of the caller's speech: each turn without its marked pauses."""
    found: list[Span] = []
    for turn in recording.caller.turns:
        at = turn.start_sample
        for pause in turn.pauses:
            found.append(Span(turn.kind, _ms(at, recording), _ms(pause.start_sample, recording)))
            at = pause.end_sample
        found.append(Span(turn.kind, _ms(at, recording), _ms(turn.end_sample, recording)))
    return tuple(span for span in found if span.end_ms > span.start_ms)


def _marks(recording: Recording) -> tuple[Span, ...]:
    times = ((mark.name, (mark.at_ns - recording.caller.t0_ns) / 1e6) for mark in recording.marks)
    limit_ms = _drawn_ms(recording)
    return tuple(Span(name, at, at) for name, at in sorted(times, key=lambda m: m[1]) if 0 <= at <= limit_ms)


def sound_file(page_runs: ShownRuns, part: Part, session: Session, page_folder: Path) -> Path:
    """The path of a session's sound beside its page."""
    folder = page_folder / "report-audio"
    if page_runs.several:
        folder /= part.label.replace("/", "__")
    return folder / f"{session.id}.flac"


def draw_sessions(page_runs: ShownRuns, page_folder: Path) -> dict[str, tuple[StepFailure, ...]]:
    """Draw the sessions that are not drawn yet; returns run → the failures, which its store has too.

    Raises:
        OSError: the sound cannot be written.
    """
    contexts = {context.id: context for context in page_runs.contexts}
    found: dict[str, tuple[StepFailure, ...]] = {}
    for part in page_runs.parts:
        tried = [
            attempt(s.id, "drawing", partial(_draw, s, contexts, sound_file(page_runs, part, s, page_folder)))
            for s in part.sessions
        ]
        found[part.label] = tuple(failure for failure in tried if isinstance(failure, StepFailure))
        _keep(part.store, found[part.label])
    return found


def _draw(session: Session, contexts: Mapping[str, Context], file: Path) -> None:
    if drawn_before(file) is None and (session.folder / "recording.json").exists():
        draw(recording_files.load(session.folder), file)
    conversation_of(session, contexts[session.key.context_id])


def _keep(store: RunStore, found: Sequence[StepFailure]) -> None:
    earlier = [failure for failure in store.step_failures() if failure.step == "drawing"]
    if set(found) == set(earlier):
        return
    try:
        for failure in earlier:
            store.clear_step_failure(failure.session, "drawing")
        for failure in found:
            store.set_step_failure(failure)
    except (sqlite3.OperationalError, StorageError) as error:
        if storage_fault(error) is None:
            raise
