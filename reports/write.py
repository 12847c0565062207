"""The joint report of one or several runs: one page, its audio files, and optionally charts and tables."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import StorageError, UserError
from harness.extras import pictures_missing
from harness.figures.summarise import with_drawing
from harness.figures.summary import RunSummary
from harness.files import write_whole
from harness.printable import visible_json
from harness.reports.assemble import assemble
from harness.reports.changes import BaselineView, ChangeRow, most_telling_first
from harness.reports.charts.registry import charts
from harness.reports.conditions import conditions
from harness.reports.html import render
from harness.reports.listening.export import write_answers
from harness.reports.listening.people import write_human_completions
from harness.reports.markdown import markdown
from harness.reports.notice import store_study
from harness.reports.pictures import write_elo_latency_chart, write_pictures
from harness.reports.session_audio import draw_sessions
from harness.reports.several_runs import together
from harness.reports.shown_runs import ShownRuns, alone
from harness.reports.tables import Row, tables
from harness.reports.versions import versions
from harness.reports.view import PageView
from harness.store.disk import storage_fault, storage_named
from harness.store.run_store import RunStore
from harness.study.study import Study
from harness.tables.csv_text import csv_text
from harness.wording import command

Run = tuple[RunStore, RunSummary]


@dataclass(frozen=True, slots=True)
class Written:
    """A page on disk, and its figures."""

    page: Path
    summary: RunSummary
    exports: tuple[Path, ...] = ()


def write_joint_report(
    runs: Sequence[Run],
    out: Path,
    *,
    baseline: Run | None = None,
    exports: Path | None = None,
    bundle: bool = False,
    study: Study | None = None,
) -> Written:
    """Write the page and its audio.

    `out` is the page's file if it ends in `.html`, otherwise a folder for `report.html`. The stereo files are in
    `report-audio` beside the page, so the two can be moved together. `baseline` is an earlier run to compare with; `exports` a
    folder for the charts as PNG and SVG (where the extra that draws is installed), the tables as CSV and JSON, and a summary in
    Markdown. With `bundle` the sound is inside the page, which then needs no other file and is some hundred kilobytes larger
    per session. `study`: what whoever votes on the page reads before.

    Raises:
        UserError: the runs cannot share a page, or `out` cannot be written.
        StorageError: the disk is full.
    """
    page = out if out.suffix.lower() in (".html", ".htm") else out / "report.html"
    page_runs = _put_together(runs)
    written: tuple[Path, ...] = ()
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        failed = draw_sessions(page_runs, page.parent)
        told = [(s, with_drawing(summary, s, failed[p.label])) for (s, summary), p in zip(runs, page_runs.parts, strict=True)]
        if told != list(runs):
            runs, page_runs = told, _put_together(told)
        view = assemble(page_runs, page.parent, bundle=bundle, study=study)
        if baseline is not None:
            view = replace(view, baseline=_since(page_runs, baseline))
        if study is not None and view.vote.any:
            store_study(page_runs.parts[0].store.folder, view.vote.notice)
        write_whole(page, render(view))
        if exports is not None:
            written = write_exports(view, exports, pictures=not pictures_missing())
            for run in page_runs.parts:
                folder = exports / run.label.replace("/", "__") if page_runs.several else exports
                write_human_completions(run.store, folder)
                write_answers(run.store, folder)
    except OSError as error:
        place = error.filename or page
        if storage_fault(error) is not None:
            raise StorageError(
                f"{place}: the report cannot be written ({error.strerror}); free some space and write it again"
            ) from error
        raise UserError(f"{place}: the report cannot be written ({error.strerror}); choose another --out") from error
    # With one run the figures have the agents' own names, as in the output of other steps.
    summary = page_runs.summary if page_runs.several else runs[0][1]
    return Written(page, summary.model_copy(update={"report": str(page)}), written)


def write_played(store: RunStore, summary: RunSummary, *, page: bool = True, baseline: Run | None = None) -> RunSummary:
    """Write the figures of a run that was just played into its folder, with its page unless it is a shard; returns them.

    `baseline`: an earlier run, for the changes since then on the page.

    Raises:
        StorageError: the disk is full; every session is saved.
    """
    with storage_named(
        store.folder, lambda: f"every session is saved; free some space, then: {command('report', store.folder)}"
    ):
        if page:
            summary = write_joint_report([(store, summary)], store.folder, baseline=baseline).summary
        write_whole(store.folder / "summary.json", summary.to_json() + "\n")
    return summary


def write_each_turn(store: RunStore, summary: RunSummary, path: Path) -> None:
    """Write the table `each_turn` of one run as CSV.

    Raises:
        UserError: the file cannot be written.
    """
    view = assemble(alone(store, summary), store.folder, audio=False)
    try:
        _write_csv(path, tables(view)["each_turn"])
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another file") from error


def write_exports(view: PageView, folder: Path, *, pictures: bool = True) -> tuple[Path, ...]:
    """Write `*.png`, `*.svg`, `*.csv`, `tables.json` and `summary.md` into `folder`; returns their paths.

    A table without rows gives no file; in the JSON it is an empty list.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    if pictures:
        every = [chart for section in charts(view).values() for chart in section]
        written += [*write_elo_latency_chart(view, folder), *write_pictures(every, conditions(view), folder)]
    made = tables(view)
    for name, rows in made.items():
        if not rows:
            continue
        path = folder / f"{name}.csv"
        _write_csv(path, rows)
        written.append(path)
    whole = folder / "tables.json"
    text = json.dumps({"schema": 1, "conditions": conditions(view), **made}, ensure_ascii=False, indent=1, allow_nan=False)
    write_whole(whole, visible_json(text) + "\n")
    summary = folder / "summary.md"
    write_whole(summary, markdown(view))
    return (*written, whole, summary)


def _write_csv(path: Path, rows: list[Row]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    write_whole(path, csv_text(columns, ([row.get(name) for name in columns] for row in rows)))


def _put_together(runs: Sequence[Run]) -> ShownRuns:
    return alone(*runs[0]) if len(runs) == 1 else together(runs)


def _since(page_runs: ShownRuns, baseline: Run) -> BaselineView:
    """The comparison of each run with the baseline, separately, because an agent is compared under the name in its own run."""
    rows: list[ChangeRow] = []
    said: list[str] = []
    missing: list[str] = []
    for part in page_runs.parts:
        found = versions((part.store, part.summary), baseline)
        rows += [replace(row, agent=part.names.of(row.agent, one.condition)) for one in found.changes for row in one.rows]
        label = f"{part.label}: " if page_runs.several else ""
        said += [f"{label}{one.words}." for one in found.changes]
        missing += [f"{label}{text}" for text in found.notes]
    return BaselineView(baseline[0].folder.name, most_telling_first(rows), tuple(missing), tuple(said))
