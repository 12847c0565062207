"""A recording as arrays and plain facts, and back: the one list of a recording's parts.

It passes from the caller's process to the run's as raw arrays, because the caller must not spend time on compressing, and is
stored on disk as FLAC and JSON. Both use this module, so that a field is never stored by one and lost by the other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.agents.connection import LineReport, Mark, MediaStamp, Transcript
from harness.recording.record import Arrival, CallerTrack, Pause, Recording, SpokenTurn

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
"""`dry`, `played`, `agent_pcm`: int16; `departures_ns`, `arrivals` (n, 3) and `media` (n, 2): int64.

`media` is empty for lines without a media clock."""
Facts: TypeAlias = Mapping[str, Any]
"""Everything else, as values that JSON can store."""


def taken_apart(recording: Recording) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the facts of a recording."""
    caller = recording.caller
    arrays: dict[str, NDArray[Any]] = {
        "dry": caller.dry,
        "played": caller.played,
        "departures_ns": caller.departures_ns,
        "agent_pcm": recording.agent_pcm,
        "arrivals": np.array([(a.arrival_ns, a.offset_samples, a.count_samples) for a in recording.arrivals], np.int64),
        "media": np.array([(a.media.at_ns, a.media.lost_before) for a in recording.arrivals if a.media], np.int64),
    }
    facts = {
        "caller": {
            "rate_hz": caller.rate_hz,
            "t0_ns": caller.t0_ns,
            "speech_start_sample": caller.speech_start_sample,
            "speech_end_sample": caller.speech_end_sample,
            "pauses": pairs_of(caller.pauses),
            "turns": [
                {
                    "start_sample": t.start_sample, "end_sample": t.end_sample, "pauses": pairs_of(t.pauses), "kind": t.kind,
                    "event": t.event,
                }
                for t in caller.turns
            ],
        },
        "agent_rate_hz": recording.agent_rate_hz,
        "clears_ns": list(recording.clears_ns),
        "marks": [
            {"name": m.name, "at_ns": m.at_ns, "arrival_ns": m.arrival_ns, "detail": dict(m.detail)} for m in recording.marks
        ],
        "transcripts": [
            {"arrival_ns": t.arrival_ns, "role": t.role, "text": t.text, "final": t.final} for t in recording.transcripts
        ],
        "loop_lag_ms": list(recording.loop_lag_ms),
        "ended": recording.ended,
        "detail": recording.detail,
        "conditions": list(recording.conditions),
        "line_reports": [asdict(report) for report in recording.line_reports],
    }  # fmt: skip
    return arrays, facts


def put_together(arrays: Arrays, facts: Facts) -> Recording:
    """The recording made of its parts."""
    caller = facts["caller"]
    return Recording(
        caller=CallerTrack(
            rate_hz=caller["rate_hz"],
            dry=arrays["dry"],
            played=arrays["played"],
            t0_ns=caller["t0_ns"],
            departures_ns=arrays["departures_ns"],
            speech_start_sample=caller["speech_start_sample"],
            speech_end_sample=caller["speech_end_sample"],
            pauses=pauses_of(caller["pauses"]),
            turns=tuple(
                SpokenTurn(t["start_sample"], t["end_sample"], pauses_of(t["pauses"]), t["kind"], t.get("event", ""))
                for t in caller["turns"]
            ),
        ),
        agent_rate_hz=facts["agent_rate_hz"],
        agent_pcm=arrays["agent_pcm"],
        arrivals=_arrivals(arrays["arrivals"].reshape(-1, 3).tolist(), arrays["media"].reshape(-1, 2).tolist()),
        clears_ns=tuple(facts["clears_ns"]),
        marks=tuple(Mark(**mark) for mark in facts["marks"]),
        transcripts=tuple(Transcript(**transcript) for transcript in facts["transcripts"]),
        loop_lag_ms=tuple(facts["loop_lag_ms"]),
        ended=facts["ended"],
        detail=facts["detail"],
        conditions=tuple(facts["conditions"]),
        line_reports=tuple(LineReport(**report) for report in facts["line_reports"]),
    )


def _arrivals(rows: list[list[int]], media: list[list[int]]) -> tuple[Arrival, ...]:
    """The arrivals; either all of a line have a time on its media clock, or none has."""
    if len(media) != len(rows):
        return tuple(Arrival(at_ns, offset, count) for at_ns, offset, count in rows)
    stamps = (MediaStamp(at_ns, lost) for at_ns, lost in media)
    return tuple(Arrival(*row, stamp) for row, stamp in zip(((a, b, c) for a, b, c in rows), stamps, strict=True))


def pairs_of(pauses: Iterable[Pause]) -> list[tuple[int, int]]:
    """Pauses as (first, last) samples."""
    return [(p.start_sample, p.end_sample) for p in pauses]


def pauses_of(pairs: Iterable[Iterable[int]]) -> tuple[Pause, ...]:
    """Pauses from (first, last) samples."""
    return tuple(Pause(*pair) for pair in pairs)
