"""`harness report`: the joint report of a finished run, written again from what the store holds."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.table import print_summary


def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    baseline: Annotated[Path | None, typer.Option(help="An earlier run to compare with, pair by pair.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the page goes; by default into the run's folder.")] = None,
    export: Annotated[Path | None, typer.Option(help="Folder for pictures, tables and a Markdown summary.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Write a run's report and print its figures."""
    from harness.store import RunStore
    from harness.summarise import summarise
    from reports.joint import write_report

    store = RunStore.open(run)
    summary = summarise(store)
    earlier = RunStore.open(baseline) if baseline is not None else None
    before = (earlier, summarise(earlier)) if earlier is not None else None
    path = write_report(store, summary, out or store.folder, baseline=before, exports=export)
    summary = summary.model_copy(update={"report": str(path)})
    (store.folder / "summary.json").write_text(summary.to_json() + "\n", encoding="utf-8")
    if as_json:
        print(summary.to_json())
    else:
        print_summary(summary, Console())
