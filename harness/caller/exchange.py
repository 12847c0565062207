"""Files that carry plans and recordings between the run and its caller: arrays in `.npz`, the rest in JSON.

Files and not pipes, because a plan is a megabyte and the caller's event loop must not spend milliseconds on it; compressing
into FLAC is left to the run's process. The connection may hold keys and is sent with the order to play instead.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.agents.connections import ConnectionSpec
from harness.agents.message import Message
from harness.agents.secrets import redact
from harness.caller.plan import CallerTurn, Greeting, Limits, SessionPlan
from harness.recording.parts import Facts, put_together, taken_apart
from harness.recording.record import Pause, Recording

_PLAN = "plan"
_RAW = "raw"


def write_plan(plan: SessionPlan, folder: Path) -> None:
    """Write a plan to the folder where the caller reads it."""
    arrays: dict[str, NDArray[Any]] = {}
    turns = []
    for k, turn in enumerate(plan.turns):
        arrays[f"played{k}"] = turn.played
        if turn.dry is not None:
            arrays[f"dry{k}"] = turn.dry
        turns.append({"pauses": turn.pauses, "start": turn.start, "offset_ms": turn.offset_ms, "event": turn.event})
    if plan.line_noise is not None:
        arrays["line_noise"] = plan.line_noise
    _write(folder, _PLAN, arrays, {
        "turns": turns,
        "rate_hz": plan.rate_hz,
        "history": [dataclasses.asdict(message) for message in plan.history],
        "lead_in_ms": plan.lead_in_ms,
        "limits": dataclasses.asdict(plan.limits),
        "greeting": dataclasses.asdict(plan.greeting) if plan.greeting else None,
        "reply_ends_after_ms": plan.reply_ends_after_ms,
        "full_duplex": plan.full_duplex,
    })  # fmt: skip


def read_plan(folder: Path, connection: ConnectionSpec) -> SessionPlan:
    """The plan that `write_plan` wrote, with a connection that was passed separately."""
    arrays, data = _read(folder, _PLAN)
    turns = tuple(
        CallerTurn(
            arrays[f"played{k}"],
            arrays.get(f"dry{k}"),
            tuple(Pause(*pair) for pair in t["pauses"]),
            t["start"],
            t["offset_ms"],
            t["event"],
        )
        for k, t in enumerate(data["turns"])
    )
    return SessionPlan(
        connection=connection,
        turns=turns,
        rate_hz=data["rate_hz"],
        history=tuple(Message(**message) for message in data["history"]),
        lead_in_ms=data["lead_in_ms"],
        limits=Limits(**data["limits"]),
        greeting=Greeting(**data["greeting"]) if data["greeting"] else None,
        reply_ends_after_ms=data["reply_ends_after_ms"],
        full_duplex=data["full_duplex"],
        line_noise=arrays.get("line_noise"),
    )


def write_raw(recording: Recording, folder: Path) -> None:
    """Write a recording for the run's process to store."""
    _write(folder, _RAW, *taken_apart(recording))


def take_raw(folder: Path) -> Recording:
    """Read the recording that `write_raw` wrote, and remove it together with the plan."""
    arrays, facts = _read(folder, _RAW)
    recording = put_together(arrays, Facts.model_validate(facts))
    remove(folder)
    return recording


def remove(folder: Path) -> None:
    """Remove the files of both processes from a folder."""
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
