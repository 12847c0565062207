"""The options that say what is to be played, the same words for every command that plays or plans."""

from collections.abc import Mapping
from typing import Annotated, Literal

import typer

from harness.errors import UserError

Agent = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PROFILE", show_default="polaris-like", help="Agent: a shipped profile or a .toml file; may be repeated."
    ),
]
Pack = Annotated[
    str | None,
    typer.Option(
        metavar="PACK", show_default="heart-mini", help="Pack of contexts: a name that ships, a YAML file or a folder."
    ),
]
Limit = Annotated[int | None, typer.Option(metavar="N", show_default="all of the pack", help="Play only the first N contexts.")]
Mode = Annotated[
    str | None,
    typer.Option(
        metavar="seeded|replay", show_default="seeded", help="seeded: the last turn is spoken. replay: every seeker turn is."
    ),
]
Condition = Annotated[
    list[str] | None, typer.Option(metavar="NAME", show_default="clean", help="Line condition; may be repeated.")
]
Repeats = Annotated[int | None, typer.Option(metavar="R", show_default="1", help="Play each session R times.")]
Concurrency = Annotated[int | None, typer.Option(metavar="K", show_default="1", help="Calls at once.")]
Seed = Annotated[int | None, typer.Option(metavar="N", show_default="1", help="Seed of every random order.")]
BargeIn = Annotated[
    float | None, typer.Option(metavar="MS", show_default="no interruption", help="Interrupt each reply this many ms into it.")
]
Events = Annotated[
    str | None,
    typer.Option(
        metavar="everyday|FILE",
        show_default="none",
        help="Sounds beside each reply: everyday, or a YAML file of sounds and instants.",
    ),
]

BudgetTtfa = Annotated[
    float | None,
    typer.Option(metavar="MS", show_default="500", help="TTFA that a turn may take, in ms: what counts as within."),
]
BudgetTtft = Annotated[
    float | None,
    typer.Option(metavar="MS", show_default="500", help="TTFT that a turn may take, in ms: what counts as within."),
]


def named(
    *,
    agent: list[str] | None,
    pack: str | None,
    limit: int | None,
    mode: str | None,
    condition: list[str] | None,
    repeats: int | None,
    concurrency: int | None,
    seed: int | None,
    barge_in: float | None,
    events: str | None,
    budget_ttfa: float | None = None,
    budget_ttft: float | None = None,
) -> Mapping[str, object]:
    """Those of a run's options that the user named.

    Raises:
        UserError: there is no such mode.
    """
    given: Mapping[str, object] = {
        "agents": tuple(agent) if agent else None,
        "pack": pack,
        "limit": limit,
        "mode": known_mode(mode),
        "conditions": tuple(condition) if condition else None,
        "repeats": repeats,
        "concurrency": concurrency,
        "seed": seed,
        "barge_in_ms": barge_in,
        "events": events,
        "budget_ttfa_ms": budget_ttfa,
        "budget_ttft_ms": budget_ttft,
    }
    return {name: value for name, value in given.items() if value is not None}


def known_mode(mode: str | None) -> Literal["seeded", "replay"] | None:
    """The mode that was named; None where none was. Raises UserError: there is no such mode."""
    match mode:
        case None | "seeded" | "replay":
            return mode
    raise UserError(f"--mode {mode}: unknown; choose seeded or replay")
