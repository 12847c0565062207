"""A recording as arrays and plain facts, and back: the one list of a recording's parts.

It passes from the caller's process to the run's as raw arrays, because the caller must not spend time on compressing, and is
stored on disk as FLAC and JSON. Both use this module, so that a field is never stored by one and lost by the other, and an
agent's words (marks, transcripts, the reason of its goodbye) are in no file before keys are masked in them.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from harness.agents.connection import LineReport, Mark, MediaStamp, Transcript
from harness.agents.secrets import masked_values, redact_foreign
from harness.recording.record import Arrival, CallerTrack, Pause, Recording, SpokenTurn

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
"""`dry`, `played`, `agent_pcm`: int16; `departures_ns`, `arrivals` (n, 3) and `media` (n, 2): int64.

`media` is empty for lines without a media clock."""
Count = Annotated[int, Field(ge=0)]
Rate = Annotated[int, Field(ge=1, le=655_350)]
"""Sample rates that FLAC can store."""


class CallerFacts(BaseModel):
    """Everything of a caller's track but its arrays."""

    model_config = ConfigDict(extra="forbid")

    rate_hz: Rate
    t0_ns: int
    speech_start_sample: int
    speech_end_sample: int
    pauses: tuple[Pause, ...]
    turns: tuple[SpokenTurn, ...] = ()


class Facts(BaseModel):
    """Everything of a recording but its arrays. Fields that an older run has not are as `Recording` has them."""

    model_config = ConfigDict(extra="forbid")

    caller: CallerFacts
    agent_rate_hz: Rate
    clears_ns: tuple[int, ...]
    marks: tuple[Mark, ...]
    transcripts: tuple[Transcript, ...]
    loop_lag_ms: tuple[float, ...]
    ended: str
    detail: str
    conditions: tuple[str, ...]
    planned_turns: Count | None = None
    agent_own: tuple[tuple[Count, Count], ...] | None = None
    line_reports: tuple[LineReport, ...] = ()
    full_duplex: bool = False


def taken_apart(recording: Recording) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays of a recording, and its facts as values that JSON can store."""
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
            "turns": [_fields_of(turn) for turn in caller.turns],
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
    caller = {name: getattr(facts.caller, name) for name in CallerFacts.model_fields}
    others = {name: getattr(facts, name) for name in Facts.model_fields if name != "caller"}
    return Recording(
        caller=CallerTrack(dry=arrays["dry"], played=arrays["played"], departures_ns=arrays["departures_ns"], **caller),
        agent_pcm=arrays["agent_pcm"],
        arrivals=_arrivals(arrays["arrivals"].reshape(-1, 3).tolist(), arrays["media"].reshape(-1, 2).tolist()),
        **others,
    )


def _arrivals(rows: list[list[int]], media: list[list[int]]) -> tuple[Arrival, ...]:
    """The arrivals; either all of a line have a time on its media clock, or none has."""
    stamps = [MediaStamp(*stamp) for stamp in media] if len(media) == len(rows) else [None] * len(rows)
    return tuple(Arrival(at_ns, offset, count, stamp) for (at_ns, offset, count), stamp in zip(rows, stamps, strict=True))
