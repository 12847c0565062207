"""`harness report --index`: the page over all runs below a folder."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.progress import RunProgress

_SOON_S: Final = 2.0
"""Reading that takes longer shows its progress."""


def report_index(folders: Sequence[Path], out: Path | None, others: Mapping[str, object], *, as_json: bool) -> None:
    """Write the index of the runs below a folder, and print where it is, or its rows as JSON.

    `others`: options of the command that an index has no use for, with their values.

    Raises:
        UserError: another number of folders than one, an option that does not go with `--index`, no finished run.
    """
    from harness.commands.screen import screen
    from harness.reports.index.page import index_json, page_path, write_index
    from harness.reports.index.rows import read_index
    from harness.wording import counted

    if len(folders) != 1:
        raise UserError(f"--index: takes one folder, below which the runs are, and not {len(folders)}")
    given = [name for name, value in others.items() if value]
    if given:
        raise UserError(f"{given[0]}: does not go with --index; give it to the report of one run")
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
        return
    console = screen()
    console.print(f"index   {page} ({counted(len(index.runs), 'run')})", soft_wrap=True, markup=False, highlight=False)
    for each in index.left_out:
        console.print(f"left out {each.name}: {each.why}", soft_wrap=True, markup=False, highlight=False)
