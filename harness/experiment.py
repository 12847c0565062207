"""The settings of a run, as one record.

`harness run` and `harness check` make their options from its fields, the manifest and the plan's file store it whole, and
`--resume` and `harness merge` compare two of them. So a new option is a field here, and the code that acts on it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import UserError
from harness.nearest import did_you_mean, or_one_of

BUDGET_MS: Final = 500.0
"""Default budget of a turn: HEART's target for TTFT, a pragmatic one (section 9.7)."""
NO_JUDGE: Final = "none"
BY_CONTENT: Final = frozenset({"agents", "pack", "limit", "contexts", "events"})
"""Fields that name files or parts of them: two runs are compared by the hashes of their contents instead."""
FREE: Final = frozenset({"judges"})
"""Fields that may change whenever a run is resumed; the plan's file does not fix them."""

Mode = Literal["seeded", "replay"]


@dataclass(frozen=True, slots=True)
class Option:
    """The command-line option of a field. A field without one can be set by programs only."""

    metavar: str
    help: str
    without: str = ""
    """The default in words; if empty, the field's default is shown."""


class Experiment(BaseModel):
    """The settings of a run, as `harness run` and `run_agents` take them.

    >>> import harness
    >>> harness.Experiment(agents=("baseline",), seed=2).differences(harness.Experiment(agents=("patient",)))
    {'seed': (2, 1)}
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    agents: Annotated[tuple[str, ...], Option("PROFILE", "Agent: a shipped profile or a .toml file; may be repeated.")] = (
        "polaris-like",
    )
    pack: Annotated[str, Option("PACK", "Pack of contexts: a shipped name, a YAML file or a folder.")] = "heart-mini"
    limit: Annotated[int | None, Field(ge=1), Option("N", "Play only the first N contexts.", "all of the pack")] = None
    contexts: tuple[str, ...] = ()
    """Ids of the pack's contexts to play, in the pack's order; empty: all."""
    mode: Annotated[Mode, Option("seeded|replay", "seeded: speak the last turn. replay: speak every seeker turn.")] = "seeded"
    conditions: Annotated[tuple[str, ...], Option("NAME", "Line condition; may be repeated.")] = ("clean",)
    repeats: Annotated[int, Field(ge=1), Option("R", "Play each session R times.")] = 1
    concurrency: Annotated[int, Field(ge=1), Option("K", "Number of simultaneous calls.")] = 1
    seed: Annotated[int, Option("N", "Seed of every random order.")] = 1
    barge_in_ms: Annotated[
        float | None, Field(ge=0), Option("MS", "Interrupt each reply this many ms into it.", "no interruption")
    ] = None
    events: Annotated[
        str | None,
        Option("everyday|FILE", "Sounds during each reply: everyday, or a YAML file of sounds and instants.", "none"),
    ] = None
    budget_ttfa_ms: Annotated[float, Field(ge=1), Option("MS", "TTFA budget of a turn, in ms.")] = BUDGET_MS
    budget_ttft_ms: Annotated[float, Field(ge=1), Option("MS", "TTFT budget of a turn, in ms.")] = BUDGET_MS
    judges: Annotated[tuple[str, ...], Option("JUDGE", "Judge: a name, local:FILE.gguf, or a .toml file; may be repeated.")] = (
        NO_JUDGE,
    )

    @classmethod
    def of(cls, named: Mapping[str, object]) -> Self:
        """The experiment with these values for its fields, as a user named them.

        Raises:
            UserError: a value is wrong; the message gives the first such field by its option's name.
        """
        try:
            return cls.model_validate(named)
        except ValidationError as error:
            raise UserError(_in_words(error)) from error

    def with_named(self, named: Mapping[str, object]) -> Self:
        """A copy with other values for these fields. Raises UserError as `of` does."""
        return self.of({**self.model_dump(), **named})

    @property
    def budgets_ms(self) -> dict[str, float]:
        """Both budgets, by figure."""
        return {"ttft": self.budget_ttft_ms, "ttfa": self.budget_ttfa_ms}

    @property
    def judged(self) -> bool:
        """True if the run has a judge."""
        return bool({*self.judges} - {NO_JUDGE})

    def settings(self) -> dict[str, object]:
        """The fields by which two experiments with the same content are compared, under their names in messages."""
        return {called(name): value for name, value in self if name not in BY_CONTENT | FREE}

    def differences(self, other: "Experiment") -> dict[str, tuple[object, object]]:
        """The settings that differ: name → (value here, value in the other)."""
        theirs = other.settings()
        return {name: (mine, theirs[name]) for name, mine in self.settings().items() if mine != theirs[name]}

    def on_the_line(self) -> list[str]:
        """The command-line words for this experiment, with all digits of each number."""
        named = [(flag(name), getattr(self, name)) for name, _ in options() if name not in FREE]
        each = [(word, one) for word, value in named for one in (value if isinstance(value, tuple) else (value,))]
        return [part for word, value in each if value is not None for part in (word, in_full(value))]


def options() -> Iterator[tuple[str, Option]]:
    """Each field that has an option, with that option."""
    for name, field in Experiment.model_fields.items():
        for option in field.metadata:
            if isinstance(option, Option):
                yield name, option


def called(name: str) -> str:
    """The name of a field in messages: `barge-in` for `barge_in_ms`."""
    return name.removesuffix("_ms").replace("_", "-")


def flag(name: str) -> str:
    """The option of a field, in the singular if it may be repeated: `--agent` for `agents`."""
    several = isinstance(Experiment.model_fields[name].default, tuple)
    return f"--{called(name).removesuffix('s') if several else called(name)}"


def of_an_older_harness(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an experiment from an older manifest or plan, which stores each under its own key."""
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
    """A field's value as text for a message."""
    if value is None:
        return "not set"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else in_full(value)


def _in_words(error: ValidationError) -> str:
    first = error.errors()[0]
    name, given = str(first["loc"][0]), first["input"]
    if name not in Experiment.model_fields:
        return f"{name}: a run has no such option{or_one_of(name, Experiment.model_fields)}"
    limits = first.get("ctx", {})
    match first["type"]:
        case "greater_than_equal":
            return f"{flag(name)} {given:g}: must be at least {limits['ge']:g}"
        case "literal_error":
            choices = limits["expected"].replace("'", "")
            near = did_you_mean(str(given), choices.split(" or ")) or f"; choose {choices}"
            return f"{flag(name)} {given}: unknown{near}"
        case _:
            return f"{flag(name)} {given}: {first['msg']}"


def in_full(value: object) -> str:
    """A number with all its digits, because a plan with 333.3333333 ms differs from one with 333.333 ms."""
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)
