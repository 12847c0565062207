"""A recording as arrays and plain facts, and back: the one list of a recording's parts.

It passes from the caller's process to the run's as raw arrays, because the caller must not spend time on compressing, and is
stored on disk as FLAC and JSON. Both use this module, so that a field is never stored by one and lost by the other, and an
agent's words (marks, transcripts, the reason of its goodbye) are in no file before keys are masked in them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.agents.connection import LineReport, Mark, MediaStamp, Transcript
from harness.agents.secrets import masked_values, redact_foreign
from harness.recording.record import Arrival, CallerTrack, Pause, Recording, SpokenTurn

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

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
        **_fields_of(recording, "agent_pcm", "arrivals"),
        "caller": {
            **_fields_of(caller, "dry", "played", "departures_ns"),
            "pauses": pairs_of(caller.pauses),
            "turns": [{**_fields_of(turn), "pauses": pairs_of(turn.pauses)} for turn in caller.turns],
        },
        "marks": masked_values([{**_fields_of(mark), "detail": dict(mark.detail)} for mark in recording.marks]),
        "transcripts": masked_values([_fields_of(transcript) for transcript in recording.transcripts]),
        "detail": redact_foreign(recording.detail),
        "line_reports": [_fields_of(report) for report in recording.line_reports],
    }
    return arrays, facts


def _fields_of(record: "DataclassInstance", *left_out: str) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record) if field.name not in left_out}


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
        planned_turns=facts.get("planned_turns"),
        agent_own=tuple((int(a), int(b)) for a, b in facts["agent_own"]) if facts.get("agent_own") is not None else None,
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
