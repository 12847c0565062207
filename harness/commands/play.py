"""`harness play`: sessions of a run, played on the loudspeakers."""

from pathlib import Path
from typing import Annotated

import typer


def play(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    context: Annotated[str | None, typer.Option(metavar="ID", show_default="all", help="Only this context.")] = None,
    agents: Annotated[
        str | None,
        typer.Option(metavar="NAMES", show_default="all", help="Only these agents, separated by commas, in this order."),
    ] = None,
) -> None:
    """Play recorded sessions with a moving timeline."""
    from harness.reports.play import play as play_sessions
    from harness.store.run_store import RunStore

    names = tuple(name.strip() for name in agents.split(",") if name.strip()) if agents else ()
    play_sessions(RunStore.open(run), context=context, agents=names)
