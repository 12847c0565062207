"""Writing the page from a program: `harness report` for runs that are open already."""

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
    """Write the page of one run, or of several together, and return where it is.

    Args:
        out: the page itself when it ends in `.html`, else a folder; None: into the (first) run's folder.
        baseline: an earlier run to compare with, pair by pair.
        exports: a folder for pictures, tables and a summary in Markdown.
        bundle: put the sound into the page, so that one file can be sent.

    Raises:
        UserError: the runs cannot be put together, or the place cannot be written.
        StorageError: the disk takes no more.

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
