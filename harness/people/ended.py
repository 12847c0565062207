"""A page's record of a recording's end: what it played, when the key was pressed, and how its clock went."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.people.records import MOST_PARTS
from harness.people.track import RATE_HZ
from harness.reports.invited import Refused

LATEST_FRAME: Final = RATE_HZ * 60 * 60 * 48
"""Two days of an audio clock."""
_Frame = Annotated[int, Field(ge=0, lt=LATEST_FRAME)]
_Name = Annotated[str, Field(max_length=24)]
_Reason = Literal["pressed", "silence", "longest", "never", "hidden", "slept", "unplugged"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class _Played(_Model):
    name: _Name
    at: _Frame
    frames: _Frame


class _Happened(_Model):
    what: _Name
    at: _Frame


class _Ended(_Model):
    parts: Annotated[int, Field(ge=1, le=MOST_PARTS)]
    played: Annotated[list[_Played], Field(max_length=40)]
    pressed: _Frame | None = None
    clock: Annotated[list[Annotated[list[float], Field(min_length=2, max_length=2)]], Field(max_length=MOST_PARTS)]
    happened: Annotated[list[_Happened], Field(max_length=1_000)] = []
    reason: _Reason


def end_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The record in a request, checked.

    Raises:
        Refused: it is impossible.
    """
    try:
        return _Ended.model_validate(dict(body)).model_dump()
    except ValidationError:
        raise Refused("The end of the recording cannot be read. Please reload the page.") from None
