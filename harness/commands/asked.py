"""The options that say what is to be played, the same words for every command that plays or plans."""

from collections.abc import Mapping
from typing import Annotated, Literal

import typer

from harness.errors import UserError

Agent = Annotated[list[str] | None, typer.Option(help="Agent: a shipped profile or a .toml file; may be repeated.")]
Pack = Annotated[str | None, typer.Option(help="Pack of contexts: a name that ships, a YAML file or a folder.")]
Limit = Annotated[int | None, typer.Option(help="Play only the first N contexts.")]
Mode = Annotated[str | None, typer.Option(help="seeded: the last turn is spoken. replay: every seeker turn is.")]
Condition = Annotated[list[str] | None, typer.Option(help="Line condition; may be repeated.")]
Repeats = Annotated[int | None, typer.Option(help="Play each session R times.")]
Concurrency = Annotated[int | None, typer.Option(help="Calls at once.")]
Seed = Annotated[int | None, typer.Option(help="Seed of every random order.")]
BargeIn = Annotated[float | None, typer.Option(help="Interrupt each reply this many ms into it.")]
Events = Annotated[str | None, typer.Option(help="Sounds beside each reply: everyday, or a YAML file of sounds and instants.")]


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
    }
    return {name: value for name, value in given.items() if value is not None}


def known_mode(mode: str | None) -> Literal["seeded", "replay"] | None:
    """The mode that was named; None where none was. Raises UserError: there is no such mode."""
    match mode:
        case None | "seeded" | "replay":
            return mode
    raise UserError(f"--mode {mode}: unknown; choose seeded or replay")
