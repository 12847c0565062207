"""`harness report`: the joint report of one finished run or several, written again from what their stores hold."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.progress import RunProgress


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs; several go on one page.")],
    baseline: Annotated[Path | None, typer.Option(help="An earlier run to compare with, pair by pair.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the page goes; by default into the (first) run's folder.")] = None,
    export: Annotated[Path | None, typer.Option(help="Folder for pictures, tables and a Markdown summary.")] = None,
    bundle: Annotated[
        bool, typer.Option("--bundle", help="Put the sound into the page, so that one file can be sent.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Write the report of one run, or of several together, and print its figures."""
    from harness.commands.table import print_summary
    from harness.steps.summarise import summarise
    from harness.store.run_store import RunStore
    from reports.joint import write_joint_report
    from reports.listening.results import human_rows

    with RunProgress() as progress:
        progress.phase("Reading")
        opened = [(store, summarise(store, human_rows(store))) for store in map(RunStore.open, runs)]
        earlier = RunStore.open(baseline) if baseline is not None else None
        before = (earlier, summarise(earlier, human_rows(earlier))) if earlier is not None else None
        folder = opened[0][0].folder
        place = out or (folder if len(opened) == 1 else folder / "report-joint.html")
        progress.phase("Writing the report")
        written = write_joint_report(opened, place, baseline=before, exports=export, bundle=bundle)
    if len(opened) == 1:
        (folder / "summary.json").write_text(written.summary.to_json() + "\n", encoding="utf-8")
    if as_json:
        print(written.summary.to_json())
        return
    console = Console()
    print_summary(written.summary, console)
    if bundle:
        console.print(f"        one file of {written.page.stat().st_size / 1e6:.1f} MB, sound included", soft_wrap=True)
    if export is not None:
        console.print(f"exports {export} ({len(written.exports)} files)", soft_wrap=True)
