"""`harness report`: the joint report of one or several finished runs, written again from their stores."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from harness.commands.endpointing import print_endpointing
from harness.commands.export_traces import export_spans, is_for_spans
from harness.commands.load_output import report_load
from harness.commands.opening import Open, open_page
from harness.commands.screen import AsJson, Verbose, screen
from harness.commands.study_option import StudyFile
from harness.commands.vote_file import print_vote_file
from harness.errors import UserError
from harness.extras import pictures_missing
from harness.files import write_whole
from harness.progress import RunProgress

if TYPE_CHECKING:
    from harness.study.study import Study

_SOON_S: Final = 2.0
"""Reading that takes longer shows its progress."""


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of runs, all on one page; or a folder of them, to list."),
    ],
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
        str | None,
        typer.Option(
            metavar="DIR|URL|FILE.pb",
            show_default="not written",
            help="Folder for charts, tables and a Markdown summary; or only spans, for an OTLP receiver or into a file.",
        ),
    ] = None,
    to: Annotated[str | None, typer.Option(hidden=True, help="Receiver or file of spans, as --export.")] = None,
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
    index: Annotated[bool, typer.Option("--index", hidden=True, help="RUN is a folder of runs.")] = False,
    endpointing: Annotated[
        bool, typer.Option("--endpointing", hidden=True, help="Print the tables of pauses of --verbose alone; write nothing.")
    ] = False,
    vote_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html|FOLDER",
            show_default="not written",
            help="Write only a page with nothing in it but the vote, to send to people, or a folder to put on a web server.",
        ),
    ] = None,
    medium: Annotated[
        str | None,
        typer.Option(
            metavar="sound|text", show_default="sound if there is any", help="With --vote-file: hear or read replies."
        ),
    ] = None,
    study: StudyFile = None,
    consent: Annotated[Path | None, typer.Option(hidden=True, metavar="FILE.txt")] = None,
    post_to: Annotated[
        str | None,
        typer.Option(metavar="URL", show_default="nowhere", help="With --vote-file: the address that the page posts votes to."),
    ] = None,
    open_: Open = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Write the report of one or several runs, and print its figures."""
    from harness.store.run_store import is_folder_of_runs, is_load

    index = index or (len(runs) == 1 and is_folder_of_runs(runs[0]))
    if study is not None and (len(runs) != 1 or index or endpointing or is_load(runs[0])):
        raise UserError(f"--study {study}: is for the people who vote on the page of one run; leave it out here")
    asked = _study(study, consent)
    spans_to = to or (export if is_for_spans(export) else None)
    folder_of_exports = Path(export) if export is not None and spans_to is None else None
    of_vote_file = {"--medium": medium, "--consent": consent, "--post-to": post_to}
    if vote_file is not None or spans_to is not None:
        others = {
            "--baseline": baseline, "--out": out, "--export": vote_file and export, "--bundle": bundle,
            "--budget-ttfa": budget_ttfa, "--budget-ttft": budget_ttft, "--index": index, "--endpointing": endpointing,
            "--open": open_,
        }  # fmt: skip
        alone = (
            "--vote-file, which writes nothing but the vote" if vote_file else f"--export {spans_to}, which exports spans alone"
        )
        if given := [name for name, value in others.items() if value]:
            raise UserError(f"{given[0]}: does not go with {alone}")
    if spans_to is not None:
        if len(runs) != 1:
            raise UserError(f"--export {spans_to}: takes one run, and not {len(runs)}")
        export_spans(runs[0], spans_to, as_json=as_json)
        return
    if vote_file is not None:
        print_vote_file(runs, vote_file, medium, asked, post_to, as_json=as_json)
        return
    if given := [name for name, value in of_vote_file.items() if value is not None]:
        raise UserError(f"{given[0]}: says how people vote; give it with --vote-file FILE.html")
    budgets = {"--budget-ttfa": budget_ttfa, "--budget-ttft": budget_ttft}
    if endpointing:
        if len(runs) != 1:
            raise UserError(f"--endpointing: takes one run, and not {len(runs)}")
        print_endpointing(runs[0], as_json=as_json)
        return
    if index:
        others = {"--baseline": baseline, "--export": folder_of_exports, "--bundle": bundle, **budgets}
        page = _write_index(runs, out, others, as_json=as_json)
        if open_:
            open_page(page)
        return
    if loads := [run for run in runs if is_load(run)]:
        extra = [option for option, given in {**budgets, "--bundle": bundle}.items() if given]
        if len(runs) > 1 or extra:
            more = f"leave {extra[0]} out" if extra else "name it alone"
            raise UserError(f"{loads[0]}: is a load test, whose report has its steps and no sound; {more}")
        page = report_load(loads[0], out, baseline, folder_of_exports, as_json=as_json)
        if open_:
            open_page(page)
        return
    from harness.commands.table import print_summary
    from harness.figures.next_step import next_step
    from harness.figures.summarise import summarise
    from harness.gate.stored import stored_check
    from harness.reports.listening.results import human_rows
    from harness.reports.write import write_joint_report
    from harness.store.run_store import RunStore

    with RunProgress() as progress:
        progress.phase("Reading")
        stores = [RunStore.open(run) for run in runs]
        earlier = RunStore.open(baseline) if baseline is not None else None
        own_budgets = budget_ttfa is None and budget_ttft is None
        if not own_budgets:
            for store in stores:
                store.read_under(budget_ttfa, budget_ttft)
        elif len(stores) == 1 and (check := stored_check(stores[0].folder)):
            stores[0].read_under(check.budgets_ms.get("ttfa"), check.budgets_ms.get("ttft"))
        opened = [(store, summarise(store, human_rows(store))) for store in stores]
        before = (earlier, summarise(earlier, human_rows(earlier))) if earlier is not None else None
        folder = opened[0][0].folder
        place = out or (folder if len(opened) == 1 else folder / "report-joint.html")
        progress.phase("Writing the report")
        written = write_joint_report(opened, place, baseline=before, exports=folder_of_exports, bundle=bundle, study=asked)
    if len(opened) == 1 and own_budgets:
        write_whole(folder / "summary.json", written.summary.to_json() + "\n")
    if open_:
        open_page(written.page)
    if as_json:
        print(written.summary.to_json())
        return
    console = screen()
    if bundle:
        console.print(f"The page is one file of {written.page.stat().st_size / 1e6:.1f} MB, sound included.", soft_wrap=True)
    if export is not None:
        exported = f"Exported: {len(written.exports)} files in {export}"
        why = pictures_missing()
        console.print(f"{exported}. {why}" if why else exported, soft_wrap=True, markup=False, highlight=False)
    if verbose and len(opened) == 1 and any(agent.kind != "text" for agent in opened[0][0].manifest.agents):
        print_endpointing(folder, as_json=False)
    then = next_step(written.summary) if len(opened) == 1 else None
    print_summary(written.summary, console, verbose=verbose, next_step=then)


def _study(file: Path | None, consent: Path | None) -> "Study | None":
    """What is read before a vote: the study of a file, or one that has only a consent text; None for neither."""
    from harness.reports.notice import with_own_consent
    from harness.study.read import read_study

    if file is not None and consent is not None:
        raise UserError(f"--consent {consent}: does not go with --study; write the text into {file}, as consent")
    return read_study(file) if file is not None else with_own_consent(consent) if consent is not None else None


def _write_index(folders: Sequence[Path], out: Path | None, others: Mapping[str, object], *, as_json: bool) -> Path:
    """Write the index of the runs below a folder, and print where it is, or its rows as JSON; returns its page.

    `others`: options of the command that an index has no use for, with their values.
    """
    from harness.reports.index.page import index_json, page_path, write_index
    from harness.reports.index.rows import read_index
    from harness.wording import counted

    if len(folders) != 1:
        raise UserError(f"--index: takes one folder, below which the runs are, and not {len(folders)}")
    given = [name for name, value in others.items() if value]
    if given:
        raise UserError(f"{given[0]}: is for the report of one run, and {folders[0]} is a folder of runs")
    page = page_path(folders[0], out)
    with RunProgress() as progress:
        began_s, shown = time.monotonic(), False

        def read(done: int, total: int) -> None:
            nonlocal shown
            if not shown and time.monotonic() - began_s > _SOON_S:
                progress.phase("Reading runs", total)
                shown = True
            if shown:
                progress.count(done, total)

        index = read_index(folders[0], read)
        write_index(index, page)
    if as_json:
        print(index_json(index, page))
        return page
    console = screen()
    console.print(f"index   {page} ({counted(len(index.runs), 'run')})", soft_wrap=True, markup=False, highlight=False)
    for each in index.left_out:
        console.print(f"left out {each.name}: {each.why}", soft_wrap=True, markup=False, highlight=False)
    return page
