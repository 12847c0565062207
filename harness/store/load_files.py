"""The folder of a load test: `load.json` with its steps, and `turns.jsonl` with every turn of every step.

Each turn has its instants on the monotonic clock that the whole harness times by, and the beginning also on the wall clock, so
that anything else that was sampled meanwhile (a model server's counters, a GPU's clock) can be laid beside it. A call that
failed has one row too. Rows are appended step by step, and a step is in `load.json` only after its rows are: an interrupted
test has all of its finished steps. Details of failures are an agent's words: hostile text.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.agents.secrets import redact
from harness.errors import UserError
from harness.files import write_whole
from harness.servers.split import ServerSplit
from harness.store.card import CardUse

LOAD_FILE: Final = "load.json"
TURNS_FILE: Final = "turns.jsonl"
SCHEMA: Final = 1


class LoadTurn(BaseModel):
    """One turn of one call of a load test, or one call that failed. `_ns`: this machine's monotonic clock."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    step: int
    """Its place among the steps of `load.json`, from 0."""
    rate: float | None = None
    """Offered calls a second, in an open loop."""
    callers: int | None = None
    """Callers at once, in a closed loop."""
    session: str
    """The call: step and number."""
    context: str
    turn: int = 0
    due_ns: int | None = None
    """When the schedule wanted the call to begin; None in a closed loop."""
    begun_ns: int | None = None
    """When the caller began to dial."""
    begin_ns: int
    """The caller's first sample of this turn; of a failed call, when it began."""
    begin_unix_ns: int
    """The same instant on the wall clock."""
    spoken_end_ns: int
    end_ns: int
    """The end of the reply as heard; the spoken end where none came."""
    counted: bool = True
    """False for a turn while the load was not full yet, or not any more: it is in no figure."""
    failure: str | None = None
    detail: str = ""
    ttfa_ms: float | None = None
    answer_ms: float | None = None
    filler: bool = False
    """True if the reply begins with a filler."""
    signed_ms: float | None = None
    ttft_ms: float | None = None
    no_reply: bool = False
    cut_in: bool = False
    underruns: int = 0
    discarded: str | None = None
    stages: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Stage → its start after the spoken end and its length, in ms."""
    stages_from: str | None = None
    servers: tuple[ServerSplit, ...] = ()
    """The turn's waits for model servers, in parts; none where no server says anything."""
    own_ms: dict[str, float] = Field(default_factory=dict)
    """Stage (asr, llm, tts) → the time that it took for the reply, also where that was hidden behind a wait."""
    computing: tuple[str, ...] | None = None
    """The stages of a cascade that computed while the others had stand-ins (`--isolate`): its turns are in no step, and `step`
    is then the place of the play, counted on from the steps. None in a step."""


class LoadMade(BaseModel):
    """What a load test was made of: two tests that differ here differ in more than their agent."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    agent: str
    pack: str
    pack_hash: str = ""
    mode: str = "seeded"
    contexts: int = 0
    seed: int = 1
    created: str = ""
    machine: str = ""
    harness_version: str = ""
    gpus: dict[str, str | int | float] = Field(default_factory=dict)
    """The machine's GPUs and their driver before the test, as in a run's manifest; empty without any."""
    cards: dict[str, CardUse] = Field(default_factory=dict)
    """GPU → what its samples say, to the end of the last step or play."""


class StepFacts(BaseModel):
    """The part of a step that is read again: its load, and why it says nothing about the agent."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    rate: float | None = None
    """Offered calls a second, in an open loop."""
    callers: int = 0
    """Callers at once, in a closed loop."""
    says_of_agent: bool
    out_of_bounds: tuple[str, ...] = ()
    failure: str = ""


class LoadFile(BaseModel):
    """The part of `load.json` that is read again."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: int = Field(alias="schema")
    made: LoadMade
    arrivals: str | None = None
    """The law of the open loop; None for a closed one."""
    for_s: float | None = None
    steps: tuple[StepFacts, ...]


def append_turns(folder: Path, turns: Sequence[LoadTurn]) -> None:
    """Add the rows of a finished step, keys masked."""
    with (folder / TURNS_FILE).open("a", encoding="utf-8") as out:
        out.writelines(redact(turn.model_dump_json()) + "\n" for turn in turns)
        out.flush()


def write_load(folder: Path, data: dict[str, Any]) -> str:
    """Write `load.json` at once or not at all; returns its text."""
    text = redact(json.dumps(without_nan(data), indent=2))
    write_whole(folder / LOAD_FILE, text)
    return text


def is_load(folder: Path) -> bool:
    """True if this is the folder of a load test."""
    return (folder / LOAD_FILE).is_file()


def read_load(folder: Path) -> LoadFile:
    """The steps of a load test.

    Raises:
        UserError: there is none, or it is of an older harness, or it was changed.
    """
    path = folder / LOAD_FILE
    try:
        found = LoadFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); name the folder that harness load wrote") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{path}: {where or 'the file'}: {first['msg']}; play the load test again") from error
    if found.schema_version != SCHEMA:
        raise UserError(f"{path}: schema {found.schema_version}; this harness reads schema {SCHEMA}")
    return found


def read_turns(folder: Path) -> Iterator[LoadTurn]:
    """The turns of all finished steps.

    Raises:
        UserError: there are none, or a row cannot be read.
    """
    path = folder / TURNS_FILE
    try:
        # Not `splitlines`: a detail may have a separator that JSON does not escape.
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read; name the folder that harness load wrote") from error
    for number, line in enumerate(lines, start=1):
        try:
            yield LoadTurn.model_validate_json(line)
        except ValidationError as error:
            # The last row of a test that was killed may be half a row; its step is not in load.json.
            if number < len(lines):
                raise UserError(f"{path}, row {number}: {error.errors()[0]['msg']}") from error


def without_nan(value: Any) -> Any:
    """The value with null for NaN, which JSON does not have: the figure of a step in which nothing was played."""
    if isinstance(value, dict):
        return {k: without_nan(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(v) for v in value]
    return None if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))) else value
