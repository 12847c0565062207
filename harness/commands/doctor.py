"""`harness doctor`: a check of this machine before a measurement, with a remedy for each problem. With `--leaks`: a search for
secrets in a finished run. Exit 1 if something is found."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.progress import RunProgress
from harness.wording import counted

SIGNS = {"fine": "fine", "without": "without", "disturbs": "DISTURBS", "broken": "BROKEN"}


def doctor(
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", show_default=False, help="Folder of a finished run, with --leaks.")
    ] = None,
    look_for_leaks: Annotated[
        bool, typer.Option("--leaks", help="Search a finished run for secrets before you share it.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check this machine before a measurement; takes a few seconds. Exit codes: 0 no problem, 1 a problem."""
    if look_for_leaks != (run is not None):
        raise UserError("--leaks and the folder of a run belong together: harness doctor RUN --leaks")
    if run is not None:
        return _leaks(run, as_json)
    from harness.doctor import LOOKS, examine

    with RunProgress() as progress:
        progress.phase("Checking this machine", len(LOOKS))
        found = examine(tell=progress.status)
    trouble = [f for f in found if f.is_trouble]
    if as_json:
        print(json.dumps({"schema": 1, "well": not trouble, "findings": [asdict(f) for f in found]}, indent=2))
        return 1 if trouble else 0
    console = Console(markup=False, highlight=False)
    width = max(len(f.part) for f in found)
    for f in found:
        console.print(f"{SIGNS[f.state]:9} {f.part:{width}}  {f.seen}", soft_wrap=True)
        if f.mend and f.state != "fine":
            console.print(f"{'':9} {'':{width}}  → {f.mend}", soft_wrap=True)
    told = (
        f"{counted(len(trouble), 'thing')} to fix before figures are quoted."
        if trouble
        else "No problem found: ready to measure."
    )
    console.print(f"\n{told}", soft_wrap=True)
    return 1 if trouble else 0


def _leaks(run: Path, as_json: bool) -> int:
    from harness.doctor.leaks import leaks

    found = list(leaks(run, os.environ))
    if as_json:
        print(json.dumps({"schema": 1, "clean": not found, "leaks": [asdict(leak) for leak in found]}, indent=2))
        return 1 if found else 0
    console = Console(markup=False, highlight=False)
    for leak in found:
        console.print(f"{run / leak.file}, {leak.place}: {leak.what}", soft_wrap=True)
    told = f"{counted(len(found), 'place')} to check before this run is shared." if found else "No secret was found."
    console.print(told, soft_wrap=True)
    return 1 if found else 0
