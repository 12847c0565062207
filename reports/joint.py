"""The joint report of a run: one page, with the audio it plays beside it, and on request the same as pictures and tables."""

import os
from dataclasses import replace
from pathlib import Path

from harness.errors import UserError
from harness.store import RunStore
from harness.summary import RunSummary
from reports.assemble import assemble
from reports.baseline import compare
from reports.export import write_exports
from reports.listening.people import write_human_completions
from reports.page import render


def write_report(
    store: RunStore,
    summary: RunSummary,
    out: Path,
    *,
    baseline: tuple[RunStore, RunSummary] | None = None,
    exports: Path | None = None,
    bundle: bool = False,
) -> Path:
    """Write the page and its audio; returns the page's path.

    `out` is the page itself when it ends in `.html`, else a folder that will hold `report.html`. The stereo files lie in
    `report-audio` beside the page, so the two can be moved together. `baseline` is an earlier run to compare with; `exports` a
    folder for the charts as PNG and SVG, the tables as CSV and JSON, and a summary in Markdown. With `bundle` the sound is
    inside the page, which then stands alone and is some hundred kilobytes larger a session.

    Raises:
        UserError: the place cannot be written.
    """
    page = out if out.suffix.lower() in (".html", ".htm") else out / "report.html"
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        view = assemble(store, summary, page.parent, bundle=bundle)
        if baseline is not None:
            before = assemble(*baseline, page.parent, audio=False)
            view = replace(view, baseline=compare(view, before))
        part = page.with_name(f".{page.name}.part")
        part.write_text(render(view), encoding="utf-8", errors="replace")
        os.replace(part, page)
        if exports is not None:
            write_exports(view, exports)
            write_human_completions(store, exports)
    except OSError as error:
        raise UserError(f"{page}: the report cannot be written ({error.strerror}); choose another --out") from error
    return page
