"""`harness view`: a run's page in the browser of this machine, with live progress while the run plays."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.opening import why_not_opened
from harness.extras import require_listen


def view(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="Folder of a run; default: the one under runs/ that was written last."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="PORT", show_default="8178, or a free one", help="Port to serve the page on.", min=0, max=65_535),
    ] = None,
) -> None:
    """Show a run's page on this machine until Ctrl-C. While the run still plays, the page shows how far it is."""
    require_listen("showing a run")
    from harness.reports.live.progress import latest_run
    from harness.reports.live.server import serve

    serve(run if run is not None else latest_run(Path("runs")), port, partial(print, flush=True), why_not_opened)
