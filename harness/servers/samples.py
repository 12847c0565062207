"""Samples of a server's metrics: the columns of one page, with both clocks of the harness.

A sample has two times of the monotonic clock, of the request and of its answer, because the server read its counters at some
instant between them; conclusions from samples use whichever is the safe one. The wall clock is stored beside, for other
programs' records of the same server. A page that could not be read is a sample too, with the reason.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from pydantic import Field, TypeAdapter, ValidationError

from harness.errors import UserError
from harness.servers.adapter import Column

SERVERS_FILE: Final = "servers.jsonl"
ServedStage = Literal["llm", "asr", "tts"]
"""The stage of a reply that a server computes."""
COLUMNS: Final[frozenset[str]] = frozenset(get_args(Column))


@dataclass(frozen=True, slots=True)
class ServerSample:
    """One reading of one server."""

    at_ns: int
    """When the page was asked for."""
    answered_ns: int
    """When it was there, or was given up."""
    wall_ns: int
    agent: str
    stage: ServedStage
    server: str = ""
    columns: Mapping[str, Annotated[float, Field(allow_inf_nan=False)]] = field(default_factory=dict)
    error: str = ""
    """The reason why there are no columns, as the end of a sentence."""
    apart_s: float | None = None
    """How far the server's clock is ahead of this one's, by its `Date` header; None where it sends none. Good to 1 s."""


_ROW: Final = TypeAdapter(ServerSample)


def as_row(sample: ServerSample) -> str:
    """The sample as one JSON object in one row, without what is empty."""
    values = {name: getattr(sample, name) for name in ServerSample.__slots__}
    return json.dumps({name: v for name, v in values.items() if v not in ("", None) and v != {}}, default=dict)


def save_samples(samples: Sequence[ServerSample], folder: Path) -> None:
    """Write the samples of one call into its session's folder; nothing where there are none."""
    if samples:
        (folder / SERVERS_FILE).write_text("".join(f"{as_row(sample)}\n" for sample in samples), encoding="utf-8")


def load_samples(folder: Path) -> tuple[ServerSample, ...]:
    """The samples of a session; none where none were stored. A last row that was cut off is left out.

    Raises:
        UserError: the file cannot be read.
    """
    path = folder / SERVERS_FILE
    if not path.exists():
        return ()
    try:
        rows = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    return tuple(_read(rows))


def _read(rows: Iterable[str]) -> Iterable[ServerSample]:
    for row in rows:
        try:
            sample = _ROW.validate_json(row)
        except ValidationError:
            continue
        yield replace(sample, columns={name: value for name, value in sample.columns.items() if name in COLUMNS})
