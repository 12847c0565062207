"""The price of a judge's tokens: from its own file, else from the list that ships (`data/prices.toml`).

A price on file grows old, so it is never shown without its date. The list names servers as well as models: the same model
costs something else elsewhere, and no price is better than another's.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from harness.foreign_toml import parse_toml
from harness.judging.settings import JudgeSettings

_FILE: Final = resources.files("harness.judging") / "data" / "prices.toml"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. `as_of` is empty for a price in the judge's own file, whose date its owner knows."""

    usd_in: float
    usd_out: float
    usd_audio_in: float | None = None
    """Of a million tokens of sound; None: not known."""
    as_of: str = ""
    source: str = ""

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """US dollars for these tokens of text."""
        return (tokens_in * self.usd_in + tokens_out * self.usd_out) / 1e6


class _Listed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str
    models: tuple[str, ...]
    usd_in: Annotated[float, Field(ge=0)]
    usd_out: Annotated[float, Field(ge=0)]
    usd_audio_in: Annotated[float, Field(ge=0)] | None = None
    as_of: Annotated[str, Field(pattern=r"^20\d\d(-\d\d(-\d\d)?)?$")]
    source: Annotated[str, Field(pattern=r"^https://")]


class _List(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    price: tuple[_Listed, ...]


def price_of(settings: JudgeSettings) -> Price | None:
    """The price of a judge's tokens; None where none is on file. A judge on this machine costs no money."""
    if settings.runs_here:
        return Price(0.0, 0.0)
    host = urlsplit(settings.base_url or "").hostname
    listed = next((one for one in _listed() if one.host == host and settings.model in one.models), None)
    of_sound = settings.audio.price_in if settings.audio is not None else None
    if of_sound is None and listed is not None:
        of_sound = listed.usd_audio_in
    if settings.price_in is not None and settings.price_out is not None:
        return Price(settings.price_in, settings.price_out, of_sound)
    return None if listed is None else Price(listed.usd_in, listed.usd_out, of_sound, listed.as_of, listed.source)


@cache
def _listed() -> tuple[_Listed, ...]:
    return _List.model_validate(parse_toml(_FILE.read_text(encoding="utf-8"))).price
