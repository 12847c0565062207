"""`harness add-votes`: people's votes on a run's replies, read from CSV, and which raters count."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.store.judgment import Presentation
from harness.wording import command

_PRESENTATIONS: tuple[Presentation, ...] = ("written", "heard_text", "audio", "audio_with_delay")


def add_votes(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    add: Annotated[
        list[Path] | None,
        typer.Option("--add", metavar="FILE", show_default="none", help="CSV file of votes to add; may be repeated."),
    ] = None,
    presentation: Annotated[
        str,
        typer.Option(
            help=f"Presentation of the replies, for a file that does not name it: one of {', '.join(_PRESENTATIONS)}."
        ),
    ] = "written",
    condition: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default="the run's only one",
            help="Line condition of the replies, for a file that does not name it when the run has several.",
        ),
    ] = None,
    keep_excluded: Annotated[
        bool, typer.Option("--keep-excluded", help="Count excluded raters too. Without this option they are excluded again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add people's votes to a run, and print which raters count and why others do not."""
    from harness.store.run_store import RunStore
    from harness.votes.votes_of_run import add_votes, count_votes

    chosen = next((p for p in _PRESENTATIONS if p == presentation), None)
    if chosen is None:
        raise UserError(f"--presentation {presentation}: unknown; choose one of {', '.join(_PRESENTATIONS)}")
    store = RunStore.open(run)
    notes: list[str] = []
    with store.lock():
        for path in add or ():
            notes += add_votes(store, path, chosen, condition)
        found = count_votes(store, keep_excluded=keep_excluded)
    if not found.raters:
        raise UserError(f"{run}: has no votes from files yet; add some with --add FILE.csv")
    counted = Counter(row.presentation for row in found.counted)
    notes += found.notes
    if as_json:
        raters = [
            {
                "rater": q.rater,
                "votes": q.answers,
                "checks": q.checks,
                "checks_failed": q.failed,
                "median_seconds": q.median_s,
                "excluded": q.excluded,
                "reasons": list(q.reasons),
            }
            for q in found.raters
        ]
        told = {"schema": 1, "votes": found.votes, "counted": dict(counted), "raters": raters, "notes": notes}
        print(json.dumps(told, indent=2))
        return
    table = Table(box=None)
    for name in ("rater", "votes", "checks failed", "median s", "counts"):
        table.add_column(name)
    for q in found.raters:
        seconds = "–" if q.median_s is None else f"{q.median_s:.0f}"
        state = "yes" if not q.excluded else f"{'yes, although' if keep_excluded else 'no:'} {'; '.join(q.reasons)}"
        table.add_row(q.rater, str(q.answers), f"{q.failed} of {q.checks}", seconds, state)
    console = Console(highlight=False, markup=False)
    console.print(table)
    parts = ", ".join(f"{count} on {name}" for name, count in sorted(counted.items()))
    console.print(f"{sum(counted.values())} of {found.votes} votes count ({parts or 'none'}).")
    for note in notes:
        console.print(note)
    console.print("To rank them, and to write the page with them:")
    # Lines of their own, which no narrow terminal breaks.
    for next_step in (command("rank", run, "--people"), command("report", run)):
        console.print(f"  {next_step}", soft_wrap=True)
