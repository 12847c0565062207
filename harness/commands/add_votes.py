"""`harness add-votes`: people's votes on a run's replies, from their files, and which raters count."""

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.nearest import or_one_of
from harness.printable import printable
from harness.store.judgment import Presentation
from harness.wording import command, counted

if TYPE_CHECKING:
    from harness.votes.votes_of_run import CountedVotes

_PRESENTATIONS: tuple[Presentation, ...] = ("written", "heard_text", "audio", "audio_with_delay")


def add_votes(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Files of votes: what people sent back, or CSV.", show_default=False),
    ] = None,
    add: Annotated[
        list[Path] | None,
        typer.Option("--add", metavar="FILE", show_default="none", help="The same for one file; may be repeated."),
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
) -> int:
    """Add people's votes to a run, and print which raters count and why others do not.

    A file that cannot be used is named, with the reason and exit code 2; the others are added all the same.
    """
    from harness.store.run_store import RunStore
    from harness.votes.votes_of_run import add_votes, count_votes

    chosen = next((p for p in _PRESENTATIONS if p == presentation), None)
    if chosen is None:
        raise UserError(f"--presentation {presentation}: unknown{or_one_of(presentation, _PRESENTATIONS)}")
    store = RunStore.open(run)
    notes: list[str] = []
    refused: dict[Path, str] = {}
    with store.lock():
        for path in (*(files or ()), *(add or ())):
            try:
                notes += add_votes(store, path, chosen, condition)
            except UserError as fault:
                refused[path] = " ".join(str(fault).split())
        found = count_votes(store, keep_excluded=keep_excluded)
    if not found.raters:
        raise UserError("; ".join(refused.values()) or f"{run}: has no votes from files yet; name some: {_usage(run)}")
    notes += found.notes
    if as_json:
        print(json.dumps(_as_object(found, notes, refused), indent=2))
    else:
        _print(run, found, notes, keep_excluded=keep_excluded)
        for why in refused.values():
            print(f"harness: not added: {printable(why)}", file=sys.stderr)
    return 2 if refused else 0


def _usage(run: Path) -> str:
    return command("add-votes", run, "FILE")


def _as_object(found: "CountedVotes", notes: Sequence[str], refused: Mapping[Path, str]) -> dict[str, Any]:
    skipped = Counter(vote.rater for vote in found.skipped)
    about = {vote.rater: json.loads(vote.about) for vote in found.answers if vote.about}
    raters = [
        {
            "rater": q.rater,
            "votes": q.answers,
            "skipped": skipped[q.rater],
            "files": found.files[q.rater],
            "checks": q.checks,
            "checks_failed": q.failed,
            "median_seconds": q.median_s,
            "excluded": q.excluded,
            "reasons": list(q.reasons),
            "about": about.get(q.rater, {}),
        }
        for q in found.raters
    ]
    return {
        "schema": 1,
        "votes": found.votes,
        "counted": dict(Counter(row.presentation for row in found.counted)),
        "skipped": len(found.skipped),
        "effective_raters": found.effective_raters,
        "leading_rater": None if found.leading is None else dict(zip(("rater", "share"), found.leading, strict=True)),
        "raters": raters,
        "refused": [{"file": str(path), "why": why} for path, why in refused.items()],
        "notes": list(notes),
    }


def _print(run: Path, found: "CountedVotes", notes: Sequence[str], *, keep_excluded: bool) -> None:
    table = Table(box=None)
    for name in ("rater", "votes", "skipped", "checks failed", "median s", "counts"):
        table.add_column(name)
    skipped = Counter(vote.rater for vote in found.skipped)
    for q in found.raters:
        seconds = "–" if q.median_s is None else f"{q.median_s:.0f}"
        state = "yes" if not q.excluded else f"{'yes, although' if keep_excluded else 'no:'} {'; '.join(q.reasons)}"
        table.add_row(q.rater, str(q.answers), str(skipped[q.rater]), f"{q.failed} of {q.checks}", seconds, state)
    console = Console(highlight=False, markup=False)
    console.print(table)
    on = Counter(row.presentation for row in found.counted)
    parts = ", ".join(f"{count} on {name}" for name, count in sorted(on.items()))
    and_skipped = f" {counted(len(found.skipped), 'pair')} skipped." if found.skipped else ""
    console.print(f"{sum(on.values())} of {found.votes} votes count ({parts or 'none'}).{and_skipped}")
    if len(found.sizes) > 1:
        console.print(f"{len(found.sizes)} raters count, worth {found.effective_raters:.1f} who give as many votes each.")
    for note in notes:
        console.print(printable(note))
    console.print("To rank them, and to write the page with them:")
    # Lines of their own, which no narrow terminal breaks.
    for next_step in (command("rank", run, "--people"), command("report", run)):
        console.print(f"  {next_step}", soft_wrap=True)
