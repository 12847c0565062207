"""The sitting behind a person's session, in a file beside its recording: who answered, and how exactly it was measured.

An agent's error is that of the machine that played to it, and one calibration of a run covers all its calls. A person answers
at a browser of their own, so the loop is measured in every sitting, and each session has its own error, its own losses, and a
pseudonym, without which nobody could withdraw a reply or count persons.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.errors import UserError

SITTING_FILE: Final = "sitting.json"


@dataclass(frozen=True, slots=True)
class LoopError:
    """The loop-back trial of a sitting: output and input latency together, and what is left of its error."""

    latency_ms: float
    error_p95_ms: float
    drift_ppm: float
    heard: int
    """Trials that were heard back."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """The facts of a session in the supporter's seat. `person` is a pseudonym.

    `automatic`: a program or a rehearsal sat there, and no person. `loop`: None where the sitting was not calibrated.
    `lost_ms`: stretches of the take in which the microphone's sound was lost. `findings`: in words.
    """

    person: str
    automatic: bool
    sitting: str
    take: str
    loop: LoopError | None = None
    lost_ms: tuple[tuple[float, float], ...] = ()
    findings: tuple[str, ...] = ()


_Name = Annotated[str, Field(min_length=1, max_length=200)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Error = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Loop(_Model):
    latency_ms: _Finite
    error_p95_ms: _Error
    drift_ppm: _Finite
    heard: Annotated[int, Field(ge=1)]


class _File(_Model):
    schema_version: Literal[1] = 1
    person: _Name
    automatic: bool
    sitting: _Name
    take: _Name
    loop: _Loop | None
    lost_ms: list[tuple[_Finite, _Finite]]
    findings: list[str]


def save_sitting(sitting: Sitting, folder: Path) -> None:
    """Write the sitting into a session's folder and flush it to the disk."""
    loop = sitting.loop
    file = _File(
        person=sitting.person,
        automatic=sitting.automatic,
        sitting=sitting.sitting,
        take=sitting.take,
        loop=None if loop is None else _Loop(**{name: getattr(loop, name) for name in _Loop.model_fields}),
        lost_ms=[(round(start, 3), round(end, 3)) for start, end in sitting.lost_ms],
        findings=list(sitting.findings),
    )
    with (folder / SITTING_FILE).open("w", encoding="utf-8") as out:
        out.write(file.model_dump_json(indent=1))
        out.flush()
        os.fsync(out.fileno())


def same_take(one: Path, other: Path) -> bool:
    """True if two sessions' folders are of the same take in the supporter's seat, or both of none.

    Raises:
        UserError: a file is damaged.
    """
    takes = [None if (sitting := load_sitting(folder)) is None else sitting.take for folder in (one, other)]
    return takes[0] == takes[1]


def load_sitting(folder: Path) -> Sitting | None:
    """Read the sitting of a session; None where none was stored: it is an agent's.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / SITTING_FILE
    if not path.exists():
        return None
    try:
        found = _File.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: damaged ({str(error).splitlines()[0]})") from error
    return Sitting(
        person=found.person,
        automatic=found.automatic,
        sitting=found.sitting,
        take=found.take,
        loop=None if found.loop is None else LoopError(**found.loop.model_dump()),
        lost_ms=tuple(found.lost_ms),
        findings=tuple(found.findings),
    )
