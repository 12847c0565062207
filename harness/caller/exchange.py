"""How plans and recordings pass between the run and its caller: arrays in `.npz`, the rest in JSON, both by file.

The connection alone does not: its address and options may hold keys, and a run that is killed leaves its files behind. It
travels with the order to play, and what an agent sent is masked before it is written.

Files and not pipes, because a plan is a megabyte and the caller's event loop must not spend milliseconds reading it from
a pipe. The caller writes plain arrays (a copy and a write, quick and mostly outside the interpreter lock); compressing
them into FLAC is left to the run's own process, which does not pace anything.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.connection import Mark, Transcript
from agents.connections import ConnectionSpec
from agents.message import Message
from agents.secrets import redact
from harness.caller.plan import CallerTurn, Limits, SessionPlan
from harness.recording.record import Arrival, CallerTrack, Pause, Recording, SpokenTurn

_PLAN = "plan"
_RAW = "raw"


def write_plan(plan: SessionPlan, folder: Path) -> None:
    """Leave a plan where the caller finds it."""
    arrays: dict[str, NDArray[Any]] = {}
    turns = []
    for k, turn in enumerate(plan.turns):
        arrays[f"played{k}"] = turn.played
        if turn.dry is not None:
            arrays[f"dry{k}"] = turn.dry
        turns.append({"pauses": _pairs(turn.pauses), "start": turn.start, "offset_ms": turn.offset_ms})
    if plan.line_noise is not None:
        arrays["line_noise"] = plan.line_noise
    _write(folder, _PLAN, arrays, {
        "turns": turns,
        "rate_hz": plan.rate_hz,
        "history": [dataclasses.asdict(message) for message in plan.history],
        "lead_in_ms": plan.lead_in_ms,
        "limits": dataclasses.asdict(plan.limits),
    })  # fmt: skip


def read_plan(folder: Path, connection: ConnectionSpec) -> SessionPlan:
    """The plan that `write_plan` left, for a connection that came another way."""
    arrays, data = _read(folder, _PLAN)
    turns = tuple(
        CallerTurn(arrays[f"played{k}"], arrays.get(f"dry{k}"), _pauses(t["pauses"]), t["start"], t["offset_ms"])
        for k, t in enumerate(data["turns"])
    )
    return SessionPlan(
        connection=connection,
        turns=turns,
        rate_hz=data["rate_hz"],
        history=tuple(Message(**message) for message in data["history"]),
        lead_in_ms=data["lead_in_ms"],
        limits=Limits(**data["limits"]),
        line_noise=arrays.get("line_noise"),
    )


def write_raw(recording: Recording, folder: Path) -> None:
    """Leave a recording for the run's process to store."""
    caller = recording.caller
    arrays: dict[str, NDArray[Any]] = {
        "dry": caller.dry,
        "played": caller.played,
        "departures_ns": caller.departures_ns,
        "agent_pcm": recording.agent_pcm,
        "arrivals": np.array([(a.arrival_ns, a.offset_samples, a.count_samples) for a in recording.arrivals], np.int64),
    }
    _write(folder, _RAW, arrays, {
        "rate_hz": caller.rate_hz,
        "t0_ns": caller.t0_ns,
        "speech": [caller.speech_start_sample, caller.speech_end_sample],
        "pauses": _pairs(caller.pauses),
        "turns": [[t.start_sample, t.end_sample, _pairs(t.pauses), t.kind] for t in caller.turns],
        "agent_rate_hz": recording.agent_rate_hz,
        "clears_ns": recording.clears_ns,
        "marks": [[m.name, m.at_ns, m.arrival_ns, dict(m.detail)] for m in recording.marks],
        "transcripts": [[t.arrival_ns, t.role, t.text, t.final] for t in recording.transcripts],
        "loop_lag_ms": recording.loop_lag_ms,
        "ended": recording.ended,
        "detail": recording.detail,
    })  # fmt: skip


def take_raw(folder: Path) -> Recording:
    """Read what `write_raw` left, and remove it together with the plan."""
    arrays, data = _read(folder, _RAW)
    recording = Recording(
        caller=CallerTrack(
            rate_hz=data["rate_hz"],
            dry=arrays["dry"],
            played=arrays["played"],
            t0_ns=data["t0_ns"],
            departures_ns=arrays["departures_ns"],
            speech_start_sample=data["speech"][0],
            speech_end_sample=data["speech"][1],
            pauses=_pauses(data["pauses"]),
            turns=tuple(SpokenTurn(start, end, _pauses(p), kind) for start, end, p, kind in data["turns"]),
        ),
        agent_rate_hz=data["agent_rate_hz"],
        agent_pcm=arrays["agent_pcm"],
        arrivals=tuple(Arrival(*row) for row in arrays["arrivals"].reshape(-1, 3).tolist()),
        clears_ns=tuple(data["clears_ns"]),
        marks=tuple(Mark(*row) for row in data["marks"]),
        transcripts=tuple(Transcript(*row) for row in data["transcripts"]),
        loop_lag_ms=tuple(data["loop_lag_ms"]),
        ended=data["ended"],
        detail=data["detail"],
    )
    remove(folder)
    return recording


def remove(folder: Path) -> None:
    """Remove what passed between the two processes from a folder."""
    for stem in (_PLAN, _RAW):
        for suffix in (".npz", ".json"):
            (folder / f"{stem}{suffix}").unlink(missing_ok=True)


def _write(folder: Path, stem: str, arrays: dict[str, NDArray[Any]], data: dict[str, Any]) -> None:
    np.savez(folder / f"{stem}.npz", allow_pickle=False, **arrays)
    (folder / f"{stem}.json").write_text(redact(json.dumps(data, default=str)), encoding="utf-8")


def _read(folder: Path, stem: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    with np.load(folder / f"{stem}.npz", allow_pickle=False) as stored:
        arrays = dict(stored)
    return arrays, json.loads((folder / f"{stem}.json").read_text(encoding="utf-8"))


def _pairs(pauses: tuple[Pause, ...]) -> list[tuple[int, int]]:
    return [(p.start_sample, p.end_sample) for p in pauses]


def _pauses(pairs: list[list[int]]) -> tuple[Pause, ...]:
    return tuple(Pause(start, end) for start, end in pairs)
