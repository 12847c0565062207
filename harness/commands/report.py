"""`harness report`: the joint report of one or several finished runs, written again from their stores."""

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.endpointing import print_endpointing
from harness.commands.load_told import report_load
from harness.commands.report_index import report_index
from harness.commands.screen import AsJson, screen
from harness.errors import UserError
from harness.extras import require_pictures
from harness.files import write_whole
from harness.progress import RunProgress


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs; several go on one page.")],
    baseline: Annotated[
        Path | None, typer.Option(metavar="RUN", show_default="none", help="An earlier run to compare with, pair by pair.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|FILE",
            show_default="the (first) run's folder",
            help="File for the report; default: in the (first) run's folder.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="DIR", show_default="not written", help="Folder for charts, tables and a Markdown summary."),
    ] = None,
    bundle: Annotated[
        bool, typer.Option("--bundle", help="Include the sound in the page, so that one file can be shared.")
    ] = False,
    budget_ttfa: Annotated[
        float | None,
        typer.Option(metavar="MS", show_default="as the run says", help="Count turns against another TTFA budget, in ms."),
    ] = None,
    budget_ttft: Annotated[
        float | None,
        typer.Option(metavar="MS", show_default="as the run says", help="Count turns against another TTFT budget, in ms."),
    ] = None,
    index: Annotated[
        bool, typer.Option("--index", help="RUN is a folder of runs: write a page that lists them all, with trends.")
    ] = False,
    endpointing: Annotated[
        bool,
        typer.Option("--endpointing", help="Print each agent's pauses cut and its silence after true ends; write nothing."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the report of one or several runs, and print its figures."""
    from harness.store.run_store import is_load

    budgets = {"--budget-ttfa": budget_ttfa, "--budget-ttft": budget_ttft}
    if endpointing:
        if len(runs) != 1:
            raise UserError(f"--endpointing: takes one run, and not {len(runs)}")
        print_endpointing(runs[0], as_json=as_json)
        return
    if index:
        others = {"--baseline": baseline, "--export": export, "--bundle": bundle, **budgets}
        report_index(runs, out, others, as_json=as_json)
        return
    if loads := [run for run in runs if is_load(run)]:
        extra = [option for option, given in {**budgets, "--bundle": bundle}.items() if given]
        if len(runs) > 1 or extra:
            more = f"leave {extra[0]} out" if extra else "name it alone"
            raise UserError(f"{loads[0]}: is a load test, whose report has its steps and no sound; {more}")
        report_load(loads[0], out, baseline, export, as_json=as_json)
        return
    from harness.commands.table import print_summary
    from harness.figures.summarise import summarise
    from harness.reports.listening.results import human_rows
    from harness.reports.write import write_joint_report
    from harness.store.run_store import RunStore

    if export is not None:
        require_pictures(f"--export {export}")
    with RunProgress() as progress:
        progress.phase("Reading")
        stores = [RunStore.open(run) for run in runs]
        earlier = RunStore.open(baseline) if baseline is not None else None
        own_budgets = budget_ttfa is None and budget_ttft is None
        if not own_budgets:
            for store in stores:
                store.read_under(budget_ttfa, budget_ttft)
        opened = [(store, summarise(store, human_rows(store))) for store in stores]
        before = (earlier, summarise(earlier, human_rows(earlier))) if earlier is not None else None
        folder = opened[0][0].folder
        place = out or (folder if len(opened) == 1 else folder / "report-joint.html")
        progress.phase("Writing the report")
        written = write_joint_report(opened, place, baseline=before, exports=export, bundle=bundle)
    if len(opened) == 1 and own_budgets:
        write_whole(folder / "summary.json", written.summary.to_json() + "\n")
    if as_json:
        print(written.summary.to_json())
        return
    console = screen()
    print_summary(written.summary, console)
    if bundle:
        console.print(f"        one file of {written.page.stat().st_size / 1e6:.1f} MB, sound included", soft_wrap=True)
    if export is not None:
        console.print(f"exports {export} ({len(written.exports)} files)", soft_wrap=True)
