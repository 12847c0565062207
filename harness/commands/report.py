"""`harness report`: the joint report of a finished run, written again from what the store holds."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.table import print_summary


def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Write a run's report and print its figures."""
    from harness.store import RunStore
    from harness.summarise import summarise
    from reports.joint import write_report

    store = RunStore.open(run)
    summary = summarise(store)
    path = write_report(store, summary, store.folder)
    summary = summary.model_copy(update={"report": str(path)})
    (store.folder / "summary.json").write_text(summary.to_json() + "\n", encoding="utf-8")
    if as_json:
        print(summary.to_json())
    else:
        print_summary(summary, Console())
