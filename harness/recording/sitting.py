"""The sitting behind a person's session, in a file beside its recording: who answered, and how exactly it was measured.

An agent's error is that of the machine that played to it, and one calibration of a run covers all its calls. A person answers
at a browser of their own, so the loop is measured in every sitting, and each session has its own error, its own losses, and a
pseudonym, without which nobody could withdraw a reply or count persons.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from harness.errors import UserError
from harness.files import write_whole

SITTING_FILE: Final = "sitting.json"

_Name = Annotated[str, Field(min_length=1, max_length=200)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class LoopError:
    """The loop-back trial of a sitting: output and input latency together, and what is left of its error."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    latency_ms: _Finite
    error_p95_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    drift_ppm: _Finite
    heard: Annotated[int, Field(ge=1)]
    """Trials that were heard back."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """The facts of a session in the supporter's seat, as they are on disk. `person` is a pseudonym.

    `automatic`: a program or a rehearsal sat there, and no person. `loop`: None where the sitting was not calibrated.
    `lost_ms`: stretches of the take in which the microphone's sound was lost. `findings`: in words.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    person: _Name
    automatic: bool
    sitting: _Name
    take: _Name
    loop: LoopError | None = None
    lost_ms: tuple[tuple[_Finite, _Finite], ...] = ()
    findings: tuple[str, ...] = ()
    schema_version: Literal[1] = 1


_FILE: Final = TypeAdapter(Sitting)


def save_sitting(sitting: Sitting, folder: Path) -> None:
    """Write the sitting into a session's folder and flush it to the disk."""
    rounded = replace(sitting, lost_ms=tuple((round(start, 3), round(end, 3)) for start, end in sitting.lost_ms))
    write_whole(folder / SITTING_FILE, _FILE.dump_json(rounded, indent=1))


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
        return _FILE.validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: damaged ({str(error).splitlines()[0]})") from error
