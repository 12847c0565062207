"""The options that say what is to be played and where, the same words for every command that plays, plans or asks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.errors import UserError

if TYPE_CHECKING:
    from harness.fleet.run import OnCluster

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

Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        show_default="this machine alone",
        help="On a Ray cluster: auto, its HOST:PORT, or local for one of this machine alone.",
    ),
]
RayShards = Annotated[
    int | None, typer.Option(help="With --ray: in so many parts; by default as many as can be at work at once.", min=1)
]
RayCpus = Annotated[
    float | None,
    typer.Option(
        metavar="N", show_default="the agents' threads", help="With --ray: CPUs that a part takes of its node.", min=0.01
    ),
]
RayGpus = Annotated[
    float | None, typer.Option(metavar="N", show_default="0", help="With --ray: GPUs that a part takes of its node.", min=0)
]
RayMemory = Annotated[
    float | None,
    typer.Option(
        metavar="GIB", show_default="not declared", help="With --ray: memory that a part takes of its node, in GiB.", min=0
    ),
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


def cluster(
    address: str | None, shards: int | None, cpus: float | None, gpus: float | None, memory_gib: float | None
) -> "OnCluster | None":
    """The cluster that the line names; None where it names none.

    Raises:
        UserError: something is asked of a cluster, and none is named.
    """
    given = {"shards": shards, "cpus": cpus, "gpus": gpus, "memory-gib": memory_gib}
    if address is None:
        first = next((name for name, value in given.items() if value is not None), None)
        if first is not None:
            raise UserError(f"--ray-{first}: is for a run on a cluster; add --ray auto, or leave it out")
        return None
    from harness.fleet.cluster import GIB
    from harness.fleet.run import OnCluster

    return OnCluster(address, shards, cpus, gpus or 0.0, round((memory_gib or 0.0) * GIB))
