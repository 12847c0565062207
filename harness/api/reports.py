"""The report page written from a program: `harness report` for runs that are already open."""

from collections.abc import Sequence
from pathlib import Path

from harness.api.runs import Run
from harness.errors import UserError
from harness.reports.write import write_joint_report


def write_report(
    runs: Run | Sequence[Run],
    out: str | Path | None = None,
    *,
    baseline: Run | None = None,
    exports: str | Path | None = None,
    bundle: bool = False,
) -> Path:
    """Write the page of one or several runs, and return its path.

    Args:
        out: the page's file if the name ends in `.html`, otherwise a folder; None: the (first) run's folder.
        baseline: an earlier run to compare with, pair by pair.
        exports: a folder for charts, tables and a summary in Markdown.
        bundle: include the sound in the page, so that one file can be shared.

    Raises:
        UserError: the runs cannot share a page, or `out` cannot be written.
        StorageError: the disk is full.

    >>> import harness
    >>> with harness.load_run("first-run") as run:
    ...     print(harness.write_report(run))
    first-run/report.html
    """
    opened = [runs] if isinstance(runs, Run) else list(runs)
    if not opened:
        raise UserError("write_report: name at least one run")
    place = Path(out) if out is not None else opened[0].folder if len(opened) == 1 else opened[0].folder / "report-joint.html"
    return write_joint_report(
        [(run.store, run.summary) for run in opened],
        place,
        baseline=None if baseline is None else (baseline.store, baseline.summary),
        exports=None if exports is None else Path(exports),
        bundle=bundle,
    ).page
