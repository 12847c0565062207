"""The index as one HTML file and as JSON. It opens from disk without network, like the reports that it leads to."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from harness.errors import StorageError, UserError
from harness.files import write_whole
from harness.printable import visible_json
from harness.reports.index import words
from harness.reports.index.plot import plots
from harness.reports.index.rows import CellRow, Change, Index, RunRow
from harness.reports.index.trends import trends
from harness.reports.page_files import content_policy, environment, page_file, script_text
from harness.reports.view import percentile
from harness.store.disk import storage_fault
from harness.wording import counted


def page_path(root: Path, out: Path | None) -> Path:
    """The file of the page: `out` if it ends in `.html`, else `index.html` in that folder, or below `root`."""
    if out is not None and out.suffix.lower() in (".html", ".htm"):
        return out
    return (out or root) / "index.html"


def write_index(index: Index, page: Path) -> None:
    """Write the page.

    Raises:
        UserError: it cannot be written there.
        StorageError: the disk is full.
    """
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        write_whole(page, render_index(index, page))
    except OSError as error:
        if storage_fault(error) is not None:
            raise StorageError(
                f"{page}: the index cannot be written ({error.strerror}); free some space and write it again"
            ) from error
        raise UserError(f"{page}: the index cannot be written ({error.strerror}); choose another --out") from error


def render_index(index: Index, page: Path) -> str:
    """The page as HTML; its links lead from where it will be to the runs' own reports."""
    script = script_text(page_file("script/theme.js"))
    found = trends(index.runs)
    series = [trend.series for trend in found]
    return (
        environment()
        .get_template("index.html.jinja")
        .render(
            index=index,
            title=index.root.resolve().name or str(index.root),
            style=Markup(page_file("report.css") + page_file("index.css")),
            script=Markup(script),
            policy=content_policy([script]),
            agents=sorted({cell.series.agent for run in index.runs for cell in run.cells}),
            trends=[(trend, words.series_words(trend.series, series), list(plots(trend))) for trend in found],
            worse=[(trend, words.series_words(trend.series, series)) for trend in found if trend.is_worse],
            link=lambda run: _link(run, page),
            words=words,
            counted=counted,
        )
    )


def _link(run: RunRow, page: Path) -> str | None:
    """The address of a run's report as seen from the index; None where it has none."""
    if run.page is None:
        return None
    return quote(Path(os.path.relpath(run.page.resolve(), page.parent.resolve())).as_posix())


def index_json(index: Index, page: Path) -> str:
    """The rows of the page as one JSON object."""
    whole = {
        "schema": 1,
        "index": str(page),
        "rows": [_row(run, cell, page) for run in index.runs for cell in run.cells],
        "left_out": [{"name": each.name, "why": each.why} for each in index.left_out],
    }
    return visible_json(json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False))


def _row(run: RunRow, cell: CellRow, page: Path) -> Mapping[str, Any]:
    figures, median = cell.figures, percentile(cell.figures.latency, "p50")
    return {
        "run": run.name,
        "folder": str(run.folder),
        "report": _link(run, page),
        "created": run.created,
        "valid": not run.invalid,
        "invalid": list(run.invalid),
        "agent": cell.series.agent,
        "pack": run.pack,
        "pack_hash": cell.series.pack_hash,
        "mode": run.mode,
        "condition": cell.series.condition,
        "concurrency": cell.series.concurrency,
        "turns": figures.turns,
        "measure": figures.measure,
        "median_ms": median.value,
        "median_interval_ms": [median.low, median.high],
        "median_over_limit": figures.latency.p50_over_limit,
        "answer_median_ms": figures.answer.p50 if figures.answer is not None else None,
        "budget_ms": cell.budget_ms,
        "within_budget": figures.within_budget[0],
        "within_budget_interval": figures.within_budget[1],
        "inner_pauses": figures.inner_pauses,
        "pauses_cut": figures.pauses_cut[0],
        "pauses_cut_interval": figures.pauses_cut[1],
        "quality_state": cell.quality_state,
        "kind": cell.kind or None,
        "changes": [_change(change) for change in cell.changes],
    }


def _change(change: Change) -> Mapping[str, Any]:
    return {
        "figure": change.figure,
        "since": change.since,
        "value": change.estimate.value,
        "interval": [change.estimate.low, change.estimate.high],
        "range": list(change.ends),
        "conversations": change.conversations,
        "verdict": change.verdict,
        "unlike": list(change.unlike),
    }
