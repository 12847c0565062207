"""A load test on the terminal, when it was played and when its report is written again."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from harness.commands.screen import print_table, screen, words_table

if TYPE_CHECKING:
    from harness.load.result import LoadResult
    from harness.store.manifest import RunManifest


def report_load(run: Path, out: Path | None, baseline: Path | None, export: Path | None, *, as_json: bool) -> Path:
    """Write the report of a stored load test, and print its figures; returns its page.

    Raises:
        UserError: the folder or the baseline cannot be read, or has other callers.
    """
    from harness.load.result import read_result
    from harness.reports.load_page import write_load, write_turns
    from harness.reports.load_versions import load_versions
    from harness.store.run_store import RunStore

    store = RunStore.open(run)
    since = load_versions(store, RunStore.open(baseline)) if baseline is not None else None
    result = read_result(store)
    text, page = write_load(store, result, out)
    if export is not None:
        export.mkdir(parents=True, exist_ok=True)
        write_turns(store, export / "each_turn.csv")
    if as_json:
        print(text)
        return page
    print_load(store.manifest, result, page)
    for sentence in since.sentences if since is not None else ():
        screen().print(Text(sentence), soft_wrap=True)
    return page


def print_load(manifest: "RunManifest", found: "LoadResult", page: Path) -> None:
    """Print the rows of a load test, what they say, and its page."""
    from harness.figures.server_waits import HEAD, TITLE, waits_notes, waits_rows
    from harness.reports.load_words import HEADS, STRETCHES, cautions, figures, offered, offered_head, sentences, served
    from harness.wording import UNDER_A_FIGURE, counted, with_band

    console = screen()
    table = Table(box=None, pad_edge=False)
    for name in (offered_head(found), *HEADS):
        table.add_column(name, justify="right", no_wrap=True)
    for step in found.steps:
        table.add_row(*(Text(with_band(cell.text, cell.interval)) for cell in (offered(step), *figures(step))))
    print_table(console, table, ())
    if waits := waits_rows(served(found)):
        table = words_table(TITLE, ("Step", *HEAD[1:]), left=3)
        for row in waits:
            table.add_row(*map(Text, row))
        console.print(table)
    lines = [UNDER_A_FIGURE, *waits_notes(served(found), STRETCHES), *sentences(found)]
    if used := next((one.record.used for one in found.steps if one.record.offered == found.ceiling), None):
        lines.append(
            f"The caller takes {used.cores_a_caller:.1%} of a core and {used.mib_a_caller:.1f} MiB for each, in "
            f"{counted(used.processes, 'process', 'processes')} ({found.part.priority})."
        )
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    for caution in cautions(manifest):
        console.print(Text(f"{caution.topic}: {caution.text}", style="yellow"), soft_wrap=True)
    console.print(f"page    {page}", soft_wrap=True, highlight=False, markup=False)
