"""What a run is asked to be, as one record.

`harness run`, `harness plan` and `harness check` make their options of its fields, the manifest and the plan's file hold it
whole, and `--resume` and `harness merge` compare two of them. So a new option is a field here, and the code that acts on it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import UserError

BUDGET_MS: Final = 500.0
"""What a turn may take where nobody chose otherwise: HEART's target for TTFT, a pragmatic one (section 9.7)."""
NO_JUDGE: Final = "none"
BY_CONTENT: Final = frozenset({"agents", "pack", "limit", "contexts", "events"})
"""Fields that name files or parts of them: two runs are compared by what is in those, which hashes tell."""
FREE: Final = frozenset({"judges"})
"""Fields that may differ each time a run is gone on with; the plan's file leaves them open."""

Mode = Literal["seeded", "replay"]


@dataclass(frozen=True, slots=True)
class Option:
    """A field on the command line; one without it is for programs alone."""

    metavar: str
    help: str
    without: str = ""
    """What holds where nothing is named, in words; the field's default where that is empty."""


class Experiment(BaseModel):
    """What a run is asked to be, as `harness run` and `run_agents` take it.

    >>> import harness
    >>> harness.Experiment(agents=("baseline",), seed=2).differences(harness.Experiment(agents=("patient",)))
    {'seed': (2, 1)}
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    agents: Annotated[tuple[str, ...], Option("PROFILE", "Agent: a shipped profile or a .toml file; may be repeated.")] = (
        "polaris-like",
    )
    pack: Annotated[str, Option("PACK", "Pack of contexts: a name that ships, a YAML file or a folder.")] = "heart-mini"
    limit: Annotated[int | None, Field(ge=1), Option("N", "Play only the first N contexts.", "all of the pack")] = None
    contexts: tuple[str, ...] = ()
    """Only these of the pack, by id, in its order; empty: all."""
    mode: Annotated[Mode, Option("seeded|replay", "seeded: the last turn is spoken. replay: every seeker turn is.")] = "seeded"
    conditions: Annotated[tuple[str, ...], Option("NAME", "Line condition; may be repeated.")] = ("clean",)
    repeats: Annotated[int, Field(ge=1), Option("R", "Play each session R times.")] = 1
    concurrency: Annotated[int, Field(ge=1), Option("K", "Calls at once.")] = 1
    seed: Annotated[int, Option("N", "Seed of every random order.")] = 1
    barge_in_ms: Annotated[
        float | None, Field(ge=0), Option("MS", "Interrupt each reply this many ms into it.", "no interruption")
    ] = None
    events: Annotated[
        str | None,
        Option("everyday|FILE", "Sounds beside each reply: everyday, or a YAML file of sounds and instants.", "none"),
    ] = None
    budget_ttfa_ms: Annotated[float, Field(ge=1), Option("MS", "TTFA that a turn may take, in ms: what counts as within.")] = (
        BUDGET_MS
    )
    budget_ttft_ms: Annotated[float, Field(ge=1), Option("MS", "TTFT that a turn may take, in ms: what counts as within.")] = (
        BUDGET_MS
    )
    judges: Annotated[tuple[str, ...], Option("JUDGE", "Judge: a name, local:FILE.gguf, or a .toml file; may be repeated.")] = (
        "embedded",
    )

    @classmethod
    def of(cls, named: Mapping[str, object]) -> Self:
        """The experiment with these of its fields, as a user named them.

        Raises:
            UserError: the first that is wrong, by the name it has on the command line.
        """
        try:
            return cls.model_validate(named)
        except ValidationError as error:
            raise UserError(_in_words(error)) from error

    def with_named(self, named: Mapping[str, object]) -> Self:
        """The same but for these of its fields. Raises UserError as `of` does."""
        return self.of({**self.model_dump(), **named})

    @property
    def budgets_ms(self) -> dict[str, float]:
        """Both budgets, by the figure that they are of."""
        return {"ttft": self.budget_ttft_ms, "ttfa": self.budget_ttfa_ms}

    @property
    def judged(self) -> bool:
        """Whether it has a judge."""
        return bool({*self.judges} - {NO_JUDGE})

    def settings(self) -> dict[str, object]:
        """What two experiments of the same content are compared by, each by its name in messages."""
        return {called(name): value for name, value in self if name not in BY_CONTENT | FREE}

    def differences(self, other: "Experiment") -> dict[str, tuple[object, object]]:
        """The settings in which two experiments differ: of this one, of the other."""
        theirs = other.settings()
        return {name: (mine, theirs[name]) for name, mine in self.settings().items() if mine != theirs[name]}

    def on_the_line(self) -> list[str]:
        """The words that ask a command for this experiment, every digit of a number among them."""
        named = [(flag(name), getattr(self, name)) for name, _ in options() if name not in FREE]
        each = [(word, one) for word, value in named for one in (value if isinstance(value, tuple) else (value,))]
        return [part for word, value in each if value is not None for part in (word, in_full(value))]


def options() -> Iterator[tuple[str, Option]]:
    """Every field that has an option, with how it is written."""
    for name, field in Experiment.model_fields.items():
        for option in field.metadata:
            if isinstance(option, Option):
                yield name, option


def called(name: str) -> str:
    """A field in messages: `barge_in_ms` as `barge-in`."""
    return name.removesuffix("_ms").replace("_", "-")


def flag(name: str) -> str:
    """A field on the command line, where what may be repeated is named once each time: `agents` as `--agent`."""
    several = isinstance(Experiment.model_fields[name].default, tuple)
    return f"--{called(name).removesuffix('s') if several else called(name)}"


def of_an_older_harness(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an experiment from a manifest or a plan that has each under a key of its own."""
    alike = ("mode", "conditions", "repeats", "concurrency", "seed", "barge_in_ms")
    events = record.get("events")
    return {
        **{name: record[name] for name in alike if name in record},
        **{f"budget_{name}_ms": value for name, value in record.get("budgets_ms", {}).items()},
        "agents": [agent.get("source") or agent["name"] for agent in record["agents"]],
        "pack": record["pack_source"],
        "events": events["source"] if isinstance(events, Mapping) else record.get("events_source"),
    }


def shown(value: object) -> str:
    """A field's value in a message."""
    if value is None:
        return "not set"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else in_full(value)


def _in_words(error: ValidationError) -> str:
    first = error.errors()[0]
    name, given = str(first["loc"][0]), first["input"]
    if name not in Experiment.model_fields:
        return f"{name}: a run has no such option; it has {', '.join(Experiment.model_fields)}"
    limits = first.get("ctx", {})
    match first["type"]:
        case "greater_than_equal":
            return f"{flag(name)} {given:g}: must be at least {limits['ge']:g}"
        case "literal_error":
            return f"{flag(name)} {given}: unknown; choose {limits['expected'].replace(chr(39), '')}"
        case _:
            return f"{flag(name)} {given}: {first['msg']}"


def in_full(value: object) -> str:
    """A number with every digit, for a plan of 333.3333333 ms is not one of 333.333 ms."""
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)
